//! The learning curves of several groups in one picture.

use super::Group;
use super::estimate::{Estimate, Of};
use crate::figures::canvas::{self, Area, Axis, Chart, DrawError, LEGEND_HEIGHT, Mark, PALETTE};
use crate::{Incomparable, ReportError};
use plotters::prelude::*;

/// The height without more than one row of legend.
const HEIGHT: u32 = 800;
/// Characters of a label that fit beside its mark.
const LONGEST: usize = 80;

/// A group's mean over its runs, round by round.
struct Curve {
    label: String,
    color: RGBColor,
    points: Vec<(f64, Estimate)>,
}

/// Draws one curve per group.
pub(super) fn draw(groups: &[Group]) -> Result<String, ReportError> {
    if groups.len() > PALETTE.len() {
        return Err(Incomparable::TooManyGroups { groups: groups.len(), most: PALETTE.len() }.into());
    }
    let curves: Vec<Curve> = groups.iter().zip(PALETTE).map(|(group, color)| Curve::new(group, color)).collect();
    let rounds = || curves.iter().flat_map(|curve| curve.points.iter().map(|(round, _)| *round));
    let (Some(first), Some(last)) = (rounds().reduce(f64::min), rounds().reduce(f64::max)) else {
        return Err(Incomparable::NoCurve.into());
    };
    let x = Axis::rounds(first as u64, last as u64);
    let ends = curves.iter().flat_map(|curve| &curve.points).flat_map(|(_, e)| [e.low, e.mean, e.high]);
    let y = Axis::around("training return", ends.filter(|value| value.is_finite()));
    paint(&curves, &x, &y).map_err(|source| ReportError::Draw { figure: "compare.svg", source: Box::new(source) })
}

fn paint(curves: &[Curve], x: &Axis<'_>, y: &Axis<'_>) -> Result<String, DrawError> {
    let mut entries: Vec<(Mark, &str)> = curves.iter().map(|curve| (Mark::Line(curve.line()), &*curve.label)).collect();
    if let Some(curve) = curves.iter().find(|curve| curve.points.iter().any(|(_, e)| has_interval(e))) {
        entries.push((Mark::Band(curve.band()), "95 % interval of the mean"));
    }
    let rows = canvas::legend_rows(&entries);
    let legend_height = LEGEND_HEIGHT * rows.len() as u32;
    canvas::svg(HEIGHT - LEGEND_HEIGHT + legend_height, |area| {
        for (index, row) in (0..).zip(&rows) {
            canvas::legend(&below(area, LEGEND_HEIGHT * index), row)?;
        }
        let chart = canvas::axes(&below(area, legend_height), x, y)?;
        // No band hides a line.
        curves.iter().try_for_each(|curve| curve.draw_band(&chart))?;
        curves.iter().try_for_each(|curve| {
            let points = curve.points.iter().map(|(round, estimate)| (*round, estimate.mean));
            canvas::line(&chart, points, curve.line())
        })
    })
}

/// What is left of `area` without its upper `height`.
fn below<'a>(area: &Area<'a>, height: u32) -> Area<'a> {
    area.margin(height, 0, 0, 0)
}

fn has_interval(estimate: &Estimate) -> bool {
    estimate.low.is_finite() && estimate.high.is_finite()
}

impl Curve {
    /// Over the rounds in which every run of the group has a finite return.
    fn new(group: &Group, color: RGBColor) -> Self {
        let (first, others) = match group.runs.split_first() {
            Some((first, others)) => (first.curve.as_slice(), others),
            None => (&[][..], &[][..]),
        };
        let at = |(round, value): &(u64, f64)| {
            let of_other =
                |curve: &[(u64, f64)]| curve.binary_search_by_key(round, |(r, _)| *r).ok().map(|i| curve[i].1);
            let values: Option<Vec<f64>> = others.iter().map(|run| of_other(&run.curve)).collect();
            let values: Vec<f64> = [vec![*value], values?].concat();
            let estimate = Estimate::new(&values, Of::Round(*round));
            estimate.mean.is_finite().then_some((*round as f64, estimate))
        };
        let seeds = group.runs.len();
        let seeds = format!(" ({seeds} {})", if seeds == 1 { "seed" } else { "seeds" });
        Curve { label: cut(&group.label) + &seeds, color, points: first.iter().filter_map(at).collect() }
    }

    fn line(&self) -> ShapeStyle {
        self.color.stroke_width(6)
    }

    fn band(&self) -> RGBAColor {
        self.color.mix(0.18)
    }

    fn draw_band(&self, chart: &Chart<'_>) -> Result<(), DrawError> {
        let known: Vec<_> = self.points.iter().filter(|(_, estimate)| has_interval(estimate)).collect();
        let lower = known.iter().map(|(round, estimate)| (*round, estimate.low));
        let upper = known.iter().rev().map(|(round, estimate)| (*round, estimate.high));
        match known.len() {
            0 => Ok(()),
            1 => canvas::line(chart, lower.chain(upper), self.color.stroke_width(3)),
            _ => {
                chart.plotting_area().draw(&Polygon::new(lower.chain(upper).collect::<Vec<_>>(), self.band().filled()))
            }
        }
    }
}

/// A label no longer than fits.
fn cut(label: &str) -> String {
    match label.char_indices().nth(LONGEST) {
        Some((end, _)) => label[..end].trim_end().to_string() + "…",
        None => label.into(),
    }
}
