//! The two ways out: results on stdout, everything else on stderr.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde::Serialize;

use crate::args::OutputArgs;

/// Who is listening.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    quiet: bool,
}

impl From<OutputArgs> for Output {
    fn from(args: OutputArgs) -> Self {
        Output { json: args.json, quiet: args.quiet }
    }
}

impl Output {
    /// A line for people who watch: on stderr, unless they asked for quiet or for JSON.
    pub fn note(&self, line: impl AsRef<str>) {
        if self.chatty() {
            eprintln!("{}", line.as_ref());
        }
    }

    /// Whether anybody watches.
    pub fn chatty(&self) -> bool {
        !self.quiet && !self.json
    }

    /// A result for people, on stdout.
    pub fn text(&self, text: impl AsRef<str>) -> io::Result<()> {
        if self.json { Ok(()) } else { line(text.as_ref()) }
    }

    /// A result for programs: one line of JSON on stdout.
    pub fn value(&self, value: &impl Serialize) -> io::Result<()> {
        if self.json { print_json(value) } else { Ok(()) }
    }
}

/// One line of JSON on stdout.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// A line on stdout. That nobody reads it, as after `| head`, is no reason to stop.
fn line(text: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// One line under the header and none elsewhere.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table for people; columns from `numeric_from` on are aligned to the right.
pub fn table(header: &[&str], rows: Vec<Vec<String>>, numeric_from: usize) -> String {
    let mut table = Table::new();
    table.load_style(RULED).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(numeric_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}
