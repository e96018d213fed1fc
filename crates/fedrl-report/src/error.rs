use std::error::Error;
use std::path::{Path, PathBuf};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file of the run directory cannot be read.
    #[error("cannot read {path}: expected {expected}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the run directory does not hold what it should.
    #[error("{path} is not {expected}", path = path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
        /// Where and how it differs.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A line of the metrics is not a round's.
    #[error("{path} line {line}: expected one round as a JSON object", path = path.display())]
    Line {
        /// The metrics file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Where and how it differs.
        source: serde_json::Error,
    },
    /// The rounds of the metrics do not follow each other.
    #[error("{path} line {line}: round {round} follows round {previous}; rounds must increase", path = path.display())]
    Order {
        /// The metrics file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// The round of this line.
        round: u64,
        /// The round of the line before.
        previous: u64,
    },
    /// A picture cannot be drawn.
    #[error("cannot draw figures/{figure}")]
    Draw {
        /// The name of its file.
        figure: &'static str,
        /// What the drawing library said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The page's template cannot be filled.
    #[error("cannot render the page")]
    Render(#[from] askama::Error),
    /// A file of the report cannot be written.
    #[error("cannot write {path}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ReportError {
    pub(crate) fn parse(path: &Path, expected: &'static str, source: impl Error + Send + Sync + 'static) -> Self {
        ReportError::Parse { path: path.into(), expected, source: Box::new(source) }
    }
}
