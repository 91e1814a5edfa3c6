//! `--memory` holds: whatever the shape of the state space, the width of states and the number of
//! threads, the process keeps to its budget, or the check is refused before the first state.
//!
//! The models are made here by their shape. How many states they have is known, so a search that
//! ends is right, too.

mod common;

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{PAPERS, Run, check_text};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What the system's own figure may exceed a budget by.
const TOLERANCE: u64 = 16 << 20;

/// The shape of a state space.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Every state has `arity` successors of its own, `depth` times: each layer lies in a stretch of
    /// the key space where none was before.
    Tree { arity: u64, depth: u32 },
    /// One state after the other.
    Chain { len: u64 },
    /// One state with `width` successors, each of which has `width` more.
    Fan { width: u64 },
    /// A clock as first variable, and a number that takes twice as many values with each tick.
    Clock { ticks: u32 },
    /// `dimensions` counters modulo `len`.
    Grid { dimensions: u32, len: u64 },
    /// `n` startstates, each with a successor.
    Starts { n: u64 },
}

/// What of a wide state changes with each step.
#[derive(Clone, Copy, Debug)]
enum Padding {
    /// A byte here and there.
    Few,
    /// Every byte, so that neighbours have nothing in common.
    All,
}

/// A model, and how it is checked.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: Shape,
    /// Bytes of a state beside those that its shape needs. They are a function of these, so the
    /// number of states is the same.
    width: u64,
    padding: Padding,
    threads: u64,
    /// In MiB.
    budget: u64,
    strategy: &'static str,
}

impl Shape {
    fn n_states(self) -> u64 {
        match self {
            Shape::Tree { arity, depth } => (0..=depth).map(|depth| arity.pow(depth)).sum(),
            Shape::Chain { len } => len,
            Shape::Fan { width } => 1 + width + width * width,
            Shape::Clock { ticks } => (1 << (ticks + 1)) - 1,
            Shape::Grid { dimensions, len } => len.pow(dimensions),
            Shape::Starts { n } => 2 * n,
        }
    }

    /// Declarations of variables.
    fn variables(self) -> String {
        match self {
            Shape::Tree { arity, depth } => format!(
                "d: 0..{depth}; p: array [0..{}] of 0..{};",
                depth - 1,
                arity - 1
            ),
            Shape::Chain { len } => format!("x: 0..{};", len - 1),
            Shape::Fan { width } => format!("a: 0..{width}; b: 0..{width}; d: 0..2;"),
            Shape::Clock { ticks } => format!("t: 0..{ticks}; x: 0..{};", (1_u64 << ticks) - 1),
            Shape::Grid { dimensions, len } => {
                format!("a: array [1..{dimensions}] of 0..{};", len - 1)
            }
            Shape::Starts { n } => format!("x: 0..{}; y: 0..1;", n - 1),
        }
    }

    /// Startstates and rules; `pad` is a call with what a state is known by.
    fn rules(self) -> String {
        match self {
            Shape::Tree { arity, depth } => format!(
                "startstate d := 0; for i: 0..{0} do p[i] := 0; end; pad(0); end;
                 ruleset c: 0..{1} do rule d < {depth} ==>
                   p[d] := c; d := d + 1; pad(d * {arity} + c);
                 end; end;",
                depth - 1,
                arity - 1,
            ),
            Shape::Chain { len } => format!(
                "startstate x := 0; pad(0); end;
                 rule x < {} ==> x := x + 1; pad(x); end;",
                len - 1
            ),
            Shape::Fan { width } => format!(
                "startstate a := 0; b := 0; d := 0; pad(0); end;
                 ruleset i: 1..{width} do
                   rule d = 0 ==> a := i; d := 1; pad(a); end;
                   rule d = 1 ==> b := i; d := 2; pad(a + b); end;
                 end;"
            ),
            Shape::Clock { ticks } => format!(
                "startstate t := 0; x := 0; pad(0); end;
                 ruleset b: 0..1 do
                   rule t < {ticks} ==> x := 2 * x + b; t := t + 1; pad(x); end;
                 end;"
            ),
            Shape::Grid { dimensions, len } => format!(
                "startstate for i: 1..{dimensions} do a[i] := 0; end; pad(0); end;
                 ruleset i: 1..{dimensions} do rule
                   a[i] := (a[i] + 1) % {len}; pad(a[1] + a[{dimensions}]);
                 end; end;"
            ),
            Shape::Starts { n } => format!(
                "ruleset i: 0..{} do startstate x := i; y := 0; pad(i); end; end;
                 rule y = 0 ==> y := 1; end;",
                n - 1
            ),
        }
    }

    /// Any shape, with some hundred to some million states.
    fn random(rng: &mut Pcg64Mcg) -> Self {
        let n_states = 10_f64.powf(rng.random_range(2.0..6.7));
        let root = |degree: f64| n_states.powf(1.0 / degree) as u64;
        match rng.random_range(0..6) {
            0 => {
                let arity = rng.random_range(2..=16);
                let depth = (n_states.ln() / (arity as f64).ln()) as u32;
                Shape::Tree {
                    arity,
                    depth: depth.max(1),
                }
            }
            // Long ones take their time, whatever the memory.
            1 => Shape::Chain {
                len: (n_states as u64).min(200_000),
            },
            2 => Shape::Fan { width: root(2.0) },
            3 => Shape::Clock {
                ticks: (n_states.log2() as u32).max(1),
            },
            4 => {
                let dimensions = rng.random_range(2..=6);
                Shape::Grid {
                    dimensions,
                    len: root(f64::from(dimensions)).max(2),
                }
            }
            _ => Shape::Starts {
                n: n_states as u64 / 2,
            },
        }
    }
}

impl Case {
    /// A narrow model, two threads, 32 MiB.
    fn of(shape: Shape) -> Self {
        Case {
            shape,
            width: 0,
            padding: Padding::Few,
            threads: 2,
            budget: 32,
            strategy: "auto",
        }
    }

    fn text(&self) -> String {
        let (width, mut text) = (self.width, String::new());
        let variables = self.shape.variables();
        let _ = write!(text, "var {variables} ");
        let body = match (width, self.padding) {
            (0, _) => String::new(),
            (_, Padding::Few) => format!(
                "for i: 0..{0} do w[i] := 0; end; w[n % {width}] := n % 250; w[0] := n % 254;",
                width - 1
            ),
            (_, Padding::All) => {
                format!(
                    "for i: 0..{} do w[i] := (n * 7 + i * (n % 13)) % 251; end;",
                    width - 1
                )
            }
        };
        if width > 0 {
            let _ = write!(text, "w: array [0..{}] of 0..255; ", width - 1);
        }
        let _ = write!(text, "procedure pad(n: 0..1000000000); begin {body} end; ");
        text + &self.shape.rules()
    }

    /// Runs it, with some `more` flags.
    fn run(&self, more: &[&str]) -> Run {
        let (memory, threads) = (format!("{}M", self.budget), self.threads.to_string());
        let mut flags = vec!["--memory", &memory, "--json", "-"];
        // The others have one.
        if self.strategy == "auto" {
            flags.extend(["--threads", &threads]);
        }
        flags.extend(["--deadlock", "off", "--progress", "none"]);
        flags.extend(["--strategy", self.strategy]);
        flags.extend(more);
        check_text(self.text(), &flags)
    }

    /// By how much a run of it exceeded the budget, in bytes; `None` if the check was refused.
    #[track_caller]
    fn excess(&self, run: &Run) -> Option<i64> {
        let is_refused = match run.code {
            2 => run.stderr.contains("MiB is too small "),
            // Loading is inside the time limit.
            3 => run.stderr.contains("before the model was loaded"),
            _ => false,
        };
        if is_refused {
            return None;
        }
        assert!([0, 3].contains(&run.code), "{self:?}: {}", run.stderr);
        let record = run.record();
        let states = record["states"].as_u64().expect("a number");
        match run.code {
            // A strategy that forgets counts distinct states only where there is memory for it.
            _ if record["states_exact"] == false => {}
            0 => assert_eq!(states, self.shape.n_states(), "{self:?}"),
            _ => assert!(states <= self.shape.n_states(), "{self:?}"),
        }
        let peak = record["memory"]["peak_bytes"].as_u64().expect("a number");
        Some(peak as i64 - (self.budget << 20) as i64)
    }

    /// It ends, within the budget. Returns the bytes that it wrote to disk.
    #[track_caller]
    fn assert_held(&self) -> u64 {
        let run = self.run(&[]);
        let excess = self.excess(&run).expect("there is room");
        assert!(excess <= TOLERANCE as i64, "{self:?}: {excess} bytes");
        assert_eq!(run.code, 0, "{self:?}: {}", run.stderr);
        let record = run.record();
        record["disk"]["written_bytes"].as_u64().unwrap_or(0)
    }

    /// It ends within the budget, and memory alone did not suffice.
    #[track_caller]
    fn assert_held_on_disk(&self) {
        let written = self.assert_held();
        assert!(written > 1 << 20, "{self:?}: {written} bytes on disk");
    }
}

#[test]
fn layers_in_new_stretches_of_the_key_space_keep_to_the_budget() {
    Case::of(Shape::Tree { arity: 8, depth: 7 }).assert_held_on_disk();
    Case::of(Shape::Tree {
        arity: 2,
        depth: 20,
    })
    .assert_held_on_disk();
    Case::of(Shape::Clock { ticks: 20 }).assert_held_on_disk();
}

#[test]
fn many_startstates_and_successors_keep_to_the_budget() {
    Case::of(Shape::Starts { n: 1_500_000 }).assert_held_on_disk();
    Case::of(Shape::Fan { width: 1_500 }).assert_held_on_disk();
}

#[test]
fn wide_states_keep_to_the_budget() {
    for (width, n) in [
        (300, 100_000),
        (1_000, 40_000),
        (8_000, 5_000),
        (30_000, 1_500),
    ] {
        for padding in [Padding::Few, Padding::All] {
            let case = Case {
                width,
                padding,
                ..Case::of(Shape::Starts { n })
            };
            case.assert_held();
        }
    }
}

/// They need about the budget, so what the process holds before decides.
#[test]
fn states_of_100_kilobytes_keep_to_the_budget_or_are_refused() {
    for (budget, padding) in [(32, Padding::Few), (32, Padding::All), (64, Padding::All)] {
        let case = Case {
            width: 100_000,
            padding,
            budget,
            ..Case::of(Shape::Starts { n: 200 })
        };
        let run = case.run(&[]);
        let excess = case.excess(&run);
        assert!(
            excess <= Some(TOLERANCE as i64),
            "{case:?}: {excess:?} bytes"
        );
        assert_eq!(run.code == 2, excess.is_none(), "{case:?}: {}", run.stderr);
    }
}

#[test]
fn many_threads_keep_to_the_budget() {
    for (threads, budget) in [(8, 32), (16, 32), (64, 32), (64, 128)] {
        let case = Case {
            threads,
            budget,
            ..Case::of(Shape::Grid {
                dimensions: 4,
                len: 36,
            })
        };
        case.assert_held();
    }
}

#[test]
fn states_too_wide_for_the_budget_are_refused_with_what_would_fit() {
    let case = Case {
        width: 300_000,
        ..Case::of(Shape::Chain { len: 100 })
    };
    let run = case.run(&[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    // A field has a bit more than its values need, for undefined.
    let expected = "error: a memory budget of 32.0 MiB is too small for states of 329.6 KiB; this \
                    model needs at least ";
    let needed = run.stderr.strip_prefix(expected).expect(&run.stderr);
    // The number it gives is one that suffices.
    let (mebibytes, _) = needed.split_once(".0 MiB").expect("a whole number");
    let case = Case {
        budget: mebibytes.parse().expect("a number"),
        ..case
    };
    assert!(needed.contains(" with 1 thread, "), "{needed}");
    case.assert_held();
}

/// Counting the distinct states of a strategy that forgets takes as much memory again.
#[test]
fn counting_what_was_forgotten_keeps_to_the_budget() {
    let case = Case {
        width: 43_000,
        budget: 128,
        strategy: "dfs-cache",
        ..Case::of(Shape::Clock { ticks: 9 })
    };
    case.assert_held();
}

/// Resolving threads read a block of every spill.
#[test]
fn many_threads_that_read_many_spills_keep_to_the_budget() {
    let case = Case {
        width: 300,
        padding: Padding::All,
        threads: 64,
        budget: 64,
        ..Case::of(Shape::Starts { n: 150_000 })
    };
    case.assert_held();
}

/// Many models by shape and width, many threads, all strategies.
/// `HADAL_RUNS` has the number of runs, `HADAL_SEED` the first seed.
#[test]
#[ignore = "takes an hour"]
fn random_models_keep_to_their_budgets() {
    let number = |name, default| {
        let value = std::env::var(name).ok();
        value.map_or(default, |value| value.parse().expect("a number"))
    };
    let (n_runs, seed) = (number("HADAL_RUNS", 2_000), number("HADAL_SEED", 1));
    let (next, worst) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= n_runs {
                        return;
                    }
                    let case = Case::random(&mut Pcg64Mcg::seed_from_u64((seed + number) as u64));
                    let excess = case.excess(&case.run(&["--time-limit", "4"]));
                    if excess.is_some_and(|excess| excess > TOLERANCE as i64) {
                        println!("{number}: {case:?} exceeds by {excess:?}");
                    }
                    worst
                        .lock()
                        .expect("no panic")
                        .push((excess, format!("{case:?}")));
                }
            });
        }
    });
    let mut worst = worst.into_inner().expect("no panic");
    worst.sort();
    let n_refused = worst.iter().filter(|(excess, _)| excess.is_none()).count();
    println!(
        "{} runs, {n_refused} refused; the largest excesses:",
        worst.len()
    );
    for (excess, case) in worst.iter().rev().take(10) {
        println!(
            "{:8.1} MiB {case}",
            excess.unwrap_or(0) as f64 / f64::from(1 << 20)
        );
    }
    let most = worst.last().and_then(|(excess, _)| *excess);
    assert!(most <= Some(TOLERANCE as i64), "{most:?}");
    assert!(n_refused <= n_runs.div_ceil(3), "{n_refused}");
}

impl Case {
    /// States of 8 bytes to 100 kB, 1 to 64 threads, 32 MiB to 1 GiB.
    fn random(rng: &mut Pcg64Mcg) -> Self {
        let shape = Shape::random(rng);
        let width = match rng.random_bool(0.4) {
            true => 0,
            false => 10_f64.powf(rng.random_range(1.0..5.0)) as u64,
        };
        // What all its states take should be some hundred megabytes at most.
        let is_small = shape.n_states().saturating_mul(width) <= 400_000_000;
        let padding = [Padding::Few, Padding::All][rng.random_range(0..2)];
        Case {
            shape,
            width: if is_small { width } else { width % 100 },
            padding,
            threads: 1 << rng.random_range(0..=6),
            budget: match rng.random_bool(0.6) {
                true => 32,
                false => 1 << rng.random_range(5..=10),
            },
            strategy: match rng.random_bool(0.7) {
                true => "auto",
                false => PAPERS[rng.random_range(0..PAPERS.len())],
            },
        }
    }
}

/// A step of `n` transient states: two counters that are counted up in any order, or one.
fn large_step(n_counters: u32, len: u32) -> String {
    let (mut options, mut at_end) = (String::new(), Vec::new());
    for counter in 0..n_counters {
        let _ = writeln!(options, ":: c{counter} < {len} -> c{counter}++");
        at_end.push(format!("c{counter} == {len}"));
    }
    let counters = (0..n_counters).map(|counter| format!("int c{counter}; "));
    let resets = (0..n_counters).map(|counter| format!("c{counter} = 0; "));
    format!(
        "{}byte n;\nactive [2] proctype P() {{ do :: n < 6 -> atomic {{ n++; do {options} \
         :: {} -> break od; {} }} :: else -> break od }}",
        counters.collect::<String>(),
        at_end.join(" && "),
        resets.collect::<String>(),
    )
}

#[test]
fn large_steps_keep_to_the_budget_or_end_the_search() {
    let n_mebibytes = |record: &serde_json::Value| {
        let peak = record["memory"]["peak_bytes"].as_u64().expect("a number");
        peak.div_ceil(1 << 20)
    };
    // A hundred thousand and a million transient states.
    for (n_counters, len) in [(1, 50_000), (1, 500_000), (2, 250), (2, 700)] {
        let text = large_step(n_counters, len);
        for (budget, threads) in [(32, "1"), (32, "8"), (128, "2")] {
            let memory = format!("{budget}M");
            let flags = ["--language", "promela", "--memory", &memory];
            let more = ["--threads", threads, "--json", "-"];
            let run = check_text(&text, &[&flags[..], &more[..]].concat());
            let record = run.record();
            let case = format!("{n_counters} counters to {len}, {memory}, {threads} threads");
            let peak = n_mebibytes(&record);
            assert!(peak <= budget + 16, "{case}: {peak} MiB");
            match run.code {
                0 => assert_eq!(record["states"], 43, "{case}"),
                3 => assert_eq!(record["reason"], "memory", "{case}"),
                code => panic!("{case}: exit code {code}\n{}", run.stderr),
            }
        }
    }
}

#[test]
fn a_step_without_memory_is_named() {
    let text = large_step(1, 500_000);
    let run = check_text(&text, &["--language", "promela", "--memory", "32M"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let headline = run.stdout.lines().next().unwrap_or_default();
    let expected = "<stdin>: incomplete: stopped at a step (<stdin>:2:51) that passes through more";
    assert!(headline.starts_with(expected), "{headline}");
    assert!(
        run.stdout
            .contains("hint: give it more with --memory, use fewer --threads")
    );
}
