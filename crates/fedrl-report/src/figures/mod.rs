//! The pictures, as SVG text.

pub(crate) mod canvas;
mod few_shot;
mod generalisation;
mod importance;
mod learning;
mod similarity;

use crate::ReportError;
use crate::run::RunData;
pub(crate) use few_shot::FewShotFigure;

/// The pictures of a run; `None` for one without data.
pub(crate) struct Figures {
    pub(crate) learning: Option<String>,
    pub(crate) importance: Option<String>,
    pub(crate) generalisation: Option<String>,
    /// One for each adaptation that has data.
    pub(crate) few_shot: Vec<FewShotFigure>,
    pub(crate) similarity: Option<String>,
}

impl Figures {
    /// Draws those for which the run has data.
    pub(crate) fn draw(run: &RunData) -> Result<Self, ReportError> {
        let named = |figure| move |source| ReportError::Draw { figure, source: Box::new(source) };
        let few_shot = run.adaptations.iter().filter_map(|adaptation| few_shot::draw(adaptation).transpose());
        let similarity = run.personalisation.as_ref().map(|found| similarity::draw(&found.similarity));
        Ok(Figures {
            learning: learning::draw(&run.rounds).map_err(named("learning.svg"))?,
            importance: importance::draw(&run.rounds).map_err(named("importance.svg"))?,
            generalisation: generalisation::draw(&run.evaluations).map_err(named("generalisation.svg"))?,
            few_shot: few_shot.collect::<Result<_, _>>().map_err(named("few-shot.svg"))?,
            similarity: similarity.transpose().map_err(named("similarity.svg"))?.flatten(),
        })
    }

    /// Each picture that there is, under the name of its file.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = [
            ("learning.svg", &self.learning),
            ("importance.svg", &self.importance),
            ("generalisation.svg", &self.generalisation),
            ("similarity.svg", &self.similarity),
        ];
        let few_shot = self.few_shot.iter().map(|figure| (figure.file.as_str(), figure.svg.as_str()));
        all.into_iter().filter_map(|(name, svg)| svg.as_deref().map(|svg| (name, svg))).chain(few_shot)
    }
}
