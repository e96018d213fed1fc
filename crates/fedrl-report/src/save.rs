//! Files that are there whole or not at all.

use crate::ReportError;
use std::io::{self, Write};
use std::path::Path;
use tempfile::Builder;

/// Writes `contents` to `path`, making its folder if need be: first beside it under another name,
/// then renamed, so that no reader meets half a file.
///
/// # Errors
/// The disk failed.
pub fn atomically(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), ReportError> {
    write(path, contents.as_ref()).map_err(|source| ReportError::Write { path: path.into(), source })
}

fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = Builder::new();
    // A temporary file is its owner's alone; a report is as readable as any file of the run.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}
