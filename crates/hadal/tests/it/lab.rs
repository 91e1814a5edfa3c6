//! The laboratory: each table on a tiny model, with what changes from run to run masked.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Run, hadal, root};
use expect_test::{Expect, expect};
use serde_json::Value;

const TINY: &str = "models/mcs_lock.m";
/// So many states that it cannot be searched within [`SHORT`], while the tiny one can.
const LARGE: &str = "models/peterson.m:N=5";
const SHORT: &str = "400ms";

fn lab(args: &[&str]) -> Run {
    let quiet = ["--progress", "none"];
    hadal(&[&["lab"], args, &quiet].concat())
}

/// Lines of Markdown without where they come from, times masked.
fn masked(text: &str) -> String {
    let changes = |title: &str| ["seconds", "time"].iter().any(|word| title.contains(word));
    let mut out = String::new();
    let mut titles: Vec<String> = Vec::new();
    let lines = text.lines().skip_while(|line| line.starts_with("- "));
    for line in lines {
        let row = line.strip_prefix("| ");
        let Some(row) = row.and_then(|row| row.strip_suffix(" |")) else {
            titles.clear();
            out += &format!("{line}\n");
            continue;
        };
        let cells: Vec<String> = row.split(" | ").map(str::to_owned).collect();
        if titles.is_empty() {
            titles = cells.clone();
        }
        let is_time = cells.iter().any(|cell| cell == "time");
        let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit());
        let cells = cells.iter().zip(&titles).map(|(cell, title)| {
            let masks = changes(title) || is_time && title.parse::<f64>().is_ok();
            match masks && cell != title && is_number(cell) {
                true => "T",
                false => cell.as_str(),
            }
        });
        out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    out
}

#[track_caller]
fn check(args: &[&str], expected: Expect) {
    let run = lab(&[args, &["--format", "markdown"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    expected.assert_eq(&masked(&run.stdout));
}

fn json(args: &[&str]) -> Value {
    let run = lab(&[args, &["--format", "json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.record()
}

#[test]
fn locality_is_a_table_with_pictures() {
    check(
        &["locality", TINY],
        expect![[r#"

            ### Share of k-transitions per state (Definition 4, Table 1)

            | model | mean(-1) | dev(-1) | mean(0) | dev(0) | mean(1) | dev(1) | 1-local |
            | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
            | mcs_lock | 0.0352113 | 0.1324368 | 0.0000000 | 0.0000000 | 0.8920188 | 0.1922269 | 0.9272300 |

            ### The same, self-loops left out

            | model | mean(-1) | dev(-1) | mean(0) | dev(0) | mean(1) | dev(1) | 1-local |
            | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
            | mcs_lock | 0.0352113 | 0.1324368 | 0.0000000 | 0.0000000 | 0.8920188 | 0.1922269 | 0.9272300 |

            ### Models

            | model | states | transitions | self-loops | ends | faults | depth | farthest back | end |
            | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
            | mcs_lock | 142 | 425 | 0 | 0 | 0 | 17 | -6 | complete |

            ```
            mcs_lock: states by level, at most 19
            |         ▅█▁
            |        ▃███
            |        ████▄
            |       ██████
            |      ▃██████▆
            |    ▁▄████████▁
            |   ▂███████████▅▂
            |▃▃▇██████████████▃
            +------------------
             0               17
            ```

            ```
            mcs_lock: transitions by the levels they lead on
                  1            384  90.4 %  ████████████████████████████████▌
                  0              0   0.0 %
                 -1             11   2.6 %  ▉
                 -2              0   0.0 %
                 -3              0   0.0 %
                 -4              4   0.9 %  ▍
                 -5              0   0.0 %
                 -6             26   6.1 %  ██▎
            ```
        "#]],
    );
}

#[test]
fn memory_is_reported_as_in_the_papers() {
    let strategies = ["--strategies", "cache,mono", "--fractions", "1,0.1"];
    check(
        &[&["memory", TINY], &strategies[..]].concat(),
        expect![[r#"

            ### With everything in memory (Tables 3 and 4 of the locality paper)

            | model | states | transitions | largest queue | depth | M(p) bytes | g | seconds | end |
            | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
            | mcs_lock | 142 | 425 | 19 | 17 | 1.2 KiB | 0.134 | T | complete |

            ### Ratios to the search with everything in memory, by fraction of its memory (Tables 5, 6, 8 and 9 of the locality paper, Table 2 of the magnetic-disk paper)

            | model | strategy | ratio of | 1 | 0.1 |
            | --- | --- | --- | ---: | ---: |
            | mcs_lock | cache | states | 1.000 | 0.923∞ |
            | mcs_lock | cache | transitions | 1.000 | 0.946∞ |
            | mcs_lock | cache | time | T | T |
            | mcs_lock | cache | collisions | 0.035 | 0.901∞ |
            | mcs_lock | mono | states | 1.000 | 1.000 |
            | mcs_lock | mono | transitions | 1.000 | 1.000 |
            | mcs_lock | mono | time | T | T |

            ∞  stopped by the strategy itself, with states not visited

            ### Times as ratios to those of `cache` (Table 10 of the locality paper has `local`)

            | model | strategy | ratio of | 1 | 0.1 |
            | --- | --- | --- | ---: | ---: |
            | mcs_lock | mono | time | T |  |
        "#]],
    );
}

#[test]
fn a_profile_has_all_parts_of_the_time() {
    let table = json(&["profile", TINY, "--fraction", "0.1"]);
    let rows = table["tables"][0]["rows"].as_array().expect("rows");
    let parts = [
        "generation",
        "insertion",
        "duplicate detection",
        "file I/O",
        "enqueue and dequeue",
        "partitioning",
        "properties",
        "other",
    ];
    let named = |name: &str| {
        rows.iter()
            .find(|row| row["strategy"] == name)
            .expect("a row")
    };
    for row in rows.iter().filter(|row| row["end"] == "complete") {
        let sum: f64 = parts.iter().filter_map(|part| row[part].as_f64()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{row}");
    }
    assert!(named("mono:open")["duplicate detection"].is_number());
    assert!(named("part")["partitioning"].is_number());
    assert!(named("ram")["partitioning"].is_null());
    assert!(named("auto")["duplicate detection"].is_number());
}

#[test]
fn layers_are_reported_as_in_the_paper() {
    check(
        &["layers", TINY, "--layers", "20,2"],
        expect![[r#"

            ### Duplicates, time and disk with 0.1 of the memory (Tables 1 and 3 of the layered paper; below, Figure 5)

            | model | layers | states | depth | duplicates in RAM | in DDD | missed | BFS seconds | trace seconds | disk bytes | end |
            | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
            | mcs_lock | 20 | 142 | 17 | 91 | 193 | 0 | T |  | 0 B | complete |
            | mcs_lock | 2 | 142* | 152* | 2,129* | 6,085* | 3,996* | T |  | 0 B* | revisits |

            *  stopped by the strategy itself, after all states were visited

            ### With and without a cache of recent layers in memory (Table 2)

            | model | layers | cache | seconds | delayed duplicates | end |
            | --- | --- | --- | ---: | ---: | --- |
            | mcs_lock | 20 | yes | T | 193 | complete |
            | mcs_lock | 20 | no | T | 284 | complete |

            ```
            mcs_lock: states by level, at most 19
            |         ▅█▁
            |        ▃███
            |        ████▄
            |       ██████
            |      ▃██████▆
            |    ▁▄████████▁
            |   ▂███████████▅▂
            |▃▃▇██████████████▃
            +------------------
             0               17
            ```
        "#]],
    );
}

#[test]
fn caches_are_compared() {
    check(
        &["caches", TINY, "--caches", "(c1,lru,3)"],
        expect![[r#"

            ### Breadth-first search with snapshots (4.1 of the caching paper)

            | model | set-up | states held | held share | data bytes | seconds | time ratio | redundant states | redundant share | snapshots hit | end |
            | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
            | mcs_lock | all states (ram) | 161 | 100.0 % | 7.4 KiB | T | T | 0 | 0.0 % |  | complete |
            | mcs_lock | frontier-safety-net | 102 | 63.4 % | 1.5 KiB | T | T | 20 | 14.1 % | 42 | complete |
            | mcs_lock | frontier-safety-net + BT | 102 | 63.4 % | 1.5 KiB | T | T | 20 | 14.1 % | 42 | complete |
            | mcs_lock | pebble | 102 | 63.4 % | 1.5 KiB | T | T | 20 | 14.1 % | 42 | complete |
            | mcs_lock | pebble + BT | 102 | 63.4 % | 1.5 KiB | T | T | 20 | 14.1 % | 42 | complete |
            | mcs_lock | (c1,lru,3) | 116 | 72.0 % | 1.7 KiB | T | T | 76 | 53.5 % | 55 | complete |
            | mcs_lock | (c1,lru,3) + BT | 118 | 73.3 % | 1.7 KiB | T | T | 70 | 49.3 % | 49 | complete |

            ### Smallest cache with which depth-first search visits at most twice the states (4.2 of the caching paper)

            | model | set-up | cache states | cache share | seconds | visited ratio |
            | --- | --- | ---: | ---: | ---: | ---: |
            | mcs_lock | (lru,100) | 90 | 63.4 % | T | 1.866 |
            | mcs_lock | (mru,100) | 123 | 86.6 % | T | 1.465 |
            | mcs_lock | (lfu,100) | 93 | 65.5 % | T | 1.782 |
            | mcs_lock | (mfu,100) | 96 | 67.6 % | T | 2.000 |
            | mcs_lock | (rnd,100) | 79 | 55.6 % | T | 2.000 |
            | mcs_lock | (mfu,25)(lru,75) | 99 | 69.7 % | T | 1.901 |
            | mcs_lock | (rnd,25)(lru,75) | 88 | 62.0 % | T | 1.746 |
        "#]],
    );
}

/// Reads comma-separated values; what is in quotes may hold commas.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
                c => field.push(c),
            }
        }
        fields.push(field);
        records.push(fields);
    }
    records
}

#[test]
fn values_can_be_read_by_programs() {
    let args = [
        "caches",
        TINY,
        "--no-dfs",
        "--caches",
        "(c1,lru,3)",
        "--seed",
        "7",
    ];
    let run = lab(&[&args[..], &["--format", "csv"]].concat());
    let rows = records(&run.stdout);
    assert_eq!(rows.len(), 8, "{}", run.stdout);
    assert!(
        rows.iter().all(|row| row.len() == rows[0].len()),
        "{}",
        run.stdout
    );
    assert_eq!(rows[6][1], "(c1,lru,3)");
    for row in &rows[1..] {
        assert!(
            row[2].parse::<u64>().is_ok() && row[5].parse::<f64>().is_ok(),
            "{row:?}"
        );
    }
    for origin in [
        "# commit: ",
        "# machine: ",
        "# seed: 7",
        "# command: hadal lab caches",
    ] {
        assert!(run.stdout.contains(origin), "{origin}");
    }

    let object = json(&args);
    for name in ["commit", "machine", "command", "hadal"] {
        assert!(object[name].is_string(), "{name}");
    }
    assert_eq!(
        (&object["lab"], &object["seed"]),
        (&"caches".into(), &7.into())
    );
    let rows = object["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|row| row["states held"].is_u64()));
}

#[test]
fn a_run_that_is_cut_off_is_a_marked_cell() {
    let args = [
        "memory",
        LARGE,
        TINY,
        "--strategies",
        "mono",
        "--fractions",
        "1",
    ];
    let cut = [&args[..], &["--time-limit", SHORT]].concat();
    let run = lab(&cut);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("(time)  cut off by the time limit"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("note: peterson N=5: "),
        "{}",
        run.stdout
    );
    let object = json(&cut);
    let ends = |table: usize| -> Vec<&str> {
        let rows = object["tables"][table]["rows"].as_array().expect("rows");
        rows.iter()
            .map(|row| row["end"].as_str().expect("an end"))
            .collect()
    };
    assert_eq!(ends(0), ["time", "complete"]);
    assert_eq!(ends(1), ["not-run", "complete"]);
}

#[test]
fn a_model_that_fails_does_not_take_the_others_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nowhere.m");
    let text = "var x: boolean; startstate x := true end; rule x := !x end; assume !x & x;";
    std::fs::write(&path, text).expect("a model");
    let path = path.to_str().expect("a name");
    let run = lab(&["locality", path, TINY]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("nowhere    (failed)"), "{}", run.stdout);
    assert!(
        run.stdout.contains("note: nowhere: no startstate"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("mcs_lock  0."), "{}", run.stdout);
}

#[test]
fn a_wrong_command_line_or_model_is_refused() {
    for (args, message) in [
        (&["memory"][..], "<MODEL>"),
        (
            &["memory", TINY, "--strategies", "disk"],
            "there is no strategy `disk`",
        ),
        (&["memory", TINY, "--fractions", "0"], "is not a fraction"),
        (
            &["layers", TINY, "--layers", "x"],
            "neither a number of layers nor `auto`",
        ),
        (&["caches", TINY, "--caches", "(c2)"], "at character 4"),
        (
            &["locality", TINY, "--store", "hash"],
            "possible values: exact, hash40",
        ),
        (&["locality", "absent.m"], "cannot read `absent.m`"),
        (&["locality", "models/mcs_lock.m:X=1"], "X"),
    ] {
        let run = lab(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
    }
}

#[test]
fn pictures_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("layers.svg");
    let name = path.to_str().expect("a name");
    for table in ["locality", "memory", "layers", "caches", "directed"] {
        let run = lab(&[table, TINY, "--svg", name]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let picture = std::fs::read_to_string(&path).expect("a picture");
        assert!(
            picture.starts_with("<svg ") && picture.ends_with("</svg>\n"),
            "{table}"
        );
        assert!(picture.contains("mcs_lock"), "{table}");
    }
}

#[test]
fn runs_are_announced() {
    let run = hadal(&["lab", "locality", TINY]);
    assert!(
        run.stderr.starts_with("run 1: mcs_lock: locality\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn two_interrupts_leave_no_folder() {
    let parent = tempfile::tempdir_in(root().join("target")).expect("a folder can be made");
    let n_entries = || fs::read_dir(parent.path()).expect("it is there").count();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["lab", "locality", "models/peterson.m:N=6", "--disk"])
        .arg(parent.path())
        .args(["--progress", "plain"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A line of progress: the search is under way.
    let stderr = child.stderr.as_mut().expect("standard error is piped");
    assert!(stderr.read_exact(&mut [0; 20]).is_ok());
    assert_eq!(n_entries(), 1);
    let pid = child.id().to_string();
    // In one go, so that the first has no time to end the run.
    let both = format!("kill -INT {pid}; kill -TERM {pid}");
    let sent = Command::new("sh").args(["-c", &both]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("stopped at once"), "{}", run.stderr);
    assert_eq!(n_entries(), 0);
}

/// The rows of a table of `hadal lab directed` whose fields have these values.
fn rows<'t>(report: &'t Value, table: usize, fields: &[(&str, &str)]) -> Vec<&'t Value> {
    let rows = report["tables"][table]["rows"].as_array().expect("rows");
    let has = |row: &Value| fields.iter().all(|(name, value)| row[*name] == *value);
    rows.iter().filter(|row| has(row)).collect()
}

/// Checks d, e and t of an instance of the philosophers, against the formulas that they follow.
fn check_philosophers(report: &Value, model: &str, n: u64) {
    let found = rows(report, 0, &[("model", model), ("heuristic", "active")]);
    let &[row] = &found[..] else {
        panic!("{model}: {found:?}");
    };
    let figures = [
        "cost",
        "expanded",
        "generated",
        "inconsistent",
        "opened again",
    ];
    let found = figures.map(|name| row[name].as_u64().expect(name));
    let expected = [4 * n + 2, 2 * n * n - 3 * n + 2, n * n * n - n + 1, n, 0];
    assert_eq!(found, expected, "{model}");
    let found = rows(report, 2, &[("model", model)]);
    assert_eq!(
        (&found[0]["d"], &found[0]["e"]),
        (&row["cost"], &row["expanded"]),
        "{model}"
    );
}

#[test]
fn philosophers_expand_what_is_known() {
    let sizes = 4..=12;
    let models: Vec<String> = sizes
        .clone()
        .map(|n| format!("models/philosophers_laid.m:N={n}"))
        .collect();
    let options = ["--strategies", "a-star", "--heuristic", "active"];
    let cost = ["--cost", "laid() ? 3 * N + 2 : 1"];
    let models = models.iter().map(String::as_str);
    let args: Vec<&str> = ["directed"].into_iter().chain(models).collect();
    let report = json(&[&args[..], &options, &cost].concat());
    for n in sizes {
        check_philosophers(&report, &format!("philosophers_laid N={n}"), n);
    }
}

/// The papers' models in Promela, where `HADAL_PROMELA_MODELS` names their folder.
#[test]
fn protocols_of_the_directed_paper_expand_what_is_known() {
    let Some(folder) = std::env::var_os("HADAL_PROMELA_MODELS") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let model = |name: &str, n: u64| format!("{}:N={n}", folder.join(name).display());
    let philosophers = (4..=12).map(|n| model("philosophers.pml", n));
    let telegraphs = (2..=4).map(|n| model("telegraph_init.pml", n));
    let models: Vec<String> = philosophers.chain(telegraphs).collect();
    let options = ["--strategies", "a-star", "--heuristic", "active"];
    let models = models.iter().map(String::as_str);
    let args: Vec<&str> = ["directed"].into_iter().chain(models).collect();
    let report = json(&[&args[..], &options].concat());
    // With more of them there are too many processes for the first guess.
    for n in 4..=12 {
        check_philosophers(&report, &format!("philosophers N={n}"), n);
    }
    for (n, d, e, t) in [(2, 14, 18, 41), (3, 21, 196, 559), (4, 26, 322, 1425)] {
        let model = format!("telegraph_init N={n}");
        let found = rows(&report, 2, &[("model", &model)]);
        let figures = ["d", "e", "t"].map(|name| found[0][name].as_u64());
        assert_eq!(figures, [d, e, t].map(Some), "{model}");
    }
}

#[test]
fn directed_searches_are_beside_a_breadth_first_one() {
    let model = "models/giop.pml:USERS=2,SERVERS=1";
    let report = json(&[
        "directed",
        model,
        "--heuristic",
        "active",
        "--heuristic",
        "formula",
    ]);
    let found = rows(&report, 0, &[]);
    let name = |row: &Value, field: &str| row[field].as_str().unwrap_or("").to_owned();
    let searches: Vec<[String; 3]> = found
        .iter()
        .map(|row| ["strategy", "heuristic", "end"].map(|field| name(row, field)))
        .collect();
    assert_eq!(
        searches,
        [
            ["auto", "", "violation"],
            ["dijkstra", "", "violation"],
            ["a-star", "active", "violation"],
            ["best-first", "active", "violation"],
            ["", "formula", "does not apply"],
        ]
    );
    assert_eq!(
        (&found[0]["expanded"], &found[0]["states"]),
        (&1826.into(), &2155.into())
    );
    assert_eq!(
        (&found[0]["steps"], &found[0]["least"]),
        (&19.into(), &"steps".into())
    );
    assert_eq!(
        (&found[1]["cost"], &found[1]["least"]),
        (&43.into(), &"cost".into())
    );
    assert!(found[4]["expanded"].is_null());
    let best = &rows(&report, 1, &[])[0];
    assert_eq!(
        (&best["heuristic"], &best["searches"]),
        (&"active".into(), &2.into())
    );
    assert!(
        best["of breadth-first"]
            .as_f64()
            .is_some_and(|ratio| ratio < 0.1),
        "{best}"
    );
    let paper = &rows(&report, 2, &[])[0];
    assert_eq!(
        (&paper["table"], &paper["paper's e"]),
        (&3.into(), &39_260.into())
    );

    // The reason is given once.
    let run = lab(&[
        "directed",
        model,
        "--heuristic",
        "formula",
        "--heuristic",
        "sum(formula)",
    ]);
    let note = "note: giop USERS=2 SERVERS=1: formula, sum(formula): the heuristic `formula` needs";
    assert!(run.stdout.contains(note), "{}", run.stdout);
}

#[test]
fn a_directed_search_that_is_cut_off_has_lower_bounds() {
    let args = [
        "directed",
        LARGE,
        TINY,
        "--heuristic",
        "formula",
        "--strategies",
        "a-star:2",
    ];
    let cut = [&args[..], &["--state-limit", "2000"]].concat();
    let run = lab(&cut);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains(">  cut off at a limit"),
        "{}",
        run.stdout
    );
    let report = json(&cut);
    let ends = |model: &str| -> Vec<String> {
        let found = rows(&report, 0, &[("model", model)]);
        let end = |row: &&Value| row["end"].as_str().unwrap_or("").to_owned();
        found.iter().map(end).collect()
    };
    assert_eq!(ends("peterson N=5"), ["states"; 3]);
    assert_eq!(ends("mcs_lock"), ["complete"; 3]);
    // Neither of two that were cut off is known to have expanded more.
    let best = &rows(&report, 1, &[("model", "peterson N=5")])[0];
    assert!(
        best["of breadth-first"].is_null() && best["worse"].is_null(),
        "{best}"
    );
}

#[test]
fn a_wrong_directed_comparison_is_refused() {
    for (args, message) in [
        (&["directed"][..], "<MODEL>"),
        (
            &["directed", TINY, "--strategies", "auto"],
            "`auto` is not directed",
        ),
        (&["directed", TINY, "--heuristic", "nonsense"], "nonsense"),
        (&["directed", TINY, "--state-limit", "0"], "0 is not in"),
        (
            &["directed", TINY, "--heuristic", "formula", "--target", "x"],
            "`hamming`",
        ),
        (&["directed", "models/graphs/chain.aut"], "is a graph"),
        (&["directed", "absent.pml"], "cannot read `absent.pml`"),
        (
            &["directed", "models/giop.pml", "--goal", "nobody == 1"],
            "nobody",
        ),
        (
            &["directed", TINY, "--deadlock", "end-states"],
            "the states where they may end",
        ),
    ] {
        let run = lab(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
    }
}
