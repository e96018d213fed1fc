use super::canvas::{self, Axis, BLUE, DrawError, LEGEND_HEIGHT, Mark, SKY_BLUE};
use crate::run::Round;
use plotters::prelude::*;

/// The return of each agent and their mean over the rounds; `None` without a finite return.
pub(super) fn draw(rounds: &[Round]) -> Result<Option<String>, DrawError> {
    let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Ok(None) };
    let returns = || rounds.iter().flat_map(|round| round.agent_returns.iter().chain([&round.return_mean]).flatten());
    if returns().next().is_none() {
        return Ok(None);
    }
    let (agent, mean) = (SKY_BLUE.mix(0.6).stroke_width(2), BLUE.stroke_width(6));
    let svg = canvas::svg(800, |area| {
        canvas::legend(
            area,
            &[(Mark::Line(mean), "mean over agents"), (Mark::Line(SKY_BLUE.stroke_width(4)), "one agent")],
        )?;
        let x = Axis::rounds(first.round, last.round);
        let y = Axis::around("training return", returns().copied());
        let chart = canvas::axes(&area.margin(LEGEND_HEIGHT, 0, 0, 0), &x, &y)?;
        let agents = rounds.iter().map(|round| round.agent_returns.len()).max().unwrap_or(0);
        for index in 0..agents {
            let of_agent = |round: &Round| round.agent_returns.get(index).copied().flatten();
            canvas::line(&chart, over_rounds(rounds, of_agent), agent)?;
        }
        canvas::line(&chart, over_rounds(rounds, |round| round.return_mean), mean)
    })?;
    Ok(Some(svg))
}

fn over_rounds(rounds: &[Round], metric: impl Fn(&Round) -> Option<f64>) -> impl Iterator<Item = (f64, f64)> {
    rounds.iter().filter_map(move |round| Some((round.round as f64, metric(round)?)))
}
