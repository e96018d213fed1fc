//! A table of one measure: the last swept key across, the others down.

use super::cell::Cell;
use super::{Measure, Sweep};
use crate::format::NONE;

/// A table in words.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Pivot {
    /// What it is about.
    pub title: String,
    /// The names of the swept keys, then the values of the last one.
    pub header: Vec<String>,
    /// The values of the other keys, then mean ± standard error for every column.
    pub rows: Vec<Vec<String>>,
    /// How many columns name a row.
    pub labels: usize,
}

impl Pivot {
    pub(super) fn new(sweep: &Sweep, measure: &Measure) -> Self {
        let Some(last) = sweep.axes.len().checked_sub(1) else {
            let rows = sweep.cells.iter().map(|cell| vec![estimate((measure.final_values)(cell))]).collect();
            return Pivot {
                title: measure.title.into(),
                header: vec!["mean ± standard error".into()],
                rows,
                labels: 0,
            };
        };
        let mut columns: Vec<String> = Vec::new();
        let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for cell in &sweep.cells {
            let column = words(sweep, cell, last);
            if !columns.contains(&column) {
                columns.push(column);
            }
            let label: Vec<String> = (0..last).map(|axis| cell.label(axis)).collect();
            if rows.last().is_none_or(|(other, _)| *other != label) {
                rows.push((label, Vec::new()));
            }
            if let Some((_, values)) = rows.last_mut() {
                values.push(estimate((measure.final_values)(cell)));
            }
        }
        let names = sweep.axes[..last].iter().map(|key| short(key).to_string());
        Pivot {
            title: measure.title.into(),
            header: names.chain(columns).collect(),
            rows: rows.into_iter().map(|(label, values)| [label, values].concat()).collect(),
            labels: last,
        }
    }
}

/// A key without its section.
pub(super) fn short(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Mean ± standard error, with the digits that the error leaves meaning to.
fn estimate(values: &[f64]) -> String {
    if values.is_empty() {
        return NONE.into();
    }
    let (mean, error) = (fedrl_stats::mean(values), fedrl_stats::standard_error(values));
    if !error.is_finite() || error == 0.0 {
        return if mean != 0.0 && mean.abs() < 1e-2 { format!("{mean:.2e}") } else { format!("{mean:.4}") };
    }
    if mean.abs() < 1e-3 {
        return format!("{mean:.1e} ± {error:.0e}");
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{mean:.decimals$} ± {error:.decimals$}")
}

/// The values of every axis but one, in words.
pub(super) fn others(sweep: &Sweep, cell: &Cell, but: Option<usize>) -> String {
    let rest = (0..sweep.axes.len()).filter(|&axis| Some(axis) != but);
    rest.map(|axis| words(sweep, cell, axis)).collect::<Vec<_>>().join(", ")
}

/// A value of an axis: a word as it is, a number with its key.
fn words(sweep: &Sweep, cell: &Cell, axis: usize) -> String {
    match &cell.values[axis] {
        serde_json::Value::String(text) => text.clone(),
        _ => format!("{} {}", short(&sweep.axes[axis]), cell.label(axis)),
    }
}
