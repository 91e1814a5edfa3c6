//! Every model of the corpus gives the verdict, counts and exit code it says it gives.

use std::path::Path;

use crate::common::{hadal, root};
use hadal_testkit::corpus::{
    self, Directives, Language, Scale, Size, Verdict, directives, expected_rows, model_files,
};
use hadal_testkit::parallel::on_all;
use serde_json::Value;

/// Instances above this many states are left to the longer checks.
const MAX_STATES: u64 = 1_000_000;

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Verified => "verified",
        Verdict::Violated => "violated",
        Verdict::Rejected => "rejected",
    }
}

fn check_counts(
    problems: &mut Vec<String>,
    what: &str,
    record: &Value,
    expected: [(&str, Option<u64>); 3],
) {
    for (field, expected) in expected {
        if let Some(expected) = expected
            && record[field] != expected
        {
            problems.push(format!(
                "{what}: {field} {} instead of {expected}",
                record[field]
            ));
        }
    }
}

fn check_model(problems: &mut Vec<String>, path: &Path, expected: &Directives) {
    let name = path.display().to_string();
    let mut args = vec!["check", &name, "--json", "-", "--progress", "none"];
    args.extend(expected.flags.iter().map(String::as_str));
    let run = hadal(&args);
    if let Some(exit) = expected.exit
        && run.code != exit
    {
        problems.push(format!(
            "{name}: exit {} instead of {exit}\n{}",
            run.code, run.stderr
        ));
        return;
    }
    if expected.expect == Verdict::Rejected {
        return;
    }
    let record = run.record();
    let verdict = verdict_name(expected.expect);
    if record["verdict"] != verdict {
        problems.push(format!(
            "{name}: {} instead of {verdict}",
            record["verdict"]
        ));
        return;
    }
    let counts = [
        ("states", expected.states),
        ("transitions", expected.transitions),
        ("depth", expected.depth),
    ];
    check_counts(problems, &name, &record, counts);
    if let Some(violation) = &expected.violation {
        let found = &record["violations"][0];
        let depth = violation.depth.map_or(found["depth"].clone(), Value::from);
        let wanted_name = violation
            .name
            .as_deref()
            .map_or(found["name"].clone(), Value::from);
        let same = found["kind"] == violation.kind.as_str()
            && found["depth"] == depth
            && found["name"] == wanted_name;
        if !same {
            problems.push(format!(
                "{name}: {} {} at depth {} instead of {violation:?}",
                found["kind"], found["name"], found["depth"]
            ));
        }
        let n_steps = found["trace"].as_array().map_or(0, Vec::len) as u64;
        let has_trace = violation.kind != "cover";
        if has_trace && Some(n_steps) != found["depth"].as_u64().map(|depth| depth + 1) {
            problems.push(format!(
                "{name}: a trace of {n_steps} entries at depth {depth}"
            ));
        }
    }
}

fn check_scale(problems: &mut Vec<String>, path: &Path, flags: &[String], scale: &Scale) {
    if scale.states.is_none_or(|states| states > MAX_STATES) {
        return;
    }
    let name = path.display().to_string();
    let constants = scale.flags(Language::of(path).expect("it is a model"));
    let mut args = vec!["check", &name, "--json", "-", "--progress", "none"];
    args.extend(flags.iter().map(String::as_str));
    args.extend(constants.iter().map(String::as_str));
    let counts = [
        ("states", scale.states),
        ("transitions", scale.transitions),
        ("depth", scale.depth),
    ];
    let what = format!("{name} {}", constants.join(" "));
    check_counts(problems, &what, &hadal(&args).record(), counts);
}

#[test]
fn our_models_give_what_they_say() {
    let files = model_files(&root().join("models")).expect("the folder of models is there");
    assert!(files.len() >= 15, "the corpus has at least fifteen models");
    let problems = on_all(&files, |path| {
        let mut problems = Vec::new();
        let text = std::fs::read_to_string(path).expect("a model can be read");
        match directives(&text) {
            Ok(expected) => {
                check_model(&mut problems, path, &expected);
                for scale in &expected.scales {
                    check_scale(&mut problems, path, &expected.flags, scale);
                }
            }
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
        problems
    });
    let problems = problems.concat();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Rows of the other sizes are for native code, or for the longer checks.
#[test]
fn models_by_others_give_the_counts_of_their_table() {
    let Some(folder) = corpus::models_folder() else {
        eprintln!("HADAL_MODELS is not set: models by others are not run");
        return;
    };
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("the table is there");
    let mut problems = Vec::new();
    let mut n_rows = 0;
    for row in expected_rows(&table).expect("the table is well-formed") {
        if row.size != Size::Small {
            continue;
        }
        n_rows += 1;
        let path = folder.join(&row.model).display().to_string();
        let constants: Vec<String> = row
            .overrides
            .iter()
            .map(|(name, value)| format!("--const={name}={value}"))
            .collect();
        let mut args = vec![
            "check",
            &path,
            "--json",
            "-",
            "--progress",
            "none",
            "--deadlock",
            "off",
        ];
        args.extend(constants.iter().map(String::as_str));
        let record = hadal(&args).record();
        let verdict = verdict_name(row.verdict);
        if record["verdict"] != verdict {
            problems.push(format!(
                "{}: {} instead of {verdict}",
                row.model, record["verdict"]
            ));
        }
        let counts = [
            ("states", row.states),
            ("transitions", row.transitions),
            ("depth", row.depth),
        ];
        check_counts(&mut problems, &row.model, &record, counts);
    }
    assert!(n_rows > 0, "the table has small rows");
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Everything but time and memory is the same for any number of threads.
#[test]
fn the_number_of_threads_changes_nothing() {
    let files = model_files(&root().join("models")).expect("the folder of models is there");
    let compared = on_all(&files, |path| {
        let text = std::fs::read_to_string(path).expect("a model can be read");
        let expected = directives(&text).expect("directives are well-formed");
        let small = expected.states.is_none_or(|states| states < 60_000);
        if expected.expect == Verdict::Rejected || !small {
            return false;
        }
        let records = ["1", "2", "8"].map(|threads| {
            let name = path.display().to_string();
            let mut args = vec!["check", &name, "--json", "-", "--progress", "none"];
            args.extend(["--threads", threads]);
            args.extend(expected.flags.iter().map(String::as_str));
            let mut record = hadal(&args).record();
            let fields = record.as_object_mut().expect("a record is an object");
            for field in ["threads", "seconds", "memory"] {
                fields.remove(field);
            }
            record
        });
        assert_eq!(records[0], records[1], "{}", path.display());
        assert_eq!(records[0], records[2], "{}", path.display());
        true
    });
    assert!(
        compared
            .into_iter()
            .filter(|&is_compared| is_compared)
            .count()
            >= 15
    );
}
