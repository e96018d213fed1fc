//! What two runs have in common, wall clock aside, and what a directory holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Every file under `root` by its path within it, with its bytes; directories end in `/`.
pub fn listing(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("inside").display().to_string();
            if path.is_dir() {
                files.insert(format!("{name}/"), Vec::new());
                open.push(path);
            } else {
                files.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// Copies a directory and everything in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new directory");
    // A directory sorts before what is in it.
    for (name, bytes) in listing(from) {
        if name.ends_with('/') {
            fs::create_dir_all(to.join(&name)).expect("a new directory");
        } else {
            fs::create_dir_all(to.join(&name).parent().expect("a parent")).expect("a new directory");
            fs::write(to.join(&name), bytes).expect("a new file");
        }
    }
}

/// Asserts that two runs of one experiment are the same but for the clock: checkpoints, what
/// `latest` and `best` say, metrics, evaluations, the resolved experiment. Panics with the first
/// file that differs, where in it, and the names of the others.
#[track_caller]
pub fn assert_same_run(one: &Path, other: &Path) {
    if let Some(difference) = difference(one, other) {
        panic!("{} and {} differ: {difference}", one.display(), other.display());
    }
}

fn difference(one: &Path, other: &Path) -> Option<String> {
    let (ours, theirs) = (comparable(one), comparable(other));
    if let Some(missing) = ours.keys().find(|name| !theirs.contains_key(*name)) {
        return Some(format!("only the first has {missing}"));
    }
    if let Some(more) = theirs.keys().find(|name| !ours.contains_key(*name)) {
        return Some(format!("only the second has {more}"));
    }
    let different: Vec<&String> = ours.keys().filter(|name| ours[*name] != theirs[*name]).collect();
    let (first, others) = different.split_first()?;
    let where_in_it = match (&ours[*first], &theirs[*first]) {
        (Content::Json(a), Content::Json(b)) => first_key(a, b),
        (Content::Bytes(a), Content::Bytes(b)) => first_byte(a, b),
        _ => String::new(),
    };
    Some(format!("{first}: {where_in_it}; also: {others:?}"))
}

fn first_byte(a: &[u8], b: &[u8]) -> String {
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    // What a pointer to a checkpoint says is short enough to be shown.
    let text = |bytes: &[u8]| String::from_utf8(bytes.iter().copied().take(40).collect()).unwrap_or_default();
    format!("byte {at} of {} and {}: {:?} and {:?}", a.len(), b.len(), text(a), text(b))
}

#[derive(PartialEq)]
enum Content {
    Bytes(Vec<u8>),
    Json(Vec<Value>),
}

/// The files of a run that do not depend on the clock or on where the run lies.
fn comparable(run: &Path) -> BTreeMap<String, Content> {
    let stays = |name: &str| {
        name == "config.toml"
            || name == "metrics.jsonl"
            || name.starts_with("checkpoints/")
            || name.starts_with("eval/")
    };
    let files = listing(run).into_iter().filter(|(name, _)| stays(name));
    files
        .map(|(name, bytes)| {
            let content = if name == "metrics.jsonl" {
                Content::Json(rounds(&bytes))
            } else if name.starts_with("eval/") && name.ends_with(".json") {
                Content::Json(vec![parse(&name, &bytes)])
            } else {
                Content::Bytes(bytes)
            };
            (name, content)
        })
        .collect()
}

fn parse(name: &str, bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The rounds without what the clock says of them.
fn rounds(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let timeless = |line: &str| {
        let mut round = parse("metrics.jsonl", line.as_bytes());
        round.as_object_mut().expect("an object").retain(|key, _| !key.starts_with("time/"));
        round
    };
    text.lines().map(timeless).collect()
}

/// Where two lists of objects differ first.
fn first_key(a: &[Value], b: &[Value]) -> String {
    if a.len() != b.len() {
        return format!("{} and {} lines", a.len(), b.len());
    }
    let Some(line) = (0..a.len()).find(|&line| a[line] != b[line]) else { return "nothing".into() };
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let (of_a, of_b) = (keys(&a[line]), keys(&b[line]));
    let differs = |key: &&String| a[line].get(key.as_str()) != b[line].get(key.as_str());
    match of_a.iter().chain(&of_b).find(differs) {
        Some(key) => format!("line {}, key {key}: {:?} and {:?}", line + 1, a[line].get(key), b[line].get(key)),
        None => format!("line {}", line + 1),
    }
}
