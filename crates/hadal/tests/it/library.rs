//! The library without its program: loading, checking, resuming, records.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{RESULTS, hadal, root};
use hadal::language::{
    Language, LanguageOption, LanguageOptions, Murphi, OptionValue, Problems, Translation,
};
use hadal::model::{Machine, MachineModel, MeasureKind, Model, Stop};
use hadal::search::{Auto, EdgesWanted, NewEdges, NewStates, Sink};
use hadal::syntax::{Source, Sources};
use hadal::{
    Check, Deadlock, Disk, Engine, Error, LoadedModel, ModelSource, SavedRun, Symmetry, Verdict,
};
use serde_json::Value;
use tempfile::TempDir;

fn counters(n: u32) -> LoadedModel {
    let text = "const N: 3; var x: 0..N; y: 0..N; startstate x := 0; y := 0; end;
        rule \"x\" x := (x + 1) % (N + 1); end; rule \"y\" y := (y + 1) % (N + 1); end;
        invariant \"low\" x + y < 5;";
    let source = ModelSource::text("counters.m", text, "murphi").expect("a language");
    source.constant("N", n).load().expect("the model is right")
}

/// A place for a run, on a disk.
fn folder() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir_in(root().join("target")).expect("a folder can be made");
    let path = parent.path().join("run");
    (parent, path)
}

/// A run whose process ends before its result is delivered.
fn undelivered(check: Check<'_>) {
    let checked = check.run().expect("an outcome");
    assert!(checked.resumable().is_some());
}

#[test]
fn the_record_is_that_of_the_program() {
    for (model, code) in [("models/peterson.m", 0), ("models/lost_update.m", 1)] {
        let run = hadal(&["check", model, "--json", "-"]);
        assert_eq!(run.code, code, "{}", run.stderr);
        let source = ModelSource::file(root().join(model)).expect("it is there");
        let loaded = source.load().expect("it is right");
        let checked = Check::new(&loaded).run().expect("an outcome");
        let record = serde_json::to_value(checked.record()).expect("it is JSON");
        crate::common::schema::hold(&record);
        for name in RESULTS.into_iter().filter(|name| *name != "model") {
            let strip = |value: &Value| value.to_string().replace(root().to_str().unwrap(), "");
            let (ours, theirs) = (strip(&record[name]), strip(&run.record()[name]));
            assert_eq!(ours.replace("\"/models", "\"models"), theirs, "{name}");
        }
    }
}

#[test]
fn diagnostics_are_data() {
    let source = ModelSource::text("bad.m", "var x: 0..y; z: 0..y;", "murphi").expect("a text");
    let Err(Error::Rejected(rejection)) = source.load() else {
        panic!("`y` is not declared");
    };
    let places = rejection.diagnostics.iter().map(|it| it.span().start);
    let places: Vec<String> = places.map(|at| rejection.sources.describe(at)).collect();
    assert!(places.contains(&"bad.m:1:11".to_owned()), "{places:?}");
    assert!(rejection.to_string().contains("bad.m:1:11"), "{rejection}");
    for (source, what) in [
        (source.clone().dialect("latin"), "dialect `latin`"),
        (
            source.clone().constant("N", 1).constant("N", 2),
            "set twice",
        ),
    ] {
        let error = source.load().expect_err("it is refused").to_string();
        assert!(error.contains(what), "{error}");
    }
    let error = ModelSource::text("a", "", "latin").expect_err("it is refused");
    assert!(error.to_string().contains("murphi"), "{error}");
}

#[test]
fn engine_symmetry_and_threads_change_no_verdict() {
    let path = root().join("models/lost_update.m");
    for engine in [Engine::Native, Engine::Interpreter] {
        for symmetry in [Symmetry::Full, Symmetry::Off] {
            let source = ModelSource::file(&path).expect("it is there");
            let model = source.engine(engine).symmetry(symmetry).load();
            let model = model.expect("it is right");
            let checked = Check::new(&model).threads(1).run().expect("an outcome");
            assert_eq!(checked.outcome.verdict.name(), "violated");
            let found = checked.violations();
            let n_steps = found[0].trace.map(|trace| trace.n_steps());
            assert_eq!(n_steps, Some(found[0].violation.depth as usize + 1));
        }
    }
}

#[test]
fn a_run_is_resumed_from_its_folder_alone() {
    let (_parent, path) = folder();
    let model = counters(9);
    let whole = Check::new(&model).max_errors(9).run();
    let whole = whole.expect("an outcome").outcome;
    undelivered(Check::new(&model).max_errors(9).disk(&path));
    drop(model);

    let run = SavedRun::open(&path).expect("there is a run");
    assert!(!run.is_finished());
    let model = run.source().expect("the texts are kept").load();
    let model = model.expect("it was right before");
    assert_eq!(model.constants[0].1, "9");
    let check = Check::new(&model)
        .resume(run)
        .expect("it is the same model");
    let checked = check.run().expect("an outcome");
    assert!(checked.is_resumed());
    assert_eq!(checked.outcome.layers, whole.layers);
    assert_eq!(checked.search_options().max_errors, 9);
    checked.finish().expect("the folder can be written");
    drop(checked);
    let run = SavedRun::open(&path).expect("there is a run");
    let error = Check::new(&model).resume(run).expect_err("it is finished");
    assert!(matches!(error, Error::Finished(_)), "{error}");
}

#[test]
fn a_resumed_run_keeps_its_question() {
    let (_parent, path) = folder();
    let (model, other) = (counters(9), counters(8));
    undelivered(Check::new(&model).disk(&path));
    let open = || SavedRun::open(&path).expect("there is a run");
    let resume = |model| Check::new(model).resume(open()).expect("unfinished");
    let error = resume(&other).run().expect_err("another model");
    assert!(matches!(error, Error::OtherModel(_)), "{error}");
    let error = resume(&model).bound(3).run().expect_err("other options");
    assert!(matches!(error, Error::OtherOptions(_)), "{error}");
    let error = Check::new(&model).disk(&path).run().expect_err("in use");
    assert!(error.to_string().contains("unfinished run"), "{error}");
}

#[test]
fn a_model_without_text_is_resumed() {
    let (_parent, path) = folder();
    let model = counters(9).model;
    undelivered(Check::of(&*model).disk(&path));
    let run = SavedRun::open(&path).expect("there is a run");
    assert!(matches!(run.source(), Err(Error::NoText(_))));
    let check = Check::of(&*model).resume(run).expect("the same shape");
    let checked = check.max_errors(1).run().expect("an outcome");
    assert_eq!(checked.outcome.violations[0].depth, 5);
    let record = serde_json::to_value(checked.record()).expect("it is JSON");
    assert_eq!(
        (&record["language"], &record["dialect"]),
        (&"rust".into(), &"".into())
    );
}

/// Numbers below `n`, all of which are at most `most`.
struct Below {
    n: u32,
    most: u32,
    /// Whether a step takes a millisecond.
    is_slow: bool,
}

fn below(n: u32, most: u32) -> MachineModel<Below> {
    MachineModel::new(Below {
        n,
        most,
        is_slow: false,
    })
}

impl Machine for Below {
    type State = u32;
    const RULES: &'static [&'static str] = &["add 1", "double"];
    const INVARIANTS: &'static [&'static str] = &["low"];

    fn starts(&self) -> impl IntoIterator<Item = u32> {
        [0]
    }

    fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
        if self.is_slow {
            std::thread::sleep(Duration::from_millis(1));
        }
        [[x + 1, 2 * x][rule] % self.n]
    }

    fn holds(&self, _: usize, x: &u32) -> bool {
        *x <= self.most
    }
}

#[test]
fn a_rust_model_with_another_parameter_is_not_resumed() {
    let (_parent, path) = folder();
    let model = below(300_000, 300_000);
    undelivered(Check::of(&model).identity("a").disk(&path));
    let resume = |model: &dyn Model, identity: &str| {
        let run = SavedRun::open(&path).expect("there is a run");
        let check = Check::of(model).identity(identity);
        let outcome = check.resume(run).expect("unfinished").run()?.outcome;
        Ok::<_, Error>((outcome.verdict, outcome.states))
    };
    for (other, identity) in [
        (below(400_000, 300_000), "a"),
        (below(300_000, 9), "a"),
        (below(300_000, 300_000), "b"),
    ] {
        let error = resume(&other, identity).expect_err("another model");
        assert!(matches!(error, Error::OtherModel(_)), "{error}");
    }
    let again = resume(&below(300_000, 300_000), "a");
    assert_eq!(again.expect("the same"), (Verdict::Verified, 300_000));
}

/// Numbers below 100,000, with an estimate that nothing else depends on.
struct Aimed(u32);

impl Machine for Aimed {
    type State = u32;
    const RULES: &'static [&'static str] = &["add 1", "double"];
    const MEASURES: &'static [MeasureKind] = &[MeasureKind::Estimate {
        is_admissible: false,
    }];

    fn starts(&self) -> impl IntoIterator<Item = u32> {
        [0]
    }

    fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
        [[x + 1, 2 * x][rule] % 100_000]
    }

    fn estimate(&self, x: &u32) -> u32 {
        self.0.abs_diff(*x)
    }
}

#[test]
fn a_rust_model_with_another_estimate_is_not_resumed() {
    let (_parent, path) = folder();
    let model = |aim| MachineModel::new(Aimed(aim));
    undelivered(Check::of(&model(7)).disk(&path));
    let resume = |model: &dyn Model| {
        let run = SavedRun::open(&path).expect("there is a run");
        let outcome = Check::of(model).resume(run).expect("unfinished").run()?;
        Ok::<_, Error>(outcome.outcome.states)
    };
    let error = resume(&model(8)).expect_err("another model");
    assert!(matches!(error, Error::OtherModel(_)), "{error}");
    assert_eq!(resume(&model(7)).expect("the same"), 100_000);
}

#[test]
fn a_rust_model_that_is_not_known_yet_is_not_resumed() {
    let (_parent, path) = folder();
    undelivered(Check::of(&below(100, 100)).disk(&path));
    let slow = MachineModel::new(Below {
        n: 100,
        most: 100,
        is_slow: true,
    });
    let stop = Stop::new();
    stop.raise();
    let run = SavedRun::open(&path).expect("there is a run");
    let check = Check::of(&slow).stop(&stop).resume(run);
    let error = check.expect("unfinished").run().expect_err("stopped");
    assert!(matches!(error, Error::Stopped), "{error}");
    let (_parent, path) = folder();
    let checked = Check::of(&slow).stop(&stop).disk(&path).run();
    assert_eq!(checked.expect("an outcome").resumable(), None);
}

#[test]
fn a_rust_model_has_the_name_it_is_given() {
    let model = below(10, 10);
    let checked = Check::of(&model).name("below").run().expect("an outcome");
    let record = serde_json::to_value(checked.record()).expect("it is JSON");
    crate::common::schema::hold(&record);
    assert_eq!(record["model"], "below");
}

/// Counts what it receives.
#[derive(Default)]
struct Counts {
    states: u64,
    edges: u64,
}

impl Sink for Counts {
    fn wants_edges(&self) -> EdgesWanted {
        EdgesWanted::WithKeys
    }

    fn states(&mut self, new: &NewStates<'_>) -> std::io::Result<()> {
        assert_eq!(new.first, self.states);
        self.states += new.states.len() as u64;
        Ok(())
    }

    fn edges(&mut self, edges: &NewEdges<'_>) -> std::io::Result<()> {
        self.edges += edges.len() as u64;
        Ok(())
    }
}

#[test]
fn a_sink_receives_every_state_and_edge() {
    let model = counters(2);
    let (mut sink, mut n_calls) = (Counts::default(), 0);
    let mut observer = |_: &hadal::search::Progress| n_calls += 1;
    let check = Check::new(&model).sink(&mut sink).observer(&mut observer);
    let outcome = check.run().expect("an outcome").outcome;
    assert_eq!((outcome.states, outcome.transitions), (9, 18));
    assert_eq!((sink.states, sink.edges), (9, 18));
    assert!(n_calls > 0);
    let mut sink = Counts::default();
    let check = Check::new(&model).strategy(&Auto).sink(&mut sink);
    assert!(matches!(check.run(), Err(Error::Invalid(_))));
}

#[test]
fn checks_run_side_by_side() {
    let (small, large) = (counters(2), counters(40));
    std::thread::scope(|scope| {
        let checks = [&small, &large].map(|model| {
            scope.spawn(move || {
                let check = Check::new(model).disk_use(Disk::Scratch).max_errors(5);
                check.run().expect("an outcome").outcome.states
            })
        });
        let states = checks.map(|check| check.join().expect("no panic"));
        assert_eq!(states, [9, 41 * 41]);
    });
}

#[test]
fn a_prepared_check_keeps_its_observer() {
    let model = counters(9);
    let mut n_calls = 0;
    let mut observer = |_: &hadal::search::Progress| n_calls += 1;
    let check = Check::new(&model).observer(&mut observer);
    let prepared = check.prepare().expect("it can start");
    drop(prepared.run().expect("an outcome"));
    assert!(n_calls > 0);
}

/// The most that the process ever held is no reason to refuse a budget.
#[test]
fn a_small_check_may_follow_a_large_one() {
    let large = vec![1u8; 400 << 20];
    drop(std::hint::black_box(large));
    let model = counters(9);
    let checked = Check::new(&model).memory(300 << 20).run();
    let checked = checked.expect("an outcome");
    assert!(checked.peak_bytes > 400 << 20);
}

/// A language from outside: a number, up to which a counter counts.
#[derive(Debug)]
struct Count;

impl Language for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn title(&self) -> &'static str {
        "Count"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["count"]
    }

    fn options(&self) -> &'static [LanguageOption] {
        &[LanguageOption {
            name: "by",
            short: Some('b'),
            value: OptionValue::Number,
            is_repeatable: false,
            is_hidden: false,
            help: "The step",
        }]
    }

    fn default_deadlock(&self) -> Deadlock {
        Deadlock::Off
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &hadal::model::Stop,
    ) -> Result<Translation, Problems> {
        let (most, by) = (sources.root().text(), options.get("by").unwrap_or("1"));
        let text = format!(
            "var x: 0..{most}; startstate x := 0; end;
             rule x + {by} <= {most} ==> x := x + {by}; end;"
        );
        let source = Source::new(sources.root().name(), text).expect("it is short");
        Murphi.translate(&mut Sources::new(source), &LanguageOptions::default(), stop)
    }
}

#[test]
fn a_language_from_outside_is_loaded_and_resumed() {
    let (_parent, path) = folder();
    let text = Source::new("nine.count", "9").expect("it is short");
    let source = ModelSource::new(Sources::new(text), &Count);
    let model = source.clone().option("by", 3).load().expect("it is right");
    // The last state is no deadlock in this language.
    let outcome = Check::new(&model).run().expect("an outcome").outcome;
    assert_eq!((outcome.verdict, outcome.states), (Verdict::Verified, 4));
    undelivered(Check::new(&model).disk(&path));

    let run = SavedRun::open(&path).expect("there is a run");
    assert!(matches!(run.source(), Err(Error::NoLanguage { .. })));
    let model = run.source_in(&[&Count]).expect("the text is kept").load();
    let model = model.expect("it was right before");
    let check = Check::new(&model).resume(run).expect("unfinished");
    assert_eq!(check.run().expect("an outcome").outcome.states, 4);

    let unknown = source.clone().dialect("rumur").load();
    let error = unknown.expect_err("it has no dialects").to_string();
    assert!(error.contains("Count has no option `dialect`"), "{error}");
    assert!(source.option("by", "two").load().is_err());
}

#[test]
fn the_library_does_not_depend_on_the_program() {
    let tree = |flags: &[&str]| {
        let output = std::process::Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "-p",
                "hadal",
                "-e",
                "normal",
                "--prefix",
                "none",
            ])
            .args(flags)
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("it is text")
    };
    let needs = |tree: &str, name: &str| {
        tree.lines()
            .any(|line| line.split(' ').next() == Some(name))
    };
    let (program, library) = (tree(&[]), tree(&["--no-default-features"]));
    assert!(needs(&library, "hadal-search"));
    for name in [
        "hadal-literature",
        "plotters",
        "clap",
        "indicatif",
        "signal-hook",
    ] {
        assert!(needs(&program, name), "{name}");
        assert!(!needs(&library, name), "{name}");
    }
}
