//! A measure against a swept number, and against the rounds.

use plotters::prelude::*;

use super::cell::Cell;
use super::pivot::{others, short};
use super::{Measure, Sweep};
use crate::figures::canvas::{self, Axis, DrawError, LEGEND_HEIGHT, Mark, PALETTE};

/// More lines than this cannot be told apart.
const MOST: usize = 2 * PALETTE.len();

struct Line {
    label: String,
    points: Vec<(f64, f64)>,
}

/// The measure's last value against the swept number with most values, one line per combination of
/// the others; `None` if no number has three values.
pub(super) fn against_axis(sweep: &Sweep, measure: &Measure) -> Result<Option<String>, DrawError> {
    let numbers = |axis: usize| {
        let values: Option<Vec<f64>> = sweep.cells.iter().map(|cell| cell.values[axis].as_f64()).collect();
        let mut values = values.unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
    let Some(axis) = (0..sweep.axes.len()).max_by_key(|&axis| numbers(axis)).filter(|&axis| numbers(axis) >= 3) else {
        return Ok(None);
    };
    let mut lines: Vec<Line> = Vec::new();
    for cell in &sweep.cells {
        let point = cell.values[axis].as_f64().map(|x| (x, fedrl_stats::mean((measure.final_values)(cell))));
        let label = others(sweep, cell, Some(axis));
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.extend(point),
            None => lines.push(Line { label, points: point.into_iter().collect() }),
        }
    }
    draw(lines, short(&sweep.axes[axis]), measure.title)
}

/// The measure's mean over seeds, round by round, one line per combination.
pub(super) fn over_rounds(sweep: &Sweep, measure: &Measure) -> Result<Option<String>, DrawError> {
    let Some(curve) = measure.curve else { return Ok(None) };
    let line = |cell: &Cell| Line {
        label: others(sweep, cell, None),
        points: cell.rounds.iter().copied().zip(curve(cell).iter().copied()).collect(),
    };
    let title = measure.title.trim_end_matches(" of the last round");
    draw(sweep.cells.iter().map(line).collect(), "round", title)
}

fn draw(mut lines: Vec<Line>, x: &str, y: &str) -> Result<Option<String>, DrawError> {
    let finite = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    for line in &mut lines {
        line.points.retain(finite);
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() || lines.len() > MOST {
        return Ok(None);
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::spanning(x, all().map(|point| point.0), 8.0);
    let y = Axis::spanning(y, all().map(|point| point.1), 100.0);
    let place = |&(px, py): &(f64, f64)| (x.place(px), y.place(py));
    let style = |index: usize| {
        let (color, second) = (PALETTE[index % PALETTE.len()], index >= PALETTE.len());
        color.stroke_width(if second { 2 } else { 6 })
    };
    let entries: Vec<(Mark, &str)> =
        lines.iter().enumerate().map(|(index, line)| (Mark::Line(style(index)), line.label.as_str())).collect();
    let rows = canvas::legend_rows(&entries);
    let legend_height = LEGEND_HEIGHT * rows.len() as u32;
    let svg = canvas::svg(740 + legend_height, |area| {
        for (index, row) in (0..).zip(&rows) {
            canvas::legend(&area.margin(LEGEND_HEIGHT * index, 0, 0, 0), row)?;
        }
        let chart = canvas::axes(&area.margin(legend_height, 0, 0, 0), &x, &y)?;
        lines
            .iter()
            .enumerate()
            .try_for_each(|(index, line)| canvas::line(&chart, line.points.iter().map(place), style(index)))
    })?;
    Ok(Some(svg))
}
