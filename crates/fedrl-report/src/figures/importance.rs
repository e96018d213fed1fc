use super::canvas::{self, AXIS, Area, Axis, BLUE, DrawError, VERMILLION};
use crate::run::Round;
use plotters::prelude::*;

const PANEL_HEIGHT: u32 = 420;

/// The mean importance weight and, below it, the effective sample size over the rounds; `None`
/// without either.
pub(super) fn draw(rounds: &[Round]) -> Result<Option<String>, DrawError> {
    let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Ok(None) };
    let weights = points(rounds, |round| round.weight_mean);
    let sizes = points(rounds, |round| round.effective_sample_size);
    if weights.is_empty() && sizes.is_empty() {
        return Ok(None);
    }
    let x = || Axis::rounds(first.round, last.round);
    let svg = canvas::svg(2 * PANEL_HEIGHT, |area| {
        let (top, bottom) = area.split_vertically(PANEL_HEIGHT);
        // One is always on the axis: it is what the mean should be.
        let y = Axis::around("mean weight", weights.iter().map(|(_, weight)| *weight).chain([1.0]));
        panel(&top, &x(), &y, Some(1.0), &weights, BLUE)?;
        let y = Axis { label: "effective sample size", range: 0.0..1.02, whole: false, logarithmic: false };
        panel(&bottom, &x(), &y, None, &sizes, VERMILLION)
    })?;
    Ok(Some(svg))
}

fn panel(
    area: &Area<'_>,
    x: &Axis<'_>,
    y: &Axis<'_>,
    target: Option<f64>,
    points: &[(f64, f64)],
    color: RGBColor,
) -> Result<(), DrawError> {
    let chart = canvas::axes(area, x, y)?;
    if let Some(target) = target {
        let ends = [(x.range.start, target), (x.range.end, target)];
        canvas::line(&chart, ends.into_iter(), AXIS.stroke_width(3))?;
    }
    canvas::line(&chart, points.iter().copied(), color.stroke_width(5))
}

fn points(rounds: &[Round], metric: impl Fn(&Round) -> Option<f64>) -> Vec<(f64, f64)> {
    rounds.iter().filter_map(|round| Some((round.round as f64, metric(round)?))).collect()
}
