//! Comparison: the verdict against minimal sizes, and formulas against a plain evaluator.

use expect_test::{Expect, expect};
use hadal_lts::{Edge, Equivalence, Formula, Hlts, Resources, Traces, compare};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{edges, from_aut, graph, random_edges, resources};

const BOTH: [Equivalence; 2] = [Equivalence::Strong, Equivalence::Branching];

fn tau() -> Vec<String> {
    vec!["tau".to_owned(), "i".to_owned()]
}

/// A graph as the evaluator sees it: for each state, texts of labels and targets.
struct Plain {
    steps: Vec<Vec<(String, usize)>>,
}

impl Plain {
    fn of(graph: &Hlts) -> Self {
        let mut steps = vec![Vec::new(); graph.counts().n_states as usize];
        for edge in edges(graph) {
            let label = graph.labels().text(edge.label).into_owned();
            steps[edge.source as usize].push((label, edge.target as usize));
        }
        Plain { steps }
    }

    fn is_tau(label: &str) -> bool {
        tau().iter().any(|tau| tau == label)
    }

    /// By state, whether a formula holds there: by its meaning, with no regard to cost.
    fn evaluate(&self, formula: &Formula) -> Vec<bool> {
        let n = self.steps.len();
        match formula {
            Formula::Not(part) => self.evaluate(part).into_iter().map(|it| !it).collect(),
            Formula::And(parts) => {
                let parts: Vec<Vec<bool>> = parts.iter().map(|it| self.evaluate(it)).collect();
                (0..n)
                    .map(|state| parts.iter().all(|part| part[state]))
                    .collect()
            }
            Formula::Diamond { label, then } => {
                let then = self.evaluate(then);
                let holds = |state: usize| {
                    let mut steps = self.steps[state].iter();
                    steps.any(|(it, target)| it == label && then[*target])
                };
                (0..n).map(holds).collect()
            }
            Formula::Until {
                stay,
                label,
                is_tau,
                then,
            } => {
                let (stay, then) = (self.evaluate(stay), self.evaluate(then));
                let is_label = |it: &str| it == label || *is_tau && Self::is_tau(it);
                let done = |state: usize| {
                    let mut steps = self.steps[state].iter();
                    steps.any(|(it, target)| is_label(it) && then[*target])
                };
                let mut holds: Vec<bool> = (0..n).map(|it| stay[it] && done(it)).collect();
                for _ in 0..n {
                    for state in 0..n {
                        let mut steps = self.steps[state].iter();
                        let goes_on = steps.any(|(it, to)| Self::is_tau(it) && holds[*to]);
                        holds[state] |= stay[state] && goes_on;
                    }
                }
                (0..n).map(|it| holds[it] || *is_tau && then[it]).collect()
            }
        }
    }

    /// Whether a run with these visible labels begins in `from`.
    fn has_run(&self, from: usize, labels: &[String], is_weak: bool) -> bool {
        let close = |mut set: Vec<usize>| {
            let mut next = 0;
            while is_weak && next < set.len() {
                for (label, target) in &self.steps[set[next]] {
                    if Self::is_tau(label) && !set.contains(target) {
                        set.push(*target);
                    }
                }
                next += 1;
            }
            set
        };
        let mut set = close(vec![from]);
        for label in labels {
            let steps = set.iter().flat_map(|&it| &self.steps[it]);
            let next: Vec<usize> = steps.filter(|(it, _)| it == label).map(|it| it.1).collect();
            set = close(next);
        }
        !set.is_empty()
    }
}

/// The result as text, after it was checked on both graphs.
fn checked(first: &Hlts, second: &Hlts, equivalence: Equivalence) -> String {
    let result = compare(first, second, equivalence, &tau(), &resources());
    let result = result.expect("there is memory");
    let Some(difference) = result.difference else {
        assert!(result.is_equivalent);
        return "equivalent\n".to_owned();
    };
    assert!(!result.is_equivalent);
    let formula = difference.formula.expect("the graphs are small");
    let plains = [Plain::of(first), Plain::of(second)];
    let initial = [first, second].map(|graph| graph.counts().initial as usize);
    let holds = [0, 1].map(|it| plains[it].evaluate(&formula)[initial[it]]);
    let graphs = [edges(first), edges(second)];
    assert_eq!(holds, [true, false], "{formula} {graphs:?}");
    let is_weak = equivalence == Equivalence::Branching;
    let traces = match difference.traces {
        Traces::Differ { labels, in_first } => {
            let has = [0, 1].map(|it| plains[it].has_run(initial[it], &labels, is_weak));
            assert_eq!(has, [in_first, !in_first], "{labels:?}");
            for shorter in 0..labels.len() {
                let has =
                    [0, 1].map(|it| plains[it].has_run(initial[it], &labels[..shorter], is_weak));
                assert_eq!(has, [true, true]);
            }
            format!(
                "run {labels:?} in the {}",
                ["second", "first"][usize::from(in_first)]
            )
        }
        Traces::Equal => "equal runs".to_owned(),
        Traces::Unknown => "unknown".to_owned(),
    };
    format!("depth {}: {formula}\n{traces}\n", formula.depth())
}

#[track_caller]
fn check(first: &str, second: &str, equivalence: Equivalence, expected: Expect) {
    let graphs = [first, second].map(|text| from_aut(text).expect("the text is right"));
    expected.assert_eq(&checked(&graphs[0], &graphs[1], equivalence));
}

#[test]
fn a_choice_that_is_made_early_is_seen() {
    // The classical pair: a.(b + c) and a.b + a.c.
    let late = "des (0, 3, 4)\n(0, a, 1)\n(1, b, 2)\n(1, c, 3)\n";
    let early = "des (0, 4, 5)\n(0, a, 1)\n(0, a, 2)\n(1, b, 3)\n(2, c, 4)\n";
    check(
        late,
        early,
        Equivalence::Strong,
        expect![[r#"
            depth 2: <"a">(<"c">true && <"b">true)
            equal runs
        "#]],
    );
    check(
        early,
        late,
        Equivalence::Strong,
        expect![[r#"
            depth 2: <"a">["c"]false
            equal runs
        "#]],
    );
}

#[test]
fn a_run_that_only_one_has_is_shown() {
    let two = "des (0, 2, 3)\n(0, a, 1)\n(1, a, 2)\n";
    let three = "des (0, 3, 4)\n(0, a, 1)\n(1, a, 2)\n(2, a, 3)\n";
    check(
        two,
        three,
        Equivalence::Strong,
        expect![[r#"
            depth 3: <"a"><"a">["a"]false
            run ["a", "a", "a"] in the second
        "#]],
    );
}

#[test]
fn invisible_steps_that_decide_something_are_seen() {
    // a + tau.b: once b is chosen, a is gone. CADP and mCRL2 name the invisible step differently.
    let decides = "des (0, 3, 4)\n(0, a, 1)\n(0, i, 2)\n(2, b, 3)\n";
    let plain = "des (0, 2, 3)\n(0, a, 1)\n(0, b, 2)\n";
    check(
        decides,
        plain,
        Equivalence::Branching,
        expect![[r#"
        depth 2: (<<"i">> !(<<"a">> true))
        equal runs
    "#]],
    );
    let other = decides.replace("(0, i, 2)", "(0, tau, 2)");
    check(
        decides,
        &other,
        Equivalence::Branching,
        expect![[r#"
        equivalent
    "#]],
    );
    let inert = "des (0, 3, 4)\n(0, tau, 1)\n(1, a, 2)\n(1, b, 3)\n";
    check(
        inert,
        plain,
        Equivalence::Branching,
        expect![[r#"
        equivalent
    "#]],
    );
    check(
        inert,
        plain,
        Equivalence::Strong,
        expect![[r#"
            depth 1: <"tau">true
            run ["tau"] in the first
        "#]],
    );
}

#[test]
fn formulas_hold_in_the_first_graph_only() {
    let mut random = Pcg64Mcg::seed_from_u64(13);
    let (mut n_equal, mut n_different, mut deepest) = (0, 0, 0);
    for _ in 0..1500 {
        let n = random.random_range(1..8);
        let n_edges = random.random_range(0..2 * n as usize + 1);
        let texts = ["tau", "a", "b"];
        let all = random_edges(&mut random, n, n_edges, 3);
        let first = graph(n, &all, &texts);
        // The same with one edge changed, which is often equivalent and else hard to tell apart.
        let mut changed = all.clone();
        if !changed.is_empty() {
            let at = random.random_range(0..changed.len());
            changed[at] = Edge::new(
                changed[at].source,
                changed[at].label,
                random.random_range(0..n),
            );
        }
        let second = graph(n, &changed, &texts);
        for equivalence in BOTH {
            let text = checked(&first, &second, equivalence);
            match text.strip_prefix("depth ") {
                None => n_equal += 1,
                Some(rest) => {
                    n_different += 1;
                    let depth = rest
                        .split(':')
                        .next()
                        .expect("a depth")
                        .parse()
                        .expect("a number");
                    deepest = usize::max(deepest, depth);
                }
            }
        }
    }
    assert!(
        n_equal > 300 && n_different > 300 && deepest > 3,
        "{n_equal} {n_different} {deepest}"
    );
}

#[test]
fn the_depth_of_a_strong_formula_is_the_least() {
    let mut random = Pcg64Mcg::seed_from_u64(14);
    let mut n_found = 0;
    for _ in 0..500 {
        let n = random.random_range(2..7);
        let graphs = [0, 1].map(|_| {
            let all = random_edges(&mut random, n, 2 * n as usize, 2);
            graph(n, &all, &["a", "b"])
        });
        let result = compare(
            &graphs[0],
            &graphs[1],
            Equivalence::Strong,
            &tau(),
            &resources(),
        );
        let Some(difference) = result.expect("there is memory").difference else {
            continue;
        };
        // Depth by depth: states agree up to k + 1 if each step of one is matched up to k.
        let plains = graphs.each_ref().map(Plain::of);
        let mut agree = vec![vec![true; n as usize]; n as usize];
        let mut depth = 0;
        while agree[0][0] {
            depth += 1;
            let matched = |from: &[(String, usize)], to: &[(String, usize)], flip: bool| {
                from.iter().all(|(label, s)| {
                    to.iter().any(|(it, t)| {
                        let (a, b) = if flip { (*t, *s) } else { (*s, *t) };
                        it == label && agree[a][b]
                    })
                })
            };
            let next = (0..n as usize).map(|s| {
                let own = &plains[0].steps[s];
                let row = plains[1].steps.iter();
                row.map(|other| matched(own, other, false) && matched(other, own, true))
                    .collect()
            });
            agree = next.collect();
        }
        assert_eq!(difference.formula.expect("it is small").depth(), depth);
        n_found += 1;
    }
    assert!(n_found > 200, "{n_found}");
}

#[test]
fn a_formula_that_would_be_too_deep_is_left_out() {
    let chain = |n: u64| {
        let edges: Vec<Edge> = (0..n).map(|at| Edge::new(at, 0, at + 1)).collect();
        graph(n + 1, &edges, &["a"])
    };
    let result = compare(
        &chain(1500),
        &chain(1501),
        Equivalence::Strong,
        &[],
        &resources(),
    );
    let result = result.expect("there is memory");
    assert!(!result.is_equivalent);
    let difference = result.difference.expect("they differ");
    assert_eq!(difference.formula, None);
    assert!(
        matches!(difference.traces, Traces::Differ { in_first: false, labels } if labels.len() == 1501)
    );
}

#[test]
fn large_formulas_share_their_parts() {
    let mut random = Pcg64Mcg::seed_from_u64(15);
    let mut longest = 0;
    for _ in 0..20 {
        // Two labels and many edges: states part late, and each for several reasons.
        let n = 200;
        let mut all = random_edges(&mut random, n, 500, 2);
        let first = graph(n, &all, &["a", "tau"]);
        let at = random.random_range(0..all.len());
        all[at].target = random.random_range(0..n);
        let second = graph(n, &all, &["a", "tau"]);
        for equivalence in BOTH {
            let result = compare(&first, &second, equivalence, &tau(), &resources());
            let difference = result.expect("there is memory").difference;
            let Some(formula) = difference.and_then(|it| it.formula) else {
                continue;
            };
            assert!(formula.depth() > 0);
            longest = longest.max(formula.printed_len());
        }
    }
    assert!(longest > 1000, "{longest}");
}

/// Along a chain of invisible steps, where each state can do something of its own, a signature has as
/// many parts as the chain is long: all of them together do not fit.
#[test]
fn signatures_that_do_not_fit_into_memory_leave_no_formula() {
    let chain = |n: u64, last: u32| {
        let mut edges = Vec::new();
        let mut labels = vec!["i".to_owned()];
        for state in 0..n {
            labels.push(format!("a{state}"));
            edges.push((state, 0, state + 1));
            let own = if state + 1 == n {
                last
            } else {
                state as u32 + 1
            };
            edges.push((state, own, n + 1));
        }
        let mut text = format!("des (0, {}, {})\n", edges.len(), n + 2);
        for (source, label, target) in edges {
            text += &format!("({source}, \"{}\", {target})\n", labels[label as usize]);
        }
        from_aut(&text).expect("it is a graph")
    };
    let (first, second) = (chain(400, 400), chain(400, 1));
    for (memory_bytes, has_formula) in [(64 << 20, true), (400 << 10, false)] {
        let resources = Resources {
            memory_bytes,
            ..resources()
        };
        let found = compare(&first, &second, Equivalence::Branching, &tau(), &resources);
        let found = found.expect("they can be compared");
        let difference = found.difference.expect("they are not equivalent");
        assert_eq!(difference.formula.is_some(), has_formula, "{memory_bytes}");
    }
}
