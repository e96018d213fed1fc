//! The report of a run: one self-contained HTML page (inline styles and SVG, no network), and
//! the same pictures as files. It reads the files of a run directory and nothing else, and equal
//! files give equal bytes. And the comparison of several runs by their returns: [`compare`].

mod adaptation;
pub mod compare;
mod error;
mod evaluation;
mod figures;
mod format;
mod page;
mod personalisation;
mod run;
pub mod save;
pub mod sweep;

pub use error::{Incomparable, ReportError};

use std::path::{Path, PathBuf};

/// Writes `report.html` and `figures/*.svg` into the run directory `run` and returns the path of
/// the page. Each file appears whole or not at all.
///
/// `config.toml` and `metrics.jsonl` must be there; what else is missing, the page says. A
/// picture without data (no round, no importance weights, no evaluation, no adaptation) is left out.
///
/// # Errors
///
/// A [`ReportError`] that names the file: one that is missing, that is not what a run writes, or
/// that cannot be written.
pub fn write(run: &Path) -> Result<PathBuf, ReportError> {
    let data = run::RunData::read(run)?;
    let figures = figures::Figures::draw(&data)?;
    for (name, svg) in figures.named() {
        save::atomically(&run.join("figures").join(name), svg)?;
    }
    let page = run.join("report.html");
    save::atomically(&page, &page::render(&data, &figures)?)?;
    Ok(page)
}
