use crate::ReportError;
use std::io::{self, Write};
use std::path::Path;
use tempfile::Builder;

/// Writes `text` to `path`, making its folder if need be: first beside it under another name,
/// then renamed, so that no reader meets half a file.
pub(crate) fn atomically(path: &Path, text: &str) -> Result<(), ReportError> {
    write(path, text).map_err(|source| ReportError::Write { path: path.into(), source })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = Builder::new();
    // A temporary file is its owner's alone; a report is as readable as any file of the run.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
