//! Models with steps of several firings through the library: a language for the text form of the
//! IR, its kinds of violations, its traces and records.

use crate::common::schema::hold;
use hadal::language::{Language, LanguageOptions, Problems, Translation};
use hadal::model::Stop;
use hadal::syntax::{Source, Sources};
use hadal::{Check, Deadlock, Engine, Error, LoadedModel, ModelSource, Style, TraceDetail};
use hadal_ir::text::parse;

/// The text form of the IR.
#[derive(Debug)]
struct Ir;

impl Language for Ir {
    // Records name the languages there are.
    fn name(&self) -> &'static str {
        "murphi"
    }

    fn title(&self) -> &'static str {
        "the IR"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ir"]
    }

    fn default_deadlock(&self) -> Deadlock {
        Deadlock::EndStates
    }

    fn translate(
        &self,
        sources: &mut Sources,
        _options: &LanguageOptions,
        _stop: &Stop,
    ) -> Result<Translation, Problems> {
        Ok(Translation {
            program: parse(sources.root().text()).expect("the text is well formed"),
            estimates: Vec::new(),
            warnings: Vec::new(),
            symmetry_breaks: Vec::new(),
            constants: Vec::new(),
            loop_limit: None,
            claims: Vec::new(),
            not_asked: Vec::new(),
            naming: None,
            statements: None,
            wider: None,
        })
    }
}

/// A counter that is raised twice in a step, with a register while it is odd. `error` is what
/// happens at 4, `end` where the model may end.
fn counter(error: &str, end: &str, engine: Engine) -> LoadedModel {
    let text = format!(
        "(program (file #0 \"counter.ir\") (arithmetic -128 127 wraps)
           (site @0 #0 1 1)
           (type t0 (total (range 0 15))) (type t1 (total (boolean 0 1)))
           (var v0 \"n\" t0) (var v1 \"busy\" t1) (registers 1)
           (expr e0 @0 (read v0)) (expr e1 @0 (read v1)) (expr e2 @0 (not e1))
           (expr e3 @0 (int 1)) (expr e4 @0 (add e0 e3)) (expr e5 @0 (int 6))
           (expr e6 @0 (lt e0 e5)) (expr e7 @0 (and e2 e6)) (expr e8 @0 (true))
           (expr e9 @0 (false)) (expr e10 @0 (int 4)) (expr e11 @0 (eq e0 e10))
           (expr e12 @0 (eq e0 e5)) (expr e13 @0 (eq e0 e3))
           (start \"zero\" @0 (params) (locals) (body))
           (rule \"first\" @0 (priority 0) (params) (locals) (prologue) (condition e7)
             (body (put @0 (text \"half\")) (if @0 (e11 {error}) (else))
               (assign @0 v0 e4) (assign @0 v1 e8)))
           (rule \"second\" @0 (priority 0) (params) (locals) (prologue) (condition e1)
             (body (assign @0 v0 e4) (assign @0 v1 e9)))
           {end})"
    );
    let source = Source::new("counter.ir", text).expect("it is short");
    let source = ModelSource::new(Sources::new(source), &Ir).engine(engine);
    source.load().expect("it is right")
}

const END: &str = "(property end \"end\" @0 (params) (locals) (prologue) (condition e12))";
const NO_END: &str = "(property end \"end\" @0 (params) (locals) (prologue) (condition e13))";

#[test]
fn a_valid_end_is_no_deadlock() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let model = counter("", END, engine);
        let outcome = Check::new(&model).run().expect("an outcome").outcome;
        assert_eq!(outcome.layers, [1, 1, 1, 1]);
        assert!(outcome.violations.is_empty());

        let model = counter("", NO_END, engine);
        let checked = Check::new(&model).run().expect("an outcome");
        let violations = checked.violations();
        assert_eq!(violations[0].violation.kind.name(), "deadlock");
        let trace = violations[0].trace.expect("there is a run");
        let text = trace.render(TraceDetail::Diff, Style::plain());
        let step = "  1  rule \"first\"
       - rule \"first\"
         put: half
       - rule \"second\"
       n: 0 → 2
";
        assert!(text.contains(step), "{text}");
        let record = serde_json::to_value(checked.record()).expect("a record is JSON");
        hold(&record);
        let steps = &record["violations"][0]["trace"][1]["steps"];
        assert_eq!(steps[0]["rule"], "first");
        assert_eq!(steps[0]["output"][0], "half");
        assert_eq!(steps[1]["rule"], "second");
        assert!(record["violations"][0]["trace"][0].get("steps").is_none());
    }
}

#[test]
fn a_model_without_ends_has_no_invalid_ones() {
    let model = counter("", "", Engine::Native);
    match Check::new(&model).run() {
        Err(Error::Invalid(message)) => assert!(message.contains("end-states"), "{message}"),
        _ => panic!("there are no ends"),
    }
    let stuck = Check::new(&model).deadlock(Deadlock::Stuck).run();
    assert_eq!(stuck.expect("an outcome").outcome.violations.len(), 1);
}

#[test]
fn errors_have_their_kinds() {
    for kind in [
        "claim",
        "bad-channel",
        "blocked-d_step",
        "process-limit",
        "channel-limit",
    ] {
        let error = format!("(error @0 {kind} \"it is wrong\")");
        let model = counter(&error, END, Engine::Native);
        let checked = Check::new(&model).run().expect("an outcome");
        let record = serde_json::to_value(checked.record()).expect("a record is JSON");
        hold(&record);
        assert_eq!(record["violations"][0]["kind"], kind);
        assert_eq!(record["violations"][0]["depth"], 2);
    }
    let spin = "(rule \"spin\" @0 (priority 0) (params) (locals) (prologue) (condition e1) (body))";
    let model = counter("", &format!("{END} {spin}"), Engine::Native);
    let checked = Check::new(&model).run().expect("an outcome");
    let record = serde_json::to_value(checked.record()).expect("a record is JSON");
    hold(&record);
    assert_eq!(record["violations"][0]["kind"], "atomic-cycle");
    let message = &record["violations"][0]["message"];
    assert!(message.to_string().contains("ends: spin, ..."), "{message}");
}

#[test]
fn a_search_continues_beyond_an_assertion_that_goes_on() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let model = counter("(assert @0 e9 \"not four\" goes-on)", END, engine);
        let outcome = Check::new(&model)
            .max_errors(9)
            .run()
            .expect("an outcome")
            .outcome;
        assert_eq!(outcome.layers, [1, 1, 1, 1]);
        let kinds: Vec<&str> = outcome.violations.iter().map(|it| it.kind.name()).collect();
        assert_eq!(kinds, ["assertion"]);
        assert_eq!(outcome.transitions, 3);
    }
}
