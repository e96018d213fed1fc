use std::error::Error;
use std::path::{Path, PathBuf};

/// Why a report or a comparison could not be made.
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
    /// A line is not what it should be.
    #[error("{path} line {line}: expected one {what} as a JSON object", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// A round, or a run of a batch.
        what: &'static str,
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
    #[error("cannot draw {figure}")]
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
    /// The runs given cannot be compared.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
}

/// Why runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Incomparable {
    /// None was given.
    #[error("there is nothing to compare; expected at least one run")]
    NoRun,
    /// A directory was given twice.
    #[error("the run {path} is given twice", path = .0.display())]
    GivenTwice(PathBuf),
    /// Two runs would be one and the same pair's half.
    #[error(
        "{one} and {other} are the same experiment with the same seed, {seed}; give one of them",
        one = one.display(), other = other.display()
    )]
    SameSeed {
        /// A run.
        one: PathBuf,
        /// A later one that repeats it.
        other: PathBuf,
        /// Their seed.
        seed: u64,
    },
    /// A run has nothing to be measured by yet.
    #[error("the run {path} has no finished round", path = .0.display())]
    NoRound(PathBuf),
    /// Returns of different environments mean different things.
    #[error(
        "{one} trains in {of_one} and {other} in {of_other}; only runs of one environment can be compared",
        one = one.display(), other = other.display()
    )]
    Environments {
        /// A run.
        one: PathBuf,
        /// The id of its environment.
        of_one: String,
        /// A run in another environment.
        other: PathBuf,
        /// The id of that environment.
        of_other: String,
    },
    /// There are more groups than colours.
    #[error("{groups} groups cannot be told apart in one picture; compare at most {most}")]
    TooManyGroups {
        /// How many there are.
        groups: usize,
        /// How many there may be.
        most: usize,
    },
    /// No group has a round in which all of its runs have a finite return.
    #[error("there is no finite return to draw")]
    NoCurve,
}

impl ReportError {
    pub(crate) fn parse(path: &Path, expected: &'static str, source: impl Error + Send + Sync + 'static) -> Self {
        ReportError::Parse { path: path.into(), expected, source: Box::new(source) }
    }
}
