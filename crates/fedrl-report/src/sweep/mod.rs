//! The report of a batch of runs: tables of every measure over the swept values, means with standard
//! errors over seeds, and pictures. Read from `results.jsonl` alone.

mod cell;
mod figure;
mod pivot;

pub use pivot::Pivot;

use std::path::{Path, PathBuf};

use askama::Template;

use crate::{ReportError, save};
use cell::Cell;

/// The results of a batch, by combination of swept values.
pub struct Sweep {
    /// The swept keys.
    axes: Vec<String>,
    cells: Vec<Cell>,
}

/// What a table or a picture is about.
struct Measure {
    title: &'static str,
    /// The name of pictures' files.
    name: &'static str,
    final_values: fn(&Cell) -> &[f64],
    /// The mean over seeds at each kept round.
    curve: Option<fn(&Cell) -> &[f64]>,
}

const MEASURES: [Measure; 6] = [
    Measure {
        title: "J of the last round",
        name: "objective",
        final_values: |cell| &cell.objective,
        curve: Some(|cell| &cell.objective_curve),
    },
    Measure {
        title: "‖∇J‖ of the last round",
        name: "gradient-norm",
        final_values: |cell| &cell.gradient_norm,
        curve: Some(|cell| &cell.gradient_norm_curve),
    },
    Measure {
        title: "share of importance weights below 0.01",
        name: "collapsed",
        final_values: |cell| &cell.collapsed,
        curve: None,
    },
    Measure {
        title: "effective share of the importance weights, (Σw)² / (n Σw²)",
        name: "effective-sample-size",
        final_values: |cell| &cell.effective_sample_size,
        curve: None,
    },
    Measure {
        title: "share of importance weights that were clipped",
        name: "clipped",
        final_values: |cell| &cell.clipped,
        curve: None,
    },
    Measure { title: "runs that diverged", name: "diverged", final_values: |cell| &cell.diverged, curve: None },
];

/// A picture of a batch.
struct Picture {
    title: String,
    file: String,
    svg: String,
}

#[derive(Template)]
#[template(path = "sweep.html")]
struct Page<'a> {
    title: String,
    about: String,
    pivots: &'a [Pivot],
    pictures: &'a [Picture],
    config: String,
}

impl Sweep {
    /// Reads the results of the batch in `run`.
    ///
    /// # Errors
    /// They are missing, or not what a batch writes.
    pub fn read(run: &Path) -> Result<Self, ReportError> {
        let (axes, cells) = cell::read(&run.join("results.jsonl"))?;
        Ok(Sweep { axes, cells })
    }

    /// A table of every measure that has a value anywhere.
    pub fn pivots(&self) -> Vec<Pivot> {
        let there = |measure: &&Measure| self.cells.iter().any(|cell| !(measure.final_values)(cell).is_empty());
        MEASURES.iter().filter(there).map(|measure| Pivot::new(self, measure)).collect()
    }

    /// Runs in the results.
    pub fn runs(&self) -> usize {
        self.cells.iter().map(|cell| cell.seeds).sum()
    }

    /// Writes `report.html` and `figures/*.svg` into `run` and returns the path of the page.
    ///
    /// # Errors
    /// A file cannot be read, drawn or written.
    pub fn write(&self, run: &Path) -> Result<PathBuf, ReportError> {
        let path = run.join("config.toml");
        let expected = "the experiment of the batch";
        let config = std::fs::read_to_string(&path).map_err(|source| ReportError::Read { path, expected, source })?;
        let pictures = self.pictures()?;
        for picture in &pictures {
            save::atomically(&run.join("figures").join(&picture.file), &picture.svg)?;
        }
        let name = run.file_name().map_or_else(|| "batch".into(), |name| name.to_string_lossy().into_owned());
        let pivots = self.pivots();
        let about = format!("{} runs, {} combinations", self.runs(), self.cells.len());
        let page = Page { title: name, about, pivots: &pivots, pictures: &pictures, config };
        let report = run.join("report.html");
        save::atomically(&report, &page.render()?)?;
        Ok(report)
    }

    fn pictures(&self) -> Result<Vec<Picture>, ReportError> {
        let mut pictures = Vec::new();
        for measure in MEASURES.iter().filter(|measure| measure.curve.is_some()) {
            let failed = |source| ReportError::Draw { figure: measure.name, source: Box::new(source) };
            if let Some(svg) = figure::against_axis(self, measure).map_err(failed)? {
                let title = measure.title.to_string();
                pictures.push(Picture { title, file: format!("{}.svg", measure.name), svg });
            }
            if let Some(svg) = figure::over_rounds(self, measure).map_err(failed)? {
                let title = format!("{}, round by round", measure.title.trim_end_matches(" of the last round"));
                pictures.push(Picture { title, file: format!("{}-rounds.svg", measure.name), svg });
            }
        }
        Ok(pictures)
    }
}
