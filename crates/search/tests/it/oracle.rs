//! What a search must report, by brute force: all states, then all findings sorted, then the cut.

use std::collections::{HashMap, HashSet, VecDeque};

use hadal_model::GoalKind;
use hadal_search::{Deadlock, Options, StoreKind};
use hadal_testkit::graph::{Effect, Graph, N_RULES, Reduction};

use crate::summary::{Found, Summary};

struct Node {
    number: u32,
    depth: u32,
    parent: Option<usize>,
}

struct Finding {
    at: (u32, usize, usize),
    subject: String,
    property: Option<usize>,
    found: Found,
}

/// What a search of `graph` must report. It knows no classes of states, only colours.
pub(crate) fn expect(graph: &Graph, options: &Options) -> Summary {
    let is_coloured = match graph.reduction {
        Reduction::None => false,
        Reduction::Colours => true,
        Reduction::Classes(_) => panic!("the oracle knows no classes"),
    };
    // All states, breadth first.
    let mut nodes: Vec<Node> = Vec::new();
    let mut ordinals: HashMap<u32, usize> = HashMap::new();
    let mut queue = VecDeque::new();
    let mut find = |nodes: &mut Vec<Node>, queue: &mut VecDeque<usize>, number, parent, depth| {
        *ordinals.entry(number).or_insert_with(|| {
            nodes.push(Node {
                number,
                depth,
                parent,
            });
            queue.push_back(nodes.len() - 1);
            nodes.len() - 1
        })
    };
    let mut start_fault = None;
    let mut start_hits = 0;
    for edge in &graph.starts {
        match edge.effect {
            Effect::To { node, hits, .. } => {
                start_hits += u64::from(hits);
                find(&mut nodes, &mut queue, node, None, 0);
            }
            Effect::Discarded => {}
            Effect::Fault(kind) => {
                start_fault = Some((kind.name(), edge.rule));
                break;
            }
        }
    }
    let n_starts = nodes.len();
    let mut successors: Vec<Vec<usize>> = Vec::new();
    let mut fired: Vec<Vec<u64>> = Vec::new();
    let mut hits: Vec<u64> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut any_fault = start_fault.is_some();
    let mut is_cut = false;
    while let Some(this) = queue.pop_front() {
        let (number, depth) = (nodes[this].number, nodes[this].depth);
        successors.push(Vec::new());
        fired.push(vec![0; N_RULES]);
        hits.push(0);
        if options.bound == Some(depth) {
            is_cut = true;
            continue;
        }
        let (mut fault, mut progress) = (None, false);
        for (at, edge) in graph.nodes[number as usize].iter().enumerate() {
            let rule = edge.rule;
            match edge.effect {
                Effect::To {
                    node: next,
                    hits: is_hit,
                    ..
                } => {
                    hits[this] += u64::from(is_hit);
                    fired[this][rule as usize] += 1;
                    // A stored state has colour 0; its successors have another.
                    progress |= next != number || (is_coloured && at as u8 != 255);
                    let ordinal = find(&mut nodes, &mut queue, next, Some(this), depth + 1);
                    successors[this].push(ordinal);
                }
                Effect::Discarded => {
                    fired[this][rule as usize] += 1;
                    progress = true;
                }
                Effect::Fault(kind) => {
                    fault = Some((kind.name(), rule));
                    break;
                }
            }
        }
        let n_fired: u64 = fired[this].iter().sum();
        let is_deadlock = match options.deadlock {
            Deadlock::Stuttering => !progress,
            Deadlock::Stuck => n_fired == 0,
            Deadlock::EndStates => unreachable!("no graph of these tests has ends"),
            Deadlock::Off => false,
        };
        let (kind, name) = match fault {
            Some((kind, rule)) => (kind, format!("rule {rule}")),
            None if is_deadlock => ("deadlock", "deadlock".to_owned()),
            None => continue,
        };
        any_fault |= fault.is_some();
        findings.push(Finding {
            at: (depth, this, usize::MAX),
            subject: format!("{kind} {name}"),
            property: None,
            found: found(kind, name, depth, Some(this)),
        });
    }
    let is_exhausted = !is_cut;

    // All findings, sorted, one of each sort, and no more than asked for.
    for (this, node) in nodes.iter().enumerate() {
        for (property, failing) in graph.failing.iter().enumerate() {
            let here = failing.iter().filter(|f| f.0 == node.number);
            let here = here.map(|&(_, faulty)| if faulty { "range" } else { "invariant" });
            let dependent = graph.dependent.contains(&(node.number, property as u32));
            for kind in here.chain(dependent.then_some(DEPENDENCE)) {
                any_fault |= kind != "invariant";
                let name = format!("property {property}");
                findings.push(Finding {
                    at: (node.depth, this, property),
                    subject: format!("{kind} {name}"),
                    property: Some(property),
                    found: found(kind, name, node.depth, Some(this)),
                });
            }
        }
    }
    if let Some((kind, rule)) = start_fault {
        let name = format!("start {rule}");
        findings.push(Finding {
            at: (0, n_starts, 0),
            subject: format!("{kind} {name}"),
            property: None,
            found: found(kind, name, 0, None),
        });
    }
    findings.sort_by_key(|finding| finding.at);
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert(finding.subject.clone()));
    findings.truncate(options.max_errors);
    // Nothing counts that comes after an order dependence.
    let dependence = findings.iter().position(|f| f.found.kind == DEPENDENCE);
    if let Some(at) = dependence {
        findings.truncate(at + 1);
    }

    // The cut.
    let is_full = findings.len() == options.max_errors || dependence.is_some();
    let last = findings.last().map_or(0, |finding| finding.found.depth);
    let depth = |this: usize| nodes[this].depth;
    let counted = |this: &usize| !is_full || depth(*this) <= last;
    let expanded = |this: &usize| match is_full {
        true => depth(*this) < last,
        false => options.bound != Some(depth(*this)),
    };
    let all = 0..nodes.len();
    let n_layers = all.clone().filter(counted).map(|t| depth(t) + 1).max();
    let n_layers = n_layers.unwrap_or(1);
    let layer = |d| all.clone().filter(|&this| depth(this) == d).count() as u64;
    let layers: Vec<u64> = (0..n_layers).map(layer).collect();
    let mut fired_by_rule = vec![0; N_RULES];
    let (mut n_hits, mut n_successors) = (start_hits, 0);
    for this in all.clone().filter(expanded) {
        for (sum, count) in fired_by_rule.iter_mut().zip(&fired[this]) {
            *sum += count;
        }
        n_hits += hits[this];
        n_successors += successors[this].len() as u64;
    }
    let goals: Vec<u64> = (graph.shape.goals.iter().zip(&graph.reaching))
        .map(|(goal, reaching)| match goal.kind {
            GoalKind::CoverStep => n_hits,
            GoalKind::CoverState | GoalKind::Liveness => {
                let reaches = |this: &usize| reaching.contains(&nodes[*this].number);
                all.clone().filter(counted).filter(reaches).count() as u64
            }
        })
        .collect();
    let states: u64 = layers.iter().sum();

    // What is decided at the end only.
    let is_clean = is_exhausted && findings.is_empty();
    let mut holds: Vec<Option<bool>> = vec![None; graph.shape.properties.len()];
    for (holds, property) in holds.iter_mut().zip(&graph.shape.properties) {
        if property.kind.name() == "invariant" && is_exhausted && !is_full && !any_fault {
            *holds = Some(true);
        }
    }
    for finding in &findings {
        if let Some(property) = finding.property
            && finding.found.kind != DEPENDENCE
        {
            holds[property] = Some(false);
        }
    }
    let mut violations: Vec<Found> = findings.into_iter().map(|f| f.found).collect();
    // Hashes leave open whether a goal can be reached; a search that decides liveness stores states.
    let has_liveness = (graph.shape.goals.iter()).any(|entry| entry.kind == GoalKind::Liveness);
    let is_exact = options.store == StoreKind::Exact || has_liveness;
    let mut is_open = false;
    for (goal, entry) in graph.shape.goals.iter().enumerate() {
        if entry.kind != GoalKind::Liveness {
            let property = entry.property as usize;
            if goals[goal] > 0 {
                holds[property] = dependence.is_none().then_some(true);
            } else if is_clean && !is_exact {
                is_open = true;
            } else if is_clean {
                holds[property] = Some(false);
                if violations.len() < options.max_errors {
                    let name = format!("property {property}");
                    violations.push(found("cover", name, n_layers - 1, None));
                }
            }
        }
    }
    if is_clean && violations.len() < options.max_errors {
        let mut cut_off = Vec::new();
        for (goal, entry) in graph.shape.goals.iter().enumerate() {
            if entry.kind == GoalKind::Liveness {
                let property = entry.property as usize;
                let mut good: Vec<bool> = nodes
                    .iter()
                    .map(|node| graph.reaching[goal].contains(&node.number))
                    .collect();
                for _ in 0..nodes.len() {
                    for this in all.clone() {
                        good[this] |= successors[this].iter().any(|&next| good[next]);
                    }
                }
                let least = good.iter().position(|good| !good);
                holds[property] = Some(least.is_none());
                cut_off.extend(least.map(|least| (least, property)));
            }
        }
        cut_off.sort();
        cut_off.truncate(options.max_errors - violations.len());
        violations.extend(cut_off.into_iter().map(|(least, property)| {
            let name = format!("property {property}");
            found("liveness", name, depth(least), Some(least))
        }));
    }
    for violation in &mut violations {
        violation.path = violation.ordinal.map(|ordinal| {
            let mut path = Vec::new();
            let mut at = Some(ordinal as usize);
            while let Some(this) = at {
                path.push(nodes[this].number);
                at = nodes[this].parent;
            }
            path.reverse();
            path
        });
        if is_fault(violation.kind) && violation.ordinal.is_none() {
            violation.path = Some(Vec::new());
        }
    }
    // A fault cuts off what would have come after it.
    let faulted = violations.iter().any(|found| is_fault(found.kind));
    let complete = is_exhausted && !is_full && !faulted && !is_open;
    Summary {
        verdict: match (violations.is_empty(), complete) {
            (false, _) if violations[0].kind == DEPENDENCE => "rejected",
            (false, _) => "violated",
            (true, true) => "verified",
            (true, false) => "incomplete",
        },
        complete,
        reason: (is_cut && !is_full).then_some("bound"),
        states,
        visited: all.filter(expanded).count() as u64,
        transitions: fired_by_rule.iter().sum(),
        duplicates: n_successors - new_states(&nodes, n_starts, &expanded),
        layers,
        fired_by_rule,
        goals,
        holds,
        violations,
    }
}

/// The kind of finding that ends every search.
pub(crate) const DEPENDENCE: &str = "order-dependence";

fn is_fault(kind: &str) -> bool {
    kind == "range" || kind == DEPENDENCE
}

/// Number of states found by expanding one that counts.
fn new_states(nodes: &[Node], n_starts: usize, expanded: &dyn Fn(&usize) -> bool) -> u64 {
    let by_expansion = |node: &&Node| node.parent.is_some_and(|parent| expanded(&parent));
    nodes.iter().skip(n_starts).filter(by_expansion).count() as u64
}

fn found(kind: &'static str, name: String, depth: u32, ordinal: Option<usize>) -> Found {
    Found {
        kind,
        name,
        depth,
        ordinal: ordinal.map(|ordinal| ordinal as u64),
        path: None,
    }
}
