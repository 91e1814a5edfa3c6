//! Whatever the memory, the threads, the store and the interruptions: the same results, for every
//! model of the corpus and for those by others.

use std::path::Path;

use crate::common::{RESULTS, hadal, root};
use hadal_testkit::corpus::{Size, Verdict, directives, expected_rows, model_files, models_folder};
use hadal_testkit::parallel::on_all;
use serde_json::Value;

/// Means to the same end, for state spaces of up to this many states: from a spill every few states
/// to one now and then.
const MEANS: [(u64, &[&str]); 6] = [
    (200, &["--data-memory", "1K", "--threads", "1"]),
    (2_000, &["--data-memory", "30K", "--threads", "4"]),
    (
        2_000,
        &[
            "--data-memory",
            "30K",
            "--threads",
            "2",
            "--store",
            "hash128",
        ],
    ),
    (5_000, &["--threads", "4", "--store", "hash128"]),
    (40_000, &["--data-memory", "200K", "--threads", "1"]),
    (u64::MAX, &["--data-memory", "1M", "--threads", "2"]),
];

/// Runs that are cut off have at most this many states.
const CUT_OFF: u64 = 2_000;

/// A model and its flags.
type Case = (String, Vec<String>);

/// Runs every model by all means, and fails where results differ. Returns how many runs had states
/// on disk.
#[track_caller]
fn compare_all(cases: &[Case]) -> usize {
    let results = on_all(cases, |(model, flags)| {
        let mut problems = Vec::new();
        let n_on_disk = compare(&mut problems, model, flags);
        (problems, n_on_disk)
    });
    let problems: Vec<&String> = results.iter().flat_map(|(problems, _)| problems).collect();
    assert!(problems.is_empty(), "\n{problems:#?}");
    results.iter().map(|(_, n_on_disk)| n_on_disk).sum()
}

/// Runs a model by all means and says where results differ. Returns how many runs had states on
/// disk.
fn compare(problems: &mut Vec<String>, model: &str, flags: &[String]) -> usize {
    let run = |more: &[&str]| {
        let mut args = vec!["check", model, "--json", "-", "--progress", "none"];
        args.extend(flags.iter().map(String::as_str));
        args.extend(more);
        hadal(&args)
    };
    let expected = run(&["--threads", "2"]).record();
    let n_states = expected["states"].as_u64().expect("a number of states");
    let mut n_on_disk = 0;
    // That something is never reached is more than a hash store can say.
    let is_unreached = expected["violations"][0]["kind"] == "cover";
    for (_, means) in MEANS.iter().filter(|(most, _)| n_states <= *most) {
        if is_unreached && means.contains(&"hash128") {
            continue;
        }
        let record = run(means).record();
        n_on_disk += usize::from(record["disk"]["written_bytes"].as_u64() > Some(0));
        let what = format!("{model} {}", means.join(" "));
        note_differences(problems, &what, &expected, &record);
    }
    if n_states > CUT_OFF {
        return n_on_disk;
    }
    // Cut off and taken up again until it is done.
    let scratch = tempfile::tempdir().expect("there is room for a folder");
    let folder = scratch.path().join("run").display().to_string();
    let little = ["--data-memory", "30K", "--commit-every", "5ms"];
    let begin = ["--disk", &folder, "--time-limit", "15ms"];
    let mut record = run(&[&begin[..], &little].concat()).record();
    for limit in ["30ms", "60ms", "1h"] {
        // The time may end while liveness is decided.
        let was_stopped = record["reason"] == "time" || record["reason"] == "liveness";
        if record["complete"] == true || !was_stopped {
            break;
        }
        let go_on = ["resume", &folder, "--json", "-", "--progress", "none"];
        let limit = ["--time-limit", limit];
        record = hadal(&[&go_on[..], &limit, &little].concat()).record();
    }
    let what = format!("{model} interrupted");
    note_differences(problems, &what, &expected, &record);
    n_on_disk
}

fn note_differences(problems: &mut Vec<String>, what: &str, expected: &Value, found: &Value) {
    for name in RESULTS {
        if expected[name] != found[name] {
            problems.push(format!(
                "{what}: {name} {} instead of {}",
                found[name], expected[name]
            ));
        }
    }
}

#[test]
fn our_models_give_the_same_whatever_the_means() {
    let mut cases = Vec::new();
    for path in model_files(&root().join("models")).expect("the folder of models is there") {
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let expected = directives(&text).expect("directives are well-formed");
        if expected.expect == Verdict::Rejected {
            continue;
        }
        cases.push((path.display().to_string(), expected.flags));
    }
    assert!(cases.len() > 15, "{} models", cases.len());
    let n_on_disk = compare_all(&cases);
    assert!(n_on_disk > 30, "{n_on_disk} runs had states on disk");
}

#[test]
fn models_by_others_give_the_same_whatever_the_means() {
    let Some(folder) = models_folder() else {
        eprintln!("HADAL_MODELS is not set: models by others are not run");
        return;
    };
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("the table is there");
    let mut cases = Vec::new();
    for row in expected_rows(&table).expect("the table is well-formed") {
        if row.size == Size::Small {
            let path: &Path = &folder.join(&row.model);
            let mut flags = vec!["--deadlock".to_owned(), "off".to_owned()];
            let constants = row.overrides.iter();
            flags.extend(constants.map(|(name, value)| format!("--const={name}={value}")));
            cases.push((path.display().to_string(), flags));
        }
    }
    compare_all(&cases);
}
