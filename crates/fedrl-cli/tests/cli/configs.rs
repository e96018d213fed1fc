//! Every experiment that is shipped can be read, checked and built.

use std::path::{Path, PathBuf};

use fedrl_train::{Batch, Setup, Source, family};

fn toml_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { toml_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect()
}

#[test]
fn every_shipped_experiment_is_one() {
    let files = toml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs"));
    assert!(files.len() >= 11, "{files:?}");
    for file in files {
        let name = file.display().to_string();
        let source = Source::read(&file).unwrap_or_else(|error| panic!("{error}"));
        if source.is_batch() {
            if Batch::fits(&source).unwrap_or_else(|error| panic!("{error}")) {
                Batch::new(source).unwrap_or_else(|error| panic!("{error}"));
            } else {
                family(source).unwrap_or_else(|error| panic!("{error}"));
            }
            continue;
        }
        let experiment = source.experiment().unwrap_or_else(|error| panic!("{error}"));
        let setup = Setup::new(experiment, &name).unwrap_or_else(|error| panic!("{error}"));
        setup.initial().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(setup.held_out.len(), 2, "{name} has held-out variants of both kinds");
    }
}
