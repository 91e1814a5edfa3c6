//! States to look for, as text and from run records.

use std::collections::BTreeMap;
use std::path::Path;

use expect_test::{Expect, expect};
use hadal::language::{Language, LanguageOption, LanguageOptions, Problems, Translation};
use hadal::model::{Model, PAD_BYTES, Stop};
use hadal::syntax::Sources;
use hadal::{
    Check, Deadlock, Engine, LoadedModel, ModelSource, Symmetry, Target, TargetError,
    TargetProblem, TargetText, Verdict,
};
use hadal_ir::layout::Layout;
use hadal_ir::leaves::{Leaf, LeafStep};
use hadal_ir::{
    BinaryOp, Expr, Frame, Guard, Program, Property, PropertyKind, Site, Type, UnaryOp,
};
use hadal_testkit::{corpus, oracle};

use crate::common::{hadal, root};

fn translated(source: &ModelSource) -> Translation {
    let mut sources = source.sources.clone();
    let translation = source
        .language
        .translate(&mut sources, &source.options, &Stop::new());
    match translation {
        Ok(translation) => translation,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn resolved(translation: &Translation, text: &TargetText) -> Result<Target, TargetError> {
    text.resolve(&translation.program, translation.naming.as_deref())
}

fn loaded(source: &ModelSource) -> LoadedModel {
    let source = source.clone().symmetry(Symmetry::Off);
    let loaded = source.engine(Engine::Interpreter).load();
    loaded.expect("the model is right")
}

/// Some states of a model.
fn states(model: &dyn Model, most: usize) -> Vec<Vec<u8>> {
    let options = oracle::Options {
        deadlock: oracle::Deadlock::Off,
        max_states: most,
    };
    oracle::search(model, &options).states
}

/// What a state holds at a leaf.
fn stored(program: &Program, layout: &Layout, leaf: &Leaf, state: &[u8]) -> Option<i64> {
    let types = &program.types;
    let mut bytes = state.to_vec();
    bytes.resize(layout.state_len + PAD_BYTES, 0);
    let mut at = layout.var(leaf.var);
    let mut ty = program.var(leaf.var).ty;
    for step in &leaf.path {
        (at, ty) = match (*step, types.get(ty)) {
            (LeafStep::Field(field), Type::Record { fields }) => {
                let field = field as usize;
                (at + types.field_offset(ty, field), fields[field].ty)
            }
            (LeafStep::Index(value), Type::Array { index, element }) => {
                let lo = types.simple(*index).expect("an index is simple").lo;
                let stride = types.bits(*element) as usize;
                (at + (value - lo) as usize * stride, *element)
            }
            (step, ty) => panic!("{step:?} in {ty:?}"),
        };
    }
    types.leaf_value(&bytes, leaf.ty, at)
}

#[test]
fn states_of_all_models_are_read_back_as_they_are_described() {
    let (mut n_models, mut n_values, mut n_in_multisets) = (0, 0, 0);
    let mut unsupported = BTreeMap::<String, usize>::new();
    let files = corpus::model_files(&root().join("models"));
    for path in files.expect("the models are there") {
        let source = ModelSource::file(&path).expect("it can be read");
        let name = path.file_name().expect("it is a file").to_string_lossy();
        // Some are there to be rejected.
        let Ok(loaded) = source.clone().symmetry(Symmetry::Off).load() else {
            continue;
        };
        n_models += 1;
        let translation = translated(&source);
        let program = &translation.program;
        let layout = Layout::new(program);
        let is_whole = translation.naming.is_none();
        let all = states(&*loaded.model, 300);
        for state in all.iter().step_by(7) {
            let leaves = loaded.model.describe_state(state);
            let mut text = String::from("-- a state\n\n");
            for (leaf, value) in &leaves {
                let line = format!("{leaf} = {value}\n");
                let alone = TargetText::parse("t", &line, None).expect("it is a line");
                match resolved(&translation, &alone) {
                    Ok(_) => text += &line,
                    Err(TargetError {
                        problem: TargetProblem::Empty,
                        ..
                    }) => n_in_multisets += 1,
                    Err(TargetError {
                        problem: TargetProblem::Varies { .. },
                        ..
                    }) if !is_whole => *unsupported.entry(name.to_string()).or_default() += 1,
                    Err(error) => panic!("{name}: {line}: {error}"),
                }
            }
            let text = TargetText::parse("t", &text, None).expect("these are lines");
            let target = match resolved(&translation, &text) {
                Ok(target) => target,
                Err(error) => panic!("{name}: {error}"),
            };
            if is_whole {
                assert_eq!(target.leaves.len(), program.leaves().named.len(), "{name}");
            }
            for it in &target.leaves {
                let stored = stored(program, &layout, &it.leaf, state);
                assert_eq!(it.value, stored, "{name}: {}", it.name);
                n_values += 1;
            }
        }
    }
    assert!(n_values > 10_000, "{n_values}");
    assert!(n_models > 60 && n_in_multisets > 0, "{n_models}");
    // Those that start processes while they run.
    let models: Vec<&str> = unsupported.keys().map(String::as_str).collect();
    expect![[r#"
        bank_transfer.pml
        giop.pml
        philosophers.pml
        process_tree.pml
        rendezvous.pml
        ring_election.pml
        token_passing.pml
        two_phase_commit.pml
    "#]]
    .assert_eq(&format!("{}\n", models.join("\n")));
}

/// A language whose models assert that a state is never reached.
#[derive(Debug)]
struct Never(&'static dyn Language);

impl Language for Never {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn title(&self) -> &'static str {
        self.0.title()
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.0.extensions()
    }

    fn options(&self) -> &'static [LanguageOption] {
        self.0.options()
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems> {
        let mut translation = self.0.translate(sources, options, stop)?;
        let text = options.get("target").expect("there is a target");
        let text: TargetText = serde_json::from_str(text).expect("it is kept as JSON");
        let target = resolved(&translation, &text).expect("the model has such states");
        let program = &mut translation.program;
        let site = program.add_site(Site::NOWHERE);
        let equal = target.leaves.iter().map(|it| {
            let place = program.place_of(&it.leaf, site);
            let is_undefined = program.add_expr(Expr::IsUndefined(place.clone()), site);
            let Some(value) = it.value else {
                return is_undefined;
            };
            let read = program.add_expr(Expr::Read(place), site);
            let read = program.add_expr(Expr::Defined(read), site);
            let ty = program.types.simple(it.leaf.ty).expect("a leaf is simple");
            let value = match ty.kind {
                hadal_ir::SimpleKind::Boolean => Expr::Bool(value != 0),
                _ => Expr::Int(value),
            };
            let value = program.add_expr(value, site);
            let equal = program.add_expr(Expr::Binary(BinaryOp::Eq, read, value), site);
            let no = program.add_expr(Expr::Bool(false), site);
            program.add_expr(Expr::Cond(is_undefined, no, equal), site)
        });
        let equal = equal.collect();
        let all = program.add_expr(Expr::And(equal), site);
        let differs = program.add_expr(Expr::Unary(UnaryOp::Not, all), site);
        program.properties = vec![Property {
            kind: PropertyKind::Invariant,
            name: "target".to_owned(),
            params: Vec::new(),
            frame: Frame::default(),
            condition: Guard {
                prologue: Vec::new(),
                condition: Some(differs),
            },
            site,
        }];
        translation.claims.clear();
        Ok(translation)
    }
}

/// Places and values mean what they do to an engine: a search finds the state itself.
#[test]
fn a_state_that_is_looked_for_is_found() {
    for name in ["dekker.m", "traffic_lights.m", "lease.m", "peterson.pml"] {
        let source = ModelSource::file(root().join("models").join(name)).expect("it is there");
        let source = source.symmetry(Symmetry::Off);
        let all = states(&*loaded(&source).model, 2000);
        let language = source.language;
        for state in all.iter().step_by(all.len() / 4) {
            let leaves = loaded(&source).model.describe_state(state);
            let lines: Vec<String> = (leaves.iter())
                .map(|(name, value)| format!("{name} = {value}\n"))
                .collect();
            let text = TargetText::parse("t", &lines.concat(), None).expect("these are lines");
            let mut source = source.clone().target(&text).expect("it is a text");
            assert_eq!(source.target_text().expect("it is kept"), Some(text));
            let never: &'static Never = Box::leak(Box::new(Never(language)));
            source.language = never;
            let model = source.load().expect("the model is right");
            let checked = Check::new(&model).memory(256 << 20).deadlock(Deadlock::Off);
            let checked = checked.run().expect("it can be searched");
            assert_eq!(checked.outcome.verdict, Verdict::Violated, "{name}");
            let trace = checked.violations()[0].trace.expect("there is a run");
            // Of a bag there is nothing to compare.
            let compared = |mut leaves: Vec<(String, String)>| {
                leaves.retain(|(name, _)| !name.contains('{'));
                leaves
            };
            assert_eq!(compared(trace.last_state()), compared(leaves), "{name}");
        }
    }
}

const MODEL: &str = "
type Proc: scalarset(3); Mode: enum { idle, busy };
var mode: array [Proc] of Mode; n: 0..9; at: array [1..2] of record x: 0..3; on: boolean; end;
  owner: Proc; net: multiset [2] of record dst: Proc; end;
startstate for p: Proc do mode[p] := idle; end; n := 0; undefine at; undefine owner; end;
rule n < 9 ==> n := n + 1; end;
";

const PROMELA: &str = "
mtype = { red, green };
chan q = [2] of { byte, mtype }; chan to;
byte a[2]; mtype light = red;
proctype Client(byte id) { a[0] = id }
active [2] proctype Worker() { byte own = 1; wait: do :: q!own,green; to = q :: q?own,_ od }
init { run Client(1); run Client(2) }
";

/// What a target says about a model, or what is wrong with it.
#[track_caller]
fn check(text: &str, language: &str, targets: &[&str], expected: Expect) {
    let source = ModelSource::text("model", text, language).expect("it is short");
    let translation = translated(&source);
    let mut all = String::new();
    for target in targets {
        all += &format!("{target}\n");
        let text = TargetText::parse("t.txt", target, None);
        let target = text.and_then(|text| resolved(&translation, &text));
        match target {
            Err(error) => all += &format!("error: {error}\n"),
            Ok(target) => {
                let leaves = target.leaves.iter().map(|it| match it.value {
                    Some(value) => format!(" {}={value}", it.name),
                    None => format!(" {}=-", it.name),
                });
                all += &format!("->{}", leaves.collect::<String>());
                match target.left_out.is_empty() {
                    true => all += "\n",
                    false => all += &format!(", without {}\n", target.left_out.join(", ")),
                }
            }
        }
        all += "\n";
    }
    expected.assert_eq(&all);
}

#[test]
fn targets_of_murphi() {
    check(
        MODEL,
        "murphi",
        &[
            "n = 3",
            "\u{feff}-- half of it\n\n  mode[Proc_2] = busy\n// more\nat[1].x=0\n# and\nat[2].on = true",
            "owner is undefined\nn = undefined",
            "mode[*] = idle\nat[*].x = 1",
            "n = 1\nthe other 8 values are undefined",
            "everything is undefined",
            "n = 1\nnet{0}.dst = Proc_1",
            "net{0}.dst = Proc_1",
            "",
            "n",
            "n =",
            "= 3",
            "n: 0 → 1",
            "m = 1",
            "mode[Proc_4] = idle",
            "mode[Pro_1] = idle",
            "mode = idle",
            "node[*] = idle",
            "n = 10",
            "n = 03",
            "n = idle",
            "mode[Proc_1] = bsy",
            "owner = Proc_4",
            "at[1].on = 1",
            "n = 1\n\nn = 1",
            "mode[Proc_1] = idle\nmode[*] = idle",
            "{ nonsense",
            "{}",
        ],
        expect![[r#"
            n = 3
            -> n=3

            ﻿-- half of it

              mode[Proc_2] = busy
            // more
            at[1].x=0
            # and
            at[2].on = true
            -> mode[Proc_2]=1 at[1].x=0 at[2].on=1

            owner is undefined
            n = undefined
            -> n=- owner=-

            mode[*] = idle
            at[*].x = 1
            -> mode[Proc_1]=0 mode[Proc_2]=0 mode[Proc_3]=0 at[1].x=1 at[2].x=1

            n = 1
            the other 8 values are undefined
            -> mode[Proc_1]=- mode[Proc_2]=- mode[Proc_3]=- n=1 at[1].x=- at[1].on=- at[2].x=- at[2].on=- owner=-

            everything is undefined
            -> mode[Proc_1]=- mode[Proc_2]=- mode[Proc_3]=- n=- at[1].x=- at[1].on=- at[2].x=- at[2].on=- owner=-

            n = 1
            net{0}.dst = Proc_1
            -> n=1, without net{0}.dst

            net{0}.dst = Proc_1
            error: t.txt: no value is named that can be compared


            error: t.txt: no value is named that can be compared

            n
            error: t.txt:1: expected NAME = VALUE, found `n`

            n =
            error: t.txt:1: expected NAME = VALUE, found `n =`

            = 3
            error: t.txt:1: expected NAME = VALUE, found `= 3`

            n: 0 → 1
            error: t.txt:1: expected NAME = VALUE, found `n: 0 → 1`

            m = 1
            error: t.txt:1: the model has no `m`

            mode[Proc_4] = idle
            error: t.txt:1: the model has no `mode[Proc_4]`; did you mean `mode[Proc_1]`?

            mode[Pro_1] = idle
            error: t.txt:1: the model has no `mode[Pro_1]`; did you mean `mode[Proc_1]`?

            mode = idle
            error: t.txt:1: the model has no `mode`; did you mean `mode[Proc_1]`?

            node[*] = idle
            error: t.txt:1: the model has no `node[*]`

            n = 10
            error: t.txt:1: `n` cannot be `10`: it may be 0..9 or undefined

            n = 03
            error: t.txt:1: `n` cannot be `03`: it may be 0..9 or undefined

            n = idle
            error: t.txt:1: `n` cannot be `idle`: it may be 0..9 or undefined

            mode[Proc_1] = bsy
            error: t.txt:1: `mode[Proc_1]` cannot be `bsy`: it may be idle, busy or undefined

            owner = Proc_4
            error: t.txt:1: `owner` cannot be `Proc_4`: it may be Proc_1..Proc_3 or undefined

            at[1].on = 1
            error: t.txt:1: `at[1].on` cannot be `1`: it may be false, true or undefined

            n = 1

            n = 1
            error: t.txt:3: `n` is given twice, first in line 1

            mode[Proc_1] = idle
            mode[*] = idle
            error: t.txt:2: `mode[Proc_1]` is given twice, first in line 1

            { nonsense
            error: t.txt: this begins like a run record, but is not JSON: key must be a string at line 1 column 3

            {}
            error: t.txt: this is JSON, but no run record: it has no field `violations`

        "#]],
    );
}

#[test]
fn targets_of_promela() {
    check(
        PROMELA,
        "promela",
        &[
            "a[1] = 7\nlight = green",
            "Worker(0):own = 3\nWorker(1) = wait",
            "q = empty",
            "q = [1,red] [2,green]",
            "to = q",
            "to = 0",
            "q = [1,red] [2,green] [3,red]",
            "q = [1]",
            "q = [1,blue]",
            "q = 1",
            "light = blue",
            "Worker(2):own = 3",
            "Client(3):id = 1",
            "Worker(0):owm = 3",
            "a[2] = 1",
            "_control = 1",
            "q = empty\nq = empty",
        ],
        expect![[r#"
            a[1] = 7
            light = green
            -> a[1]=7 light=1

            Worker(0):own = 3
            Worker(1) = wait
            error: t.txt:2: `Worker(1)` cannot be `wait`: it may be -, line 6, line 6.1 or line 6.2

            q = empty
            -> _channels0[0].len=0

            q = [1,red] [2,green]
            -> _channels0[0].len=2 _channels0[0].messages[0].0=1 _channels0[0].messages[0].1=2 _channels0[0].messages[1].0=2 _channels0[0].messages[1].1=1

            to = q
            -> to=1

            to = 0
            -> to=0

            q = [1,red] [2,green] [3,red]
            error: t.txt:1: `q` cannot be `[1,red] [2,green] [3,red]`: it has room for 2 messages of 2 fields

            q = [1]
            error: t.txt:1: `q` cannot be `[1]`: it has room for 2 messages of 2 fields

            q = [1,blue]
            error: t.txt:1: `q` cannot be `blue`: it may be 0, green, red, 3, 4, 5, 6, 7, 8, 9, 10, 11 or 244 others

            q = 1
            error: t.txt:1: `q` cannot be `1`: messages are written `[1,2] [3,4]`, and `empty` if there are none

            light = blue
            error: t.txt:1: `light` cannot be `blue`: it may be 0, green, red, 3, 4, 5, 6, 7, 8, 9, 10, 11 or 244 others

            Worker(2):own = 3
            error: t.txt:1: the model has no `Worker(2):own`; did you mean `Worker(0):own`?

            Client(3):id = 1
            error: t.txt:1: `Client(3):id` cannot be compared: processes of the type `Client` are started while the model runs, and have another pid in each run

            Worker(0):owm = 3
            error: t.txt:1: the model has no `Worker(0):owm`; did you mean `Worker(0):own`?

            a[2] = 1
            error: t.txt:1: the model has no `a[2]`; did you mean `a[0]`?

            _control = 1
            error: t.txt:1: the model has no `_control`

            q = empty
            q = empty
            error: t.txt:2: `q` is given twice, first in line 1

        "#]],
    );
}

#[test]
fn records_end_in_a_state_to_look_for() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = |name: &str| {
        let path = folder.path().join(name);
        path.to_str().expect("the path is text").to_owned()
    };
    let (model, json) = (file("m.m"), file("r.json"));
    let text = format!("{MODEL} invariant n != 3; invariant n != 5;");
    std::fs::write(&model, text).expect("it is written");
    let flags = [
        "--max-errors",
        "2",
        "--symmetry",
        "off",
        "--progress",
        "none",
    ];
    let run = hadal(&[&["check", &model, "--json", &json], &flags[..]].concat());
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let translation = translated(&ModelSource::file(&model).expect("it is there"));
    let value = |name: &str| {
        let text = TargetText::read(name).map_err(|error| error.to_string())?;
        let target = resolved(&translation, &text).map_err(|error| error.to_string())?;
        assert_eq!(
            target.leaves.len(),
            translation.program.leaves().named.len()
        );
        let n = target.leaves.iter().find(|it| it.name == "n");
        Ok::<_, String>(n.expect("it is there").value)
    };
    assert_eq!(value(&json), Ok(Some(3)));
    assert_eq!(value(&format!("{json}#1")), Ok(Some(3)));
    assert_eq!(value(&format!("{json}#2")), Ok(Some(5)));
    let hash = file("r#2");
    std::fs::copy(&json, &hash).expect("it is copied");
    assert_eq!(value(&hash), Ok(Some(3)));
    let message = |name: &str| {
        let error = value(name).expect_err("it is refused");
        let folder = folder.path().to_str().expect("the path is text");
        error.replace(&format!("{folder}/"), "")
    };
    let mut all = String::new();
    for number in ["0", "3"] {
        all += &format!("{}\n", message(&format!("{json}#{number}")));
    }
    let written = |name: &str, text: &str| {
        let path = file(name);
        std::fs::write(&path, text).expect("it is written");
        path
    };
    let text = written("t.txt", "n = 1\n");
    all += &format!("{}\n", message(&format!("{text}#2")));
    all += &format!("{}\n", message(&file("none.txt")));
    let record = r#"{"model": "other.m", "language": "murphi", "violations": [VIOLATIONS]}"#;
    for (number, violations) in [
        "",
        r#"{"state": {}}"#,
        r#"{"kind": "claim"}"#,
        r#"{"state": {"m": "1"}}"#,
        r#"{"state": {"n": "1"}}"#,
        r#"{"state": {"n": 17}}"#,
    ]
    .iter()
    .enumerate()
    {
        let path = written(
            &format!("{number}.json"),
            &record.replace("VIOLATIONS", violations),
        );
        all += &format!("{}\n", message(&path));
    }
    let bytes = Path::new(&file("bytes")).to_owned();
    std::fs::write(&bytes, [0xff, 0xfe]).expect("it is written");
    all += &format!("{}\n", message(&file("bytes")));
    let promela = ModelSource::text("p.pml", PROMELA, "promela").expect("it is short");
    let refused = promela.target(&TargetText::read(&json).expect("it is a record"));
    let refused = refused.expect_err("it is of another language").to_string();
    all += &format!("{}\n", refused.rsplit_once('/').expect("a path").1);
    // Processes that are started while the model runs are left out of what a record says.
    let state = r#"{"state": {"a[0]": "1", "Client(3):id": "1", "Worker(0):own": "2"}}"#;
    let record = record
        .replace("VIOLATIONS", state)
        .replace("murphi", "promela");
    let text = TargetText::parse("r.json", &record, None).expect("it is a record");
    let source = ModelSource::text("p.pml", PROMELA, "promela").expect("it is short");
    let target = resolved(&translated(&source), &text).expect("the model has such states");
    assert_eq!(
        (target.leaves.len(), target.left_out),
        (2, vec!["Client(3):id".to_owned()])
    );
    expect![[r#"
        r.json: there is no violation 0: the run record has 2, counted from 1
        r.json: there is no violation 3: the run record has 2, counted from 1
        t.txt: a violation is chosen by `#2`, but this is no run record
        cannot read `none.txt`: No such file or directory (os error 2)
        0.json: the run record has no violation, so no state to look for
        1.json: violation 1 of the run record has no state
        2.json: this is JSON, but no run record: it has no field `state`
        3.json: the run record is of another model, `other.m`: the model has no `m`
        4.json: the run record is of another model, `other.m`: its state has no `mode[Proc_1]`
        5.json: `n` cannot be `17`: it may be 0..9 or undefined
        bytes: this is no text: a target has lines NAME = VALUE, or is a run record
        r.json: the run record is of a model in the language murphi; this one is in promela
    "#]]
    .assert_eq(&all);
}
