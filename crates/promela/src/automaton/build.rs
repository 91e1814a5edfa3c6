//! From the checked tree of a process to its automaton.
//!
//! First each statement becomes an element with a successor, then the edges of the elements that
//! can be reached are collected. See the module above for the rules.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Automaton, Edge, Point, PointId};
use crate::program::Action;
use crate::text::TokenSpan;

/// A checked statement with its labels.
pub(crate) struct Node {
    pub(crate) labels: Vec<Arc<str>>,
    pub(crate) kind: NodeKind,
    pub(crate) span: TokenSpan,
}

/// What it is.
pub(crate) enum NodeKind {
    Basic(Action, Arc<str>),
    Goto(Arc<str>),
    Break,
    If(Vec<Vec<Node>>),
    Do(Vec<Vec<Node>>),
    Block(Vec<Node>),
    Atomic(Vec<Node>),
    DStep(Vec<Node>),
    Unless(Vec<Node>, Vec<Node>),
}

/// An automaton, and what may be wrong with it.
pub(crate) struct Built {
    pub(crate) automaton: Automaton,
    /// Jumps into or out of a `d_step`.
    pub(crate) crossings: Vec<TokenSpan>,
    /// Loops of jumps without a statement.
    pub(crate) empty_loops: Vec<TokenSpan>,
    /// Pairs of `else` that belong to the same point.
    pub(crate) double_elses: Vec<(TokenSpan, TokenSpan)>,
    /// The statement whose edges exceed [`MAX_EDGES`]; the automaton is not complete then.
    pub(crate) too_large: Option<TokenSpan>,
}

/// Edges of an automaton. There are not many more than statements, but for `unless`: the edges of its
/// escape are repeated at each point inside.
pub(crate) const MAX_EDGES: usize = 200_000;

/// Builds the automaton of a process. Labels of `goto`s must exist, and a `break` must be in a
/// loop. A jump with a label that a property or a remote reference
/// observes is a step.
pub(crate) fn build(
    body: Vec<Node>,
    end_span: TokenSpan,
    is_observed: impl Fn(&Arc<str>) -> bool,
) -> Built {
    let mut builder = Builder {
        elems: Vec::new(),
        labels: FxHashMap::default(),
        label_order: Vec::new(),
        loops: Vec::new(),
        dstep: None,
        n_dsteps: 0,
        n_escapes: 0,
        crossings: Vec::new(),
        empty_loops: Vec::new(),
    };
    let end = builder.add(ElemKind::End, end_span);
    let first = builder.seq(body, end);
    for elem in &mut builder.elems {
        elem.is_observed = elem.labels.iter().any(|label| {
            let prefixes = ["end", "progress", "accept"];
            prefixes.iter().any(|it| label.starts_with(it)) || is_observed(label)
        });
    }
    builder.automaton(first, end)
}

/// Number of jumps in a row that an edge leads past.
const MAX_JUMPS: usize = 1_000;

type ElemId = usize;

/// The element that is the end of the process, the first to be made.
const END: ElemId = 0;

struct Elem {
    kind: ElemKind,
    next: ElemId,
    span: TokenSpan,
    labels: Vec<Arc<str>>,
    /// Inside an `atomic` and not its last statement.
    in_atomic: bool,
    /// Has a label that a property or remote reference observes.
    is_observed: bool,
    /// The last statement of an `atomic`.
    ends_atomic: bool,
    /// The innermost `d_step` around it.
    dstep: Option<u32>,
    /// The escapes from it, outermost first: a number and the first element.
    escapes: Vec<(u32, ElemId)>,
}

enum ElemKind {
    Basic(Action, Arc<str>),
    Goto(Arc<str>),
    /// `break`: the element after the loop.
    Break(ElemId),
    /// The end of a selection, a loop or an `unless`.
    Join,
    /// `if`, `do`: the first elements of the options.
    Select(Vec<ElemId>),
    /// A block, `atomic` or labelled `unless`: the first element inside.
    Enclose(ElemId),
    /// An `unless` without a label: the first element inside.
    Unless(ElemId),
    /// A `d_step`: its first element and its end.
    DStep(ElemId, ElemId),
    DStepEnd,
    End,
}

struct Builder {
    elems: Vec<Elem>,
    labels: FxHashMap<Arc<str>, ElemId>,
    label_order: Vec<Arc<str>>,
    /// What follows each loop that is open.
    loops: Vec<ElemId>,
    dstep: Option<u32>,
    n_dsteps: u32,
    n_escapes: u32,
    crossings: Vec<TokenSpan>,
    empty_loops: Vec<TokenSpan>,
}

impl Builder {
    fn add(&mut self, kind: ElemKind, span: TokenSpan) -> ElemId {
        let id = self.elems.len();
        self.elems.push(Elem {
            kind,
            next: id,
            span,
            labels: Vec::new(),
            is_observed: false,
            in_atomic: false,
            ends_atomic: false,
            dstep: self.dstep,
            escapes: Vec::new(),
        });
        id
    }

    fn add_before(&mut self, kind: ElemKind, next: ElemId, span: TokenSpan) -> ElemId {
        let id = self.add(kind, span);
        self.elems[id].next = next;
        id
    }

    /// The elements of a sequence; returns the first.
    fn seq(&mut self, nodes: Vec<Node>, next: ElemId) -> ElemId {
        self.seq_with_last(nodes, next).0
    }

    /// Also returns the element that a step out of the sequence starts from: the last statement,
    /// or the end of the last selection.
    fn seq_with_last(&mut self, nodes: Vec<Node>, next: ElemId) -> (ElemId, ElemId) {
        if nodes.is_empty() {
            let span = self.elems[next].span;
            let id = self.add_before(ElemKind::Join, next, span);
            return (id, id);
        }
        let mut first = next;
        let mut last = next;
        for (n, node) in nodes.into_iter().rev().enumerate() {
            let (id, own_last) = self.node(node, first);
            if n == 0 {
                last = own_last;
            }
            first = id;
        }
        (first, last)
    }

    fn node(&mut self, node: Node, next: ElemId) -> (ElemId, ElemId) {
        let span = node.span;
        let (id, last) = match node.kind {
            NodeKind::Basic(action, text) => {
                let id = self.add_before(ElemKind::Basic(action, text), next, span);
                (id, id)
            }
            NodeKind::Goto(label) => {
                let id = self.add_before(ElemKind::Goto(label), next, span);
                (id, id)
            }
            NodeKind::Break => {
                let target = self.loops.last().copied().unwrap_or(next);
                let id = self.add_before(ElemKind::Break(target), next, span);
                (id, id)
            }
            NodeKind::If(options) => {
                let join = self.add_before(ElemKind::Join, next, span);
                let firsts = options.into_iter().map(|it| self.seq(it, join)).collect();
                let id = self.add_before(ElemKind::Select(firsts), join, span);
                (id, join)
            }
            NodeKind::Do(options) => {
                let join = self.add_before(ElemKind::Join, next, span);
                let id = self.add_before(ElemKind::Select(Vec::new()), join, span);
                self.loops.push(join);
                let firsts = options.into_iter().map(|it| self.seq(it, id)).collect();
                self.loops.pop();
                self.elems[id].kind = ElemKind::Select(firsts);
                (id, join)
            }
            NodeKind::Block(body) => {
                let (first, last) = self.seq_with_last(body, next);
                let id = self.add_before(ElemKind::Enclose(first), next, span);
                (id, last)
            }
            NodeKind::Atomic(body) => {
                let from = self.elems.len();
                let (first, last) = self.seq_with_last(body, next);
                for elem in &mut self.elems[from..] {
                    elem.in_atomic = true;
                    elem.ends_atomic = false;
                }
                self.elems[last].in_atomic = false;
                self.elems[last].ends_atomic = true;
                // Not marked itself: who jumps to it comes from outside.
                let id = self.add_before(ElemKind::Enclose(first), next, span);
                (id, last)
            }
            NodeKind::DStep(body) => {
                let outer = self.dstep.replace(self.n_dsteps);
                self.n_dsteps += 1;
                let exit = self.add(ElemKind::DStepEnd, span);
                let first = self.seq(body, exit);
                self.dstep = outer;
                let id = self.add_before(ElemKind::DStep(first, exit), next, span);
                (id, id)
            }
            NodeKind::Unless(body, escape) => {
                let join = self.add_before(ElemKind::Join, next, span);
                let escape = self.seq(escape, join);
                let from = self.elems.len();
                let first = self.seq(body, join);
                // Without a label it is no point of its own.
                let kind = match node.labels.is_empty() {
                    true => ElemKind::Unless(first),
                    false => ElemKind::Enclose(first),
                };
                let id = self.add_before(kind, join, span);
                let number = self.n_escapes;
                self.n_escapes += 1;
                for elem in &mut self.elems[from..] {
                    elem.escapes.insert(0, (number, escape));
                }
                (id, join)
            }
        };
        for label in node.labels {
            self.labels.insert(label.clone(), id);
            self.label_order.push(label.clone());
            self.elems[id].labels.push(label);
        }
        (id, last)
    }

    /// What a jump leads to.
    fn jump_target(&self, id: ElemId) -> Option<ElemId> {
        match &self.elems[id].kind {
            ElemKind::Goto(label) => self.labels.get(label).copied(),
            ElemKind::Break(target) => Some(*target),
            ElemKind::Join => Some(self.elems[id].next),
            ElemKind::Unless(first) => Some(*first),
            _ => None,
        }
    }

    /// The element at which an edge from `source` to `id` ends, past jumps.
    fn chase(&self, source: ElemId, id: ElemId) -> ElemId {
        let in_atomic = self.elems[source].in_atomic;
        let mut at = id;
        for _ in 0..MAX_JUMPS {
            let Some(target) = self.jump_target(at) else {
                return at;
            };
            let is_entered = matches!(self.elems[at].kind, ElemKind::Unless(_));
            let is_step = target == at || self.elems[at].is_observed;
            let is_inside = self.elems[at].in_atomic || self.elems[at].ends_atomic;
            let leaves = in_atomic && is_inside && !self.elems[target].in_atomic;
            if is_step || leaves && !is_entered {
                return at;
            }
            at = target;
        }
        // A loop of jumps: it is entered at its first element.
        id
    }

    fn automaton(mut self, first: ElemId, end: ElemId) -> Built {
        let mut numbering = Numbering::default();
        // The first statement of a process may be a jump, which is passed.
        let start_elem = match self.jump_target(first) {
            Some(_) => self.chase(end, first),
            None => first,
        };
        let start = numbering.point(start_elem);
        let end_point = numbering.point(end);
        let mut points: Vec<Point> = Vec::new();
        let (mut n_edges, mut too_large) = (0, None);
        while points.len() < numbering.order.len() {
            let id = numbering.order[points.len()];
            let mut seeds = Vec::new();
            self.edges(id, &mut seeds);
            n_edges += seeds.len();
            if n_edges > MAX_EDGES {
                too_large.get_or_insert(self.elems[id].span);
                seeds.clear();
            }
            let edges = seeds
                .into_iter()
                .map(|seed| self.edge(id, seed, &mut numbering))
                .collect();
            let elem = &self.elems[id];
            let has = |prefix: &str| elem.labels.iter().any(|it| it.starts_with(prefix));
            points.push(Point {
                edges,
                is_end: has("end"),
                is_progress: has("progress"),
                is_accept: has("accept"),
                in_dstep: elem.dstep.is_some(),
                span: elem.span,
            });
        }
        let labels = std::mem::take(&mut self.label_order);
        let labels = labels
            .into_iter()
            .map(|label| {
                let elem = self.labels.get(&label);
                let point = elem.and_then(|elem| numbering.known.get(elem)).copied();
                (label, point)
            })
            .collect();
        let unreachable = match too_large {
            None => self.unreachable(&numbering),
            Some(_) => Vec::new(),
        };
        let double_elses = double_elses(&points);
        Built {
            automaton: Automaton {
                points,
                start,
                end: end_point,
                labels,
                unreachable,
            },
            crossings: self.crossings,
            empty_loops: self.empty_loops,
            double_elses,
            too_large,
        }
    }

    /// The statements of an element's edges: escapes, then its own.
    fn edges(&self, id: ElemId, out: &mut Vec<Seed>) {
        for (number, first) in self.escapes(id) {
            // A jump at its start is passed, as at the start of a process.
            let mut own = Vec::new();
            self.own_edges(self.chase(END, first), &mut own);
            out.extend(own.into_iter().map(|elem| Seed {
                elem,
                escape: Some(number),
            }));
        }
        let mut own = Vec::new();
        self.own_edges(id, &mut own);
        out.extend(own.into_iter().map(|elem| Seed { elem, escape: None }));
    }

    /// The escapes of an element and of the first statements inside it, without repetition.
    ///
    /// Where an `unless` begins with another one, SPIN tries the inner escape first at the point
    /// that both begin at, and treats the two as one. Of those of several options, it tries that of
    /// the last option first, and takes one for the same as the outer ones only if it is of the
    /// statement that the first option begins with.
    fn escapes(&self, id: ElemId) -> Vec<(u32, ElemId)> {
        let own = &self.elems[id].escapes;
        let firsts = self.firsts(id);
        let is_own = |escape: &(u32, ElemId)| own.iter().any(|it| it.1 == escape.1);
        let mut inner: Vec<(u32, ElemId)> = Vec::new();
        let mut number = None;
        for (option, &first) in firsts.iter().enumerate().rev() {
            let mut escapes = self.escapes(first);
            escapes.retain(|it| !is_own(it));
            if option == 0 {
                let leading = &self.elems[self.leading(first)].escapes;
                let is_leading = |it: &&(u32, ElemId)| leading.iter().any(|lead| lead.1 == it.1);
                number = escapes.iter().find(is_leading).map(|it| it.0);
            }
            for escape in escapes {
                if !inner.contains(&escape) {
                    inner.push(escape);
                }
            }
        }
        if inner.is_empty() {
            return own.clone();
        }
        inner.extend(
            own.iter()
                .map(|&(own, first)| (number.unwrap_or(own), first)),
        );
        inner
    }

    /// The first statement inside an element, by way of first options.
    fn leading(&self, mut id: ElemId) -> ElemId {
        loop {
            match self.firsts(id).first() {
                Some(first) => id = *first,
                None => return id,
            }
        }
    }

    /// The elements that an element begins with: those of the options, `else` behind the others.
    fn firsts(&self, id: ElemId) -> Vec<ElemId> {
        match &self.elems[id].kind {
            ElemKind::Select(firsts) => {
                let is_else =
                    |it: ElemId| matches!(&self.elems[it].kind, ElemKind::Basic(Action::Else, _));
                let (elses, others): (Vec<_>, Vec<_>) = firsts.iter().partition(|it| is_else(**it));
                others.into_iter().chain(elses).collect()
            }
            ElemKind::Enclose(first) | ElemKind::Unless(first) => vec![*first],
            _ => Vec::new(),
        }
    }

    /// The elements whose statements are an element's edges, without escapes.
    fn own_edges(&self, id: ElemId, out: &mut Vec<ElemId>) {
        match &self.elems[id].kind {
            ElemKind::Select(_) | ElemKind::Enclose(_) | ElemKind::Unless(_) => {
                for first in self.firsts(id) {
                    self.own_edges(first, out);
                }
            }
            ElemKind::End | ElemKind::DStepEnd => {}
            _ => out.push(id),
        }
    }

    /// The edge of a statement at the point of the element `point`.
    fn edge(&mut self, point: ElemId, seed: Seed, numbering: &mut Numbering) -> Edge {
        let Seed { elem: id, escape } = seed;
        let raw = self.jump_target(id).unwrap_or(self.elems[id].next);
        let target = self.chase(id, raw);
        // A jump that begins an option is at the point of its selection.
        let is_passed = id == point && self.jump_target(id).is_some();
        let (from, to) = (&self.elems[id], &self.elems[target]);
        if from.dstep != to.dstep {
            self.crossings.push(from.span);
        } else if target == id && self.jump_target(id).is_some() {
            self.empty_loops.push(from.span);
        }
        let (action, text): (Action, Arc<str>) = match &from.kind {
            ElemKind::Basic(action, text) => (action.clone(), text.clone()),
            ElemKind::DStep(first, exit) => {
                let action = Action::DStep {
                    entry: numbering.point(*first),
                    exit: numbering.point(*exit),
                };
                (action, "d_step".into())
            }
            ElemKind::Goto(label) => (Action::Goto, format!("goto {label}").into()),
            ElemKind::Break(_) => (Action::Goto, "break".into()),
            _ => (Action::Goto, "goto".into()),
        };
        Edge {
            action,
            target: numbering.point(target),
            keeps_control: from.in_atomic && (to.in_atomic || to.ends_atomic),
            is_free: is_passed && (from.in_atomic || from.ends_atomic),
            escape,
            text,
            span: from.span,
        }
    }

    /// Statements that no edge was made of.
    fn unreachable(&self, numbering: &Numbering) -> Vec<(TokenSpan, Arc<str>)> {
        let mut used = vec![false; self.elems.len()];
        for &id in &numbering.order {
            let mut seeds = Vec::new();
            self.edges(id, &mut seeds);
            for seed in seeds {
                used[seed.elem] = true;
            }
        }
        let unused = self.elems.iter().zip(&used).filter(|(_, used)| !**used);
        let mut statements: Vec<(TokenSpan, Arc<str>)> = unused
            .filter_map(|(elem, _)| match &elem.kind {
                ElemKind::Basic(_, text) => Some((elem.span, text.clone())),
                ElemKind::DStep(..) => Some((elem.span, "d_step".into())),
                _ => None,
            })
            .collect();
        statements.sort();
        statements
    }
}

/// Pairs of `else` that belong to the same point. In a `d_step`, where options are tried in order,
/// they do not contradict each other.
fn double_elses(points: &[Point]) -> Vec<(TokenSpan, TokenSpan)> {
    let mut pairs = Vec::new();
    for point in points.iter().filter(|it| !it.in_dstep) {
        let mut elses = point.edges.iter().filter(|it| it.action == Action::Else);
        if let (Some(first), Some(second)) = (elses.next(), elses.next()) {
            pairs.push((first.span, second.span));
        }
    }
    pairs.sort();
    pairs.dedup();
    pairs
}

struct Seed {
    elem: ElemId,
    escape: Option<u32>,
}

/// Gives points to elements in the order in which they are met.
#[derive(Default)]
struct Numbering {
    known: FxHashMap<ElemId, PointId>,
    order: Vec<ElemId>,
}

impl Numbering {
    fn point(&mut self, id: ElemId) -> PointId {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let point = PointId(self.order.len() as u32);
        self.known.insert(id, point);
        self.order.push(id);
        point
    }
}
