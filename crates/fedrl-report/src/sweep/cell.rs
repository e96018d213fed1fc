//! What the runs of one combination came to.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ReportError;

/// The runs of one combination of swept values, one number per seed that did not diverge.
pub(super) struct Cell {
    /// The values, in the order of the axes.
    pub(super) values: Vec<Value>,
    pub(super) seeds: usize,
    pub(super) objective: Vec<f64>,
    pub(super) gradient_norm: Vec<f64>,
    pub(super) collapsed: Vec<f64>,
    pub(super) effective_sample_size: Vec<f64>,
    pub(super) clipped: Vec<f64>,
    /// 1 for a run that diverged; empty if none did.
    pub(super) diverged: Vec<f64>,
    pub(super) rounds: Vec<f64>,
    /// Means over the seeds.
    pub(super) objective_curve: Vec<f64>,
    pub(super) gradient_norm_curve: Vec<f64>,
}

/// A line of `results.jsonl`.
#[derive(Deserialize)]
struct Line {
    settings: Map<String, Value>,
    rounds: Vec<u32>,
    objective: Vec<f64>,
    gradient_norm: Vec<f64>,
    importance: Option<Importance>,
    diverged: Option<u32>,
}

#[derive(Deserialize)]
struct Importance {
    effective_sample_size: Option<f64>,
    collapsed: f64,
    clipped: f64,
}

/// The swept keys and the cells, in the order of the file.
pub(super) fn read(path: &Path) -> Result<(Vec<String>, Vec<Cell>), ReportError> {
    let expected = "the results of a batch of runs";
    let text =
        std::fs::read_to_string(path).map_err(|source| ReportError::Read { path: path.into(), expected, source })?;
    let mut axes = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    // What follows the last end of a line is being written.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    for (index, line) in lines.enumerate() {
        let line: Line = serde_json::from_str(line).map_err(|source| ReportError::Line {
            path: path.into(),
            line: index + 1,
            what: "run",
            source,
        })?;
        let values: Vec<Value> = line.settings.values().cloned().collect();
        if cells.last().is_none_or(|cell| cell.values != values) {
            axes = line.settings.keys().cloned().collect();
            cells.push(Cell::new(values));
        }
        if let Some(cell) = cells.last_mut() {
            cell.add(&line);
        }
    }
    cells.iter_mut().for_each(Cell::finish);
    Ok((axes, cells))
}

impl Cell {
    fn new(values: Vec<Value>) -> Self {
        Cell {
            values,
            seeds: 0,
            objective: Vec::new(),
            gradient_norm: Vec::new(),
            collapsed: Vec::new(),
            effective_sample_size: Vec::new(),
            clipped: Vec::new(),
            diverged: Vec::new(),
            rounds: Vec::new(),
            objective_curve: Vec::new(),
            gradient_norm_curve: Vec::new(),
        }
    }

    fn add(&mut self, line: &Line) {
        self.seeds += 1;
        self.diverged.push(f64::from(u8::from(line.diverged.is_some())));
        if line.diverged.is_some() {
            return;
        }
        self.objective.extend(line.objective.last());
        self.gradient_norm.extend(line.gradient_norm.last());
        if let Some(importance) = &line.importance {
            self.collapsed.push(importance.collapsed);
            self.effective_sample_size.extend(importance.effective_sample_size);
            self.clipped.push(importance.clipped);
        }
        if self.rounds.is_empty() {
            self.rounds = line.rounds.iter().map(|&round| f64::from(round)).collect();
        }
        accumulate(&mut self.objective_curve, &line.objective);
        accumulate(&mut self.gradient_norm_curve, &line.gradient_norm);
    }

    /// From sums to means; what says nothing is emptied.
    fn finish(&mut self) {
        let runs = self.objective.len() as f64;
        for curve in [&mut self.objective_curve, &mut self.gradient_norm_curve] {
            curve.iter_mut().for_each(|sum| *sum /= runs);
        }
        for shares in [&mut self.diverged, &mut self.clipped] {
            if shares.iter().all(|&share| share == 0.0) {
                shares.clear();
            }
        }
    }

    /// A value of an axis, in words.
    pub(super) fn label(&self, axis: usize) -> String {
        match &self.values[axis] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

fn accumulate(sums: &mut Vec<f64>, terms: &[f64]) {
    sums.resize(sums.len().max(terms.len()), 0.0);
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}
