//! The rounds so far, on disk: `metrics.jsonl` and its projection for TensorBoard.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use fs_err as fs;

use crate::metrics::RoundMetrics;
use crate::run_directory::{RunDirectory, RunError};
use crate::tensorboard::EventFile;

/// Opened at a round, appended to from there.
pub(crate) struct Journal {
    last: Option<RoundMetrics>,
    /// For each agent, the last round in which it took part.
    seen: BTreeMap<usize, RoundMetrics>,
    agents: usize,
    file: fs::File,
    events: EventFile,
}

/// The part of a journal that a checkpoint vouches for, read and checked; nothing is changed yet.
pub(crate) struct Verified {
    path: PathBuf,
    rounds: Vec<RoundMetrics>,
    bytes: u64,
}

impl Verified {
    /// Reads the first `rounds` rounds of a run's journal.
    ///
    /// # Errors
    /// There are fewer, or one of them cannot be read.
    pub(crate) fn read(directory: &RunDirectory, rounds: u32) -> Result<Self, RunError> {
        let path = directory.metrics_path();
        let damaged = |reason: String| RunError::Damaged { path: path.clone(), reason };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && rounds == 0 => Vec::new(),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let (mut read, mut bytes) = (Vec::new(), 0);
        let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
        for (index, line) in lines.take(rounds as usize).enumerate() {
            let metrics = RoundMetrics::from_line(line).filter(|metrics| metrics.round() as usize == index + 1);
            let metrics = metrics.ok_or_else(|| damaged(format!("line {} is not round {}", index + 1, index + 1)))?;
            read.push(metrics);
            bytes += line.len() as u64;
        }
        if read.len() < rounds as usize {
            return Err(damaged(format!("it has {} rounds, the checkpoint has {rounds}", read.len())));
        }
        Ok(Verified { path, rounds: read, bytes })
    }

    /// Cuts the journal back to what was verified and opens it for more.
    ///
    /// # Errors
    /// The disk failed.
    pub(crate) fn open(self, directory: &RunDirectory, agents: usize) -> Result<Journal, RunError> {
        let mut file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?;
        file.set_len(self.bytes)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
        let events = EventFile::create(&directory.events_path()?, &self.rounds)?;
        let mut journal = Journal { last: None, seen: BTreeMap::new(), agents, file, events };
        self.rounds.into_iter().for_each(|metrics| journal.remember(metrics));
        Ok(journal)
    }
}

impl Journal {
    /// Adds a round.
    ///
    /// # Errors
    /// The disk failed.
    pub(crate) fn append(&mut self, metrics: RoundMetrics) -> std::io::Result<()> {
        self.file.write_all(format!("{}\n", metrics.to_line()).as_bytes())?;
        self.events.append(&metrics)?;
        self.remember(metrics);
        Ok(())
    }

    fn remember(&mut self, metrics: RoundMetrics) {
        // Only what a message about a diverged agent needs, not the whole history.
        for agent in (0..self.agents).filter(|&agent| metrics.agent("agents/return", agent).is_some()) {
            self.seen.insert(agent, metrics.of_agent(agent));
        }
        self.last = Some(metrics);
    }

    /// The last round.
    pub(crate) fn last(&self) -> Option<&RoundMetrics> {
        self.last.as_ref()
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// The disk failed.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_all()
    }

    /// The last metrics of `agent` in words.
    pub(crate) fn last_of(&self, agent: usize) -> String {
        let Some(last) = self.seen.get(&agent) else { return "none".into() };
        let values = ["return", "gradient_norm", "drift"];
        let values = values.iter().filter_map(|key| Some(format!("{key} {:.4}", last.number(key)?)));
        format!("{} (round {})", values.collect::<Vec<_>>().join(", "), last.round())
    }
}
