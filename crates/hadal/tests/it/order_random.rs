//! Random models rich in loops over interchangeable elements: with symmetry they get the verdict
//! they get without, or none.

use std::collections::BTreeMap;

use hadal_ir::interp::{Interpreter, Item, Limits, OrderChecks};
use hadal_ir::{Frame, Local, LocalId, LocalKind, Program, Type};
use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{Error, Options, Outcome, Silent, Verdict, ViolationKind};
use hadal_symmetry::Symmetric;
use hadal_symmetry::order::Order;
use hadal_syntax::{Renderer, Source};
use hadal_testkit::equivariance::{Equivariance, equivariance};
use hadal_testkit::loops::model_from_seed;
use hadal_testkit::oracle;

/// Larger models are skipped: brute force is slow on purpose.
const MAX_STATES: usize = 5000;

/// What a run says about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Judgement {
    /// Everything holds.
    Verified,
    /// Something does not.
    Violated {
        /// Depth of the first violation of safety; `None` for an unreached goal.
        depth: Option<usize>,
    },
    /// The model is refused before the search.
    Refused(String),
    /// The search found that the reduction is not sound.
    Rejected(String),
    /// The search ended with an error of ours.
    Failed(String),
    /// There are too many states.
    GaveUp,
    /// The text is not a model.
    Unloadable(String),
}

/// What a run says, and on what grounds.
struct Judged {
    judgement: Judgement,
    /// How it was established that elements are treated alike; a row of the table.
    basis: &'static str,
}

/// Judges a model: with symmetry by the search, without by brute force.
fn judge(text: &str, symmetric: bool) -> Judged {
    let judged = |judgement, basis| Judged { judgement, basis };
    let (program, symmetry_breaks) = match load(text) {
        Ok(loaded) => loaded,
        Err(message) => return judged(Judgement::Unloadable(message), "none"),
    };
    let model = Interpreter::new(program.clone(), Limits::default());
    if !symmetric {
        return judged(judge_by_brute_force(&model), "none");
    }
    if let Some(first) = symmetry_breaks.first() {
        return judged(Judgement::Refused(first.clone()), "none");
    }
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let order = Order::of(&model);
    let symmetric = match Symmetric::new(&model, &program, Limits::default(), &order) {
        Ok(symmetric) => symmetric,
        Err(rejections) => {
            return judged(Judgement::Refused(rejections[0].message.clone()), "none");
        }
    };
    let basis = match order.checks.loops.is_empty() {
        true => "proved",
        false => "checked",
    };
    let judgement = match hadal_search::check(
        &symmetric,
        &hadal_search::Auto,
        &options,
        None,
        &Stop::new(),
        &mut Silent,
    ) {
        Ok(outcome) => judge_outcome(&outcome),
        Err(error @ Error::AsymmetricStarts { .. }) => Judgement::Rejected(error.to_string()),
        Err(error @ Error::NoStartstate) => Judgement::Unloadable(error.to_string()),
        Err(error) => Judgement::Failed(error.to_string()),
    };
    judged(judgement, basis)
}

/// A program, and what in its text tells elements apart.
fn load(text: &str) -> Result<(Program, Vec<String>), String> {
    let source = Source::new("random.m", text).map_err(|error| error.to_string())?;
    let compiled = hadal_murphi::compile(&source, &hadal_murphi::Options::default());
    let Some(program) = compiled.program else {
        return Err(Renderer::plain().render_all(&source, &compiled.diagnostics));
    };
    if let Err(errors) = hadal_ir::verify::verify(&program) {
        return Err(format!("malformed: {errors:?}"));
    }
    let breaks = compiled.symmetry_breaks.into_iter();
    Ok((program, breaks.map(|it| it.message).collect()))
}

fn judge_outcome(outcome: &Outcome) -> Judgement {
    let is_safety = |kind| !matches!(kind, ViolationKind::Cover | ViolationKind::Liveness);
    let mut violations = outcome.violations.iter();
    let least = violations.find(|violation| is_safety(violation.kind));
    match (outcome.verdict, least) {
        (Verdict::Verified, _) => Judgement::Verified,
        (Verdict::Incomplete, _) => Judgement::GaveUp,
        (Verdict::Rejected, least) => {
            let dependence = least.map(|it| format!("{}: {}", it.name, it.message));
            Judgement::Rejected(dependence.unwrap_or_default())
        }
        (Verdict::Violated, least) => Judgement::Violated {
            depth: least.map(|violation| violation.depth as usize),
        },
    }
}

fn judge_by_brute_force(model: &dyn Model) -> Judgement {
    let options = oracle::Options {
        max_states: MAX_STATES,
        ..oracle::Options::default()
    };
    let report = oracle::search(model, &options);
    if let Some(violation) = &report.violation {
        return Judgement::Violated {
            depth: Some(violation.depth),
        };
    }
    if report.gave_up {
        return Judgement::GaveUp;
    }
    if report.states.is_empty() {
        return Judgement::Unloadable(Error::NoStartstate.to_string());
    }
    let mut covers = (model.shape().goals.iter().zip(&report.goal_hits))
        .filter(|(goal, _)| goal.kind != GoalKind::Liveness);
    if covers.any(|(_, n_hits)| *n_hits == 0) || !report.unreachable_goals.is_empty() {
        return Judgement::Violated { depth: None };
    }
    Judgement::Verified
}

/// What became of a seed.
struct Seed {
    number: u64,
    innocent: bool,
    text: String,
    off: Judgement,
    full: Judged,
}

impl Seed {
    fn new(number: u64) -> Self {
        let model = model_from_seed(number);
        Seed {
            number,
            innocent: model.innocent,
            off: judge(&model.text, false).judgement,
            full: judge(&model.text, true),
            text: model.text,
        }
    }

    /// Whether elements are treated alike, by brute force.
    fn equivariance(&self) -> Equivariance {
        match load(&self.text) {
            Ok((program, _)) => equivariance(&program, 4 * MAX_STATES),
            Err(_) => Equivariance::GaveUp,
        }
    }

    /// Whether a reduction that tells elements apart went through.
    ///
    /// This relies on nothing that the analysis or the check of loops takes for granted, and finds
    /// a wrong reduction also where verdicts happen to agree.
    fn is_broken(&self) -> bool {
        self.full.judgement == Judgement::Verified
            && matches!(self.equivariance(), Equivariance::Broken(_))
    }

    /// Whether symmetry gives a verdict, and another one than brute force.
    fn differs(&self) -> bool {
        match (&self.full.judgement, &self.off) {
            (Judgement::Refused(_) | Judgement::Rejected(_), _) => false,
            (Judgement::Failed(_), _) => true,
            (_, Judgement::GaveUp) => false,
            (full, off) => full != off,
        }
    }

    fn is_turned_down(&self) -> bool {
        let full = &self.full.judgement;
        matches!(full, Judgement::Refused(_) | Judgement::Rejected(_))
    }

    /// The row of the table that the seed counts for.
    fn row(&self) -> &'static str {
        match (&self.full.judgement, &self.off) {
            (Judgement::Unloadable(_), _) | (_, Judgement::Unloadable(_)) => "not loaded",
            (Judgement::Failed(_), _) => "failed",
            (_, Judgement::GaveUp) | (Judgement::GaveUp, _) => "skipped, too many states",
            (Judgement::Refused(_), _) => "refused before the search",
            (Judgement::Rejected(_), _) => "rejected while searching",
            _ => self.full.basis,
        }
    }
}

/// Fails with everything about the first of some seeds.
#[track_caller]
fn assert_none(what: &str, seeds: &[Seed]) {
    if let Some(first) = seeds.first() {
        let numbers: Vec<u64> = seeds.iter().map(|seed| seed.number).collect();
        panic!(
            "{what}: seeds {numbers:?}; seed {}: {:?} without symmetry, {:?} with it\n{}",
            first.number, first.off, first.full.judgement, first.text
        );
    }
}

/// Nor is a model verified that tells elements apart, whether its loops are proved or checked.
#[test]
fn no_verdict_differs() {
    let seeds: Vec<Seed> = (0..300).map(Seed::new).collect();
    let is_verified = |seed: &&Seed| seed.full.judgement == Judgement::Verified;
    let n_verified = seeds.iter().filter(is_verified).count();
    assert!(n_verified > 60, "only {n_verified} are verified");
    let (broken, others): (Vec<Seed>, Vec<Seed>) = seeds.into_iter().partition(Seed::is_broken);
    assert_none("verified, yet elements are told apart", &broken);
    let wrong: Vec<Seed> = others.into_iter().filter(Seed::differs).collect();
    assert_none("another verdict", &wrong);
}

#[test]
fn innocent_models_are_judged() {
    let seeds = (300..600).map(Seed::new).filter(|seed| seed.innocent);
    let (turned_down, judged): (Vec<Seed>, Vec<Seed>) = seeds.partition(Seed::is_turned_down);
    assert!(judged.len() > 90, "only {} were judged", judged.len());
    let wrong: Vec<Seed> = judged.into_iter().filter(Seed::differs).collect();
    assert_none("another verdict", &wrong);
    if turned_down.len() * 20 > 100 {
        assert_none("more than 5 of 100 are turned down", &turned_down);
    }
}

/// The first loop that is proved independent of the order and is not, in some reachable state.
///
/// Two kinds of locals hold what no one reads again, and the check cannot tell: fields of records,
/// since it takes locals as a whole, and locals of callers that are reached by reference. They are
/// left to [`Seed::is_broken`].
fn wrong_proof(text: &str) -> Option<String> {
    let (program, _) = load(text).ok()?;
    let mut loops = Order::of(&Interpreter::new(program.clone(), Limits::default())).proved;
    loops.retain_mut(|proved| {
        let locals = &frame_of(&program, proved.item).locals;
        for (number, local) in locals.iter().enumerate() {
            if let LocalKind::Value(ty) = local.kind
                && matches!(program.types.get(ty), Type::Record { .. })
            {
                proved.private.push(LocalId::new(number));
            }
        }
        let is_reference = |local: &Local| matches!(local.kind, LocalKind::Ref(_));
        !locals.iter().any(is_reference)
    });
    let model = Interpreter::new(program, Limits::default());
    let options = oracle::Options {
        max_states: MAX_STATES,
        ..oracle::Options::default()
    };
    let stop = Stop::new();
    let proved = OrderChecks { loops };
    let mut checker = model.order_checker(&proved, &stop);
    for state in &oracle::search(&model, &options).states {
        let rules = checker.check_rules(state).expect("nobody stops it");
        let properties = checker
            .check_properties(state, |_| true)
            .expect("nobody stops it");
        let mut found = rules
            .into_iter()
            .chain(properties.into_iter().map(|it| it.1));
        if let Some(fault) = found.next() {
            return Some(format!("{} at {}: {}", fault.name, fault.at, fault.message));
        }
    }
    None
}

fn frame_of(program: &Program, item: Item) -> &Frame {
    match item {
        Item::Function(id) => &program.function(id).frame,
        Item::Rule(number) => &program.rules[number as usize].frame,
        Item::Start(number) => &program.starts[number as usize].frame,
        Item::Property(number) => &program.properties[number as usize].frame,
        Item::Measure(number) => &program.measures[number as usize].frame,
    }
}

/// Two ways to decide the order of a loop: what the analysis proves, the interpreter confirms in
/// every state.
#[test]
fn what_is_proved_is_so() {
    let mut n_loops = 0;
    for number in 600..1000 {
        let model = model_from_seed(number);
        let wrong = wrong_proof(&model.text);
        assert_eq!(wrong, None, "seed {number}\n{}", model.text);
        if let Ok((program, _)) = load(&model.text) {
            let interpreter = Interpreter::new(program, Limits::default());
            n_loops += Order::of(&interpreter).proved.len();
        }
    }
    assert!(n_loops > 1000, "only {n_loops} loops are proved");
}

/// The generator is worth its time: nearly all models load and are small, the innocent ones are so
/// by brute force, and many of the others are not.
#[test]
fn models_are_what_they_are_made_for() {
    let (mut n_innocent, mut n_wild, mut n_broken, mut n_violated, mut n_lost) = (0, 0, 0, 0, 0);
    for number in 0..300 {
        let model = model_from_seed(number);
        let program = match (load(&model.text), judge(&model.text, false).judgement) {
            (Ok((program, _)), Judgement::Verified) => program,
            (Ok((program, _)), Judgement::Violated { .. }) => {
                n_violated += 1;
                program
            }
            _ => {
                n_lost += 1;
                continue;
            }
        };
        let found = equivariance(&program, 4 * MAX_STATES);
        let is_broken = matches!(found, Equivariance::Broken(_));
        if model.innocent {
            assert!(!is_broken, "seed {number}: {found:?}\n{}", model.text);
            n_innocent += 1;
        } else {
            n_wild += 1;
            n_broken += u32::from(is_broken);
        }
    }
    assert!(n_lost <= 9, "{n_lost} of 300 cannot be used");
    assert!(n_innocent >= 80, "only {n_innocent} are innocent");
    assert!(n_broken * 2 > n_wild, "{n_broken} of {n_wild} depend");
    let share = 60..=180;
    assert!(share.contains(&n_violated), "{n_violated} are violated");
}

/// Many more seeds, with a table of what became of them and a list of all mistakes.
#[test]
#[ignore = "takes some minutes"]
fn no_verdict_differs_in_20000_models() {
    let mut table: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let (mut mistakes, mut turned_down, mut n_innocent) = (Vec::new(), Vec::new(), 0);
    for number in 0..20_000 {
        let seed = Seed::new(number);
        let class = usize::from(seed.innocent);
        n_innocent += class;
        let mut count = |row| table.entry(row).or_default()[class] += 1;
        count(seed.row());
        let found = seed.equivariance();
        let is_broken = matches!(found, Equivariance::Broken(_));
        let is_verified = seed.full.judgement == Judgement::Verified;
        let proof = wrong_proof(&seed.text);
        let wrong = [
            ("not innocent", seed.innocent && is_broken),
            ("verified, yet told apart", is_verified && is_broken),
            ("proved wrongly", proof.is_some()),
            ("another verdict", seed.differs()),
        ];
        for (what, _) in wrong.into_iter().filter(|(_, is_wrong)| *is_wrong) {
            count(what);
            mistakes.push(format!(
                "seed {number}: {what}: {:?} without symmetry, {:?} with it, {found:?}, {proof:?}\n\
                 {}",
                seed.off, seed.full.judgement, seed.text
            ));
        }
        if seed.is_turned_down() && !is_broken {
            count("turned down, yet symmetric");
        }
        if seed.innocent && seed.is_turned_down() {
            turned_down.push(seed);
        }
    }
    println!("{:30}{:>10}{:>10}", "", "all", "innocent");
    for (row, [wild, innocent]) in &table {
        println!("{row:30}{:>10}{innocent:>10}", wild + innocent);
    }
    for seed in &turned_down {
        println!(
            "seed {}: innocent, yet {:?}",
            seed.number, seed.full.judgement
        );
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
    if turned_down.len() * 20 > n_innocent {
        assert_none(
            "more than 5 % of the innocent are turned down",
            &turned_down,
        );
    }
}
