//! The variables of a state.
//!
//! Instances of a process type are the elements of an array of records, in the order of their pids:
//! processes are removed from the top only, so that those that exist are always the first ones. The
//! first field is the point that the process is at, 0 where there is no process; everything of an
//! absent process is 0.
//!
//! Channels that global variables create exist always. Those of one kind are the elements of an
//! array; their numbers are known. Channels of processes are created and deleted with these, from
//! the top as well: a stack, whose elements have room for any kind of channel of a process.

use std::sync::Arc;

use hadal_ir::expr::{Expr, Place};
use hadal_ir::ids::{ExprId, LocalId, TypeId, VarId};
use hadal_ir::program::{Segment, ValueMap, Var};
use hadal_ir::types::{Field, Simple, SimpleKind, Type};
use rustc_hash::FxHashMap;

use super::LowerOptions;
use super::build::{Builder, Line};
use super::claim::{self, add_claim};
use super::origins::Flow;
use crate::MAX_INSTANCES;
use crate::naming::{ClassNames, Naming, ProcessNames, Wait, chan_names, created, element_names};
use crate::program::{Action, ChannelType, Claim, Program, Scalar, Variable};

/// Where everything is.
pub(super) struct Layout {
    pub(super) flow: Flow,
    /// By global variable; none for a constant.
    pub(super) globals: Vec<Option<VarId>>,
    pub(super) processes: Vec<ProcessLayout>,
    /// Number of processes.
    pub(super) n_processes: VarId,
    /// The pid of the last step, where the program asks for it.
    pub(super) last: Option<VarId>,
    /// Kinds of channels that global variables create.
    pub(super) classes: Vec<ChannelClass>,
    /// By origin that is a global variable: its class, its first element there, and its first
    /// number.
    pub(super) members: Vec<Option<Member>>,
    /// Number of channels that global variables create; their numbers are `1..=n_global`.
    pub(super) n_global: u32,
    pub(super) stack: Option<ChannelStack>,
    /// The point of the claim, in a product.
    pub(super) claim: Option<VarId>,
    pub(super) registers: Option<Registers>,
    pub(super) is_guess: bool,
}

/// The instances of a process type.
pub(super) struct ProcessLayout {
    /// None where there are none.
    pub(super) var: Option<VarId>,
    /// How many there is room for.
    pub(super) n: u32,
    /// By point, its number in a state, from 1 on; none for points where no process rests.
    pub(super) points: Vec<Option<u32>>,
    pids: Pids,
    /// The field of the priority, where priorities matter.
    pub(super) priority: Option<u32>,
    /// The field of the number of the first channel of the process.
    pub(super) first_channel: Option<u32>,
    /// By local variable, its field; none for a constant.
    pub(super) locals: Vec<Option<u32>>,
    /// Number of channels that an instance creates.
    pub(super) n_channels: u32,
    /// Points that are no valid end.
    waits: Vec<Wait>,
}

/// How pids of instances are known.
enum Pids {
    /// By instance.
    Constant(Vec<i64>),
    /// In this field.
    Field(u32),
}

/// Global channels of one kind.
pub(super) struct ChannelClass {
    pub(super) ty: ChannelType,
    /// None for rendezvous channels, which hold nothing.
    pub(super) var: Option<VarId>,
}

/// Channels of one global variable.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) class: usize,
    pub(super) first_element: u32,
    pub(super) first_number: u32,
}

/// Channels of processes. The first field of an element is its kind, from 1 on, and 0 where there is
/// no channel.
pub(super) struct ChannelStack {
    pub(super) var: VarId,
    pub(super) n: u32,
    /// Whether processes might create more.
    pub(super) may_be_full: bool,
    /// Kinds of channels, by their number in an element less 1.
    pub(super) kinds: Vec<usize>,
}

/// What is 0 in every state at rest.
pub(super) struct Registers {
    pub(super) control: VarId,
    pub(super) handshake: Option<Handshake>,
}

/// A message between the two halves of a rendezvous.
pub(super) struct Handshake {
    /// The number of the channel.
    pub(super) channel: VarId,
    /// The pid of the sender.
    pub(super) sender: VarId,
    pub(super) fields: Vec<VarId>,
}

/// Fields of a queue.
pub(super) const QUEUE_LEN: u32 = 0;
pub(super) const QUEUE_MESSAGES: u32 = 1;
/// Fields of an element of the stack, where the kind is before the queue.
pub(super) const STACK_KIND: u32 = 0;
pub(super) const STACK_QUEUE: u32 = 1;

impl Layout {
    pub(super) fn new(
        program: &Program,
        claim: Option<&Claim>,
        options: &LowerOptions,
        builder: &mut Builder<'_>,
    ) -> Self {
        let flow = Flow::new(program);
        let (instances, is_guess) = instances(program, options);
        let mut globals = Vec::new();
        for (number, variable) in program.globals.iter().enumerate() {
            let is_constant = flow.constant(None, number).is_some();
            globals.push((!is_constant && !variable.hidden).then(|| {
                let ty = variable_type(variable, builder);
                add_var(builder, &variable.name, ty)
            }));
        }
        let (classes, members, n_global) = global_channels(program, &flow, builder);
        let n_channels = |proctype: usize| {
            let own = flow
                .origins
                .iter()
                .filter(|it| it.proctype == Some(proctype));
            own.map(|origin| origin.n).sum::<u32>()
        };
        let mut processes = Vec::new();
        for (number, &n) in instances.iter().enumerate() {
            let n_channels = n_channels(number);
            let process = ProcessLayout::new(program, number, n, n_channels, &flow, builder);
            processes.push(process);
        }
        let stack = ChannelStack::new(program, &flow, &processes, n_global, builder);
        let count = builder.range(0, MAX_INSTANCES as i64);
        let n_processes = add_var(builder, "_nr_pr", count);
        let last = program.uses_last.then(|| {
            let pid = builder.scalar(Scalar::Byte);
            add_var(builder, "_last", pid)
        });
        let claim = claim.map(|claim| add_claim(claim, builder));
        let registers = Registers::new(program, claim.is_some(), builder);
        Layout {
            flow,
            globals,
            processes,
            n_processes,
            last,
            classes,
            members,
            n_global,
            stack,
            claim,
            registers,
            is_guess,
        }
    }
}

impl Layout {
    /// How the variables are called in Promela.
    pub(super) fn naming(&self, program: &Program) -> Naming {
        let mut naming = Naming::new(program);
        for (proctype, process) in program.proctypes.iter().zip(&self.processes) {
            naming.processes.push(ProcessNames {
                name: proctype.name.clone(),
                pids: match &process.pids {
                    Pids::Constant(pids) => Some(pids.clone()),
                    Pids::Field(_) => None,
                },
                channels: created(&proctype.locals),
                chan_locals: chan_names(&proctype.locals),
                waits: process.waits.clone(),
            });
        }
        for (number, _) in self.classes.iter().enumerate() {
            let mut elements = Vec::new();
            for (origin, member) in self.flow.origins.iter().zip(&self.members) {
                let Some(member) = member.filter(|it| it.class == number) else {
                    continue;
                };
                let variable = &program.globals[origin.var];
                let names = element_names(&variable.name, &variable.dims);
                elements.extend(names.into_iter().zip(i64::from(member.first_number)..));
            }
            naming.classes.push(ClassNames {
                var: class_name(number),
                elements,
            });
        }
        let first = i64::from(self.n_global) + 1;
        naming.stack = self.stack.as_ref().map(|_| (STACK_NAME.to_owned(), first));
        naming
    }
}

/// The variable that holds the channels of a class.
fn class_name(class: usize) -> String {
    format!("_channels{class}")
}

/// The variable that holds the channels of processes.
const STACK_NAME: &str = "_local_channels";

pub(super) fn add_var(builder: &mut Builder<'_>, name: &str, ty: TypeId) -> VarId {
    builder.ir.vars.push(Var {
        name: name.to_owned(),
        ty,
    });
    VarId::new(builder.ir.vars.len() - 1)
}

fn variable_type(variable: &Variable, builder: &mut Builder<'_>) -> TypeId {
    let element = builder.scalar(variable.ty);
    let dims = variable.dims.iter().rev();
    dims.fold(element, |element, &n| builder.array(n, element))
}

/// The type of a queue: its length, and its messages.
fn queue_type(capacity: u32, fields: &[TypeId], builder: &mut Builder<'_>) -> TypeId {
    let len = builder.range(0, capacity.into());
    let message = Type::Record {
        fields: (fields.iter().enumerate())
            .map(|(number, &ty)| Field {
                name: number.to_string(),
                ty,
            })
            .collect(),
    };
    let message = builder.add_type(message);
    let messages = builder.array(capacity, message);
    let fields = [("len", len), ("messages", messages)].map(|(name, ty)| Field {
        name: name.to_owned(),
        ty,
    });
    builder.add_type(Type::Record {
        fields: fields.into(),
    })
}

fn global_channels(
    program: &Program,
    flow: &Flow,
    builder: &mut Builder<'_>,
) -> (Vec<ChannelClass>, Vec<Option<Member>>, u32) {
    let mut kinds: Vec<(ChannelType, u32)> = Vec::new();
    let (mut members, mut next_number) = (Vec::new(), 1);
    for origin in &flow.origins {
        if origin.proctype.is_some() {
            members.push(None);
            continue;
        }
        let ty = &program.channels[origin.channel];
        let is_same = |(kind, _): &(ChannelType, u32)| {
            (kind.capacity, &kind.fields) == (ty.capacity, &ty.fields)
        };
        let class = kinds.iter().position(is_same).unwrap_or(kinds.len());
        if class == kinds.len() {
            kinds.push((ty.clone(), 0));
        }
        members.push(Some(Member {
            class,
            first_element: kinds[class].1,
            first_number: next_number,
        }));
        kinds[class].1 += origin.n;
        next_number += origin.n;
    }
    let mut classes = Vec::new();
    for (number, (ty, n)) in kinds.into_iter().enumerate() {
        let var = (ty.capacity > 0).then(|| {
            let fields: Vec<TypeId> = ty.fields.iter().map(|it| builder.scalar(*it)).collect();
            let queue = queue_type(ty.capacity, &fields, builder);
            let queues = builder.array(n, queue);
            add_var(builder, &class_name(number), queues)
        });
        classes.push(ChannelClass { ty, var });
    }
    (classes, members, next_number - 1)
}

impl ProcessLayout {
    fn new(
        program: &Program,
        number: usize,
        n: u32,
        n_channels: u32,
        flow: &Flow,
        builder: &mut Builder<'_>,
    ) -> Self {
        let proctype = &program.proctypes[number];
        let (mut points, mut names) = (Vec::new(), vec!["-".to_owned()]);
        let mut point_names = PointNames::default();
        let mut waits = Vec::new();
        for (number, point) in proctype.automaton.points.iter().enumerate() {
            points.push((!point.in_dstep).then(|| {
                let line = builder.line(point.span);
                names.push(point_names.next(line.clone()));
                if !point.is_end && number != proctype.automaton.end.index() {
                    let mut statements: Vec<Arc<str>> = Vec::new();
                    for edge in &point.edges {
                        if !statements.contains(&edge.text) {
                            statements.push(edge.text.clone());
                        }
                    }
                    waits.push(Wait {
                        point: names[names.len() - 1].clone(),
                        line: line.to_string(),
                        statements,
                    });
                }
                names.len() as u32 - 1
            }));
        }
        let at = Simple {
            lo: 0,
            hi: names.len() as i64 - 1,
            kind: SimpleKind::Enum(names),
            is_total: true,
        };
        let at = builder.add_type(Type::Simple(at));
        let mut fields = vec![Field {
            name: "at".to_owned(),
            ty: at,
        }];
        let mut add = |name: &str, ty: TypeId| {
            fields.push(Field {
                name: name.to_owned(),
                ty,
            });
            fields.len() as u32 - 1
        };
        let byte = builder.scalar(Scalar::Byte);
        let is_run = runs(program).any(|(_, run)| run == number);
        let pids = match is_run {
            true => Pids::Field(add("_pid", byte)),
            false => {
                let initial = program.initial.iter().enumerate();
                let own = initial.filter(|(_, proctype)| **proctype == number);
                Pids::Constant(own.map(|(pid, _)| pid as i64).collect())
            }
        };
        let priority = program.uses_priorities.then(|| add("_priority", byte));
        let first_channel = (n_channels > 0).then(|| add("_channels", byte));
        let mut locals = Vec::new();
        for (local, variable) in proctype.locals.iter().enumerate() {
            let is_constant = flow.constant(Some(number), local).is_some();
            locals.push((!is_constant).then(|| {
                let ty = variable_type(variable, builder);
                add(&variable.name, ty)
            }));
        }
        let var = (n > 0).then(|| {
            let record = builder.add_type(Type::Record { fields });
            let all = builder.array(n, record);
            add_var(builder, &proctype.name, all)
        });
        ProcessLayout {
            var,
            n,
            points,
            pids,
            priority,
            first_channel,
            locals,
            n_channels,
            waits,
        }
    }

    /// A field of an instance.
    pub(super) fn field(&self, slot: ExprId, field: u32) -> Place {
        let var = self.var.expect("there are instances");
        Place::var(var).at(slot).field(field)
    }

    /// The point that an instance is at.
    pub(super) fn at(&self, slot: ExprId) -> Place {
        self.field(slot, 0)
    }

    /// The field of the pid, where it is stored.
    pub(super) fn pid_field(&self) -> Option<u32> {
        match self.pids {
            Pids::Field(field) => Some(field),
            Pids::Constant(_) => None,
        }
    }

    /// The pid of an instance.
    pub(super) fn pid(&self, slot: ExprId, builder: &mut Builder<'_>) -> ExprId {
        match &self.pids {
            Pids::Field(field) => {
                let place = self.field(slot, *field);
                builder.read(place)
            }
            Pids::Constant(pids) => by_position(pids, slot, builder),
        }
    }
}

/// Names for points: the line, and a number where a line has several.
#[derive(Default)]
pub(super) struct PointNames {
    /// By line, the points that have a name.
    n_named: FxHashMap<Line, u32>,
}

impl PointNames {
    /// A name for a point in a line, unlike those before.
    pub(super) fn next(&mut self, line: Line) -> String {
        let n_named = self.n_named.entry(line.clone()).or_default();
        *n_named += 1;
        line.nth(*n_named - 1)
    }
}

/// The value at a position of a list.
fn by_position(values: &[i64], position: ExprId, builder: &mut Builder<'_>) -> ExprId {
    if let Some(known) = builder.known_int(position) {
        return builder.int(values.get(known as usize).copied().unwrap_or(0));
    }
    let first = values.first().copied().unwrap_or(0);
    if (first..).zip(values).all(|(next, value)| next == *value) {
        return builder.plus(position, first);
    }
    let segments = values.iter().enumerate().map(|(number, &value)| Segment {
        lo: number as i64,
        hi: number as i64,
        to: value,
    });
    let from = builder.range(0, values.len() as i64 - 1);
    builder.ir.maps.push(ValueMap {
        segments: segments.collect(),
        from,
    });
    let map = hadal_ir::ids::MapId::new(builder.ir.maps.len() - 1);
    builder.expr(Expr::Remap {
        value: position,
        map,
    })
}

impl ChannelStack {
    fn new(
        program: &Program,
        flow: &Flow,
        processes: &[ProcessLayout],
        n_global: u32,
        builder: &mut Builder<'_>,
    ) -> Option<Self> {
        let created = processes.iter();
        let created = created.map(|it| u64::from(it.n) * u64::from(it.n_channels));
        let wanted: u64 = created.sum();
        let mut kinds: Vec<usize> = Vec::new();
        for origin in flow.origins.iter().filter(|it| it.proctype.is_some()) {
            if !kinds.contains(&origin.channel) {
                kinds.push(origin.channel);
            }
        }
        if wanted == 0 {
            return None;
        }
        // Global channels have numbers, too. An array has at least one element.
        let room = (MAX_INSTANCES as u64).saturating_sub(n_global.into());
        let n = wanted.min(room).max(1) as u32;
        let types: Vec<&ChannelType> = kinds.iter().map(|&it| &program.channels[it]).collect();
        let capacity = types.iter().map(|it| it.capacity).max().unwrap_or(0).max(1);
        let n_fields = types.iter().map(|it| it.fields.len()).max().unwrap_or(0);
        let mut fields = Vec::new();
        for field in 0..n_fields {
            let ranges = types.iter().filter_map(|it| it.fields.get(field));
            let ranges = ranges.map(|scalar| scalar.range());
            let (lo, hi) = ranges.fold((0, 1), |(lo, hi), (a, b)| (lo.min(a), hi.max(b)));
            fields.push(match hi > i32::MAX.into() {
                true => builder.scalar(Scalar::Int),
                false => builder.range(lo, hi),
            });
        }
        let kind = builder.range(0, kinds.len() as i64);
        let queue = queue_type(capacity, &fields, builder);
        let fields = [("kind", kind), ("queue", queue)].map(|(name, ty)| Field {
            name: name.to_owned(),
            ty,
        });
        let element = builder.add_type(Type::Record {
            fields: fields.into(),
        });
        let all = builder.array(n, element);
        Some(ChannelStack {
            var: add_var(builder, STACK_NAME, all),
            n,
            may_be_full: wanted > room,
            kinds,
        })
    }
}

impl Registers {
    fn new(program: &Program, has_claim: bool, builder: &mut Builder<'_>) -> Option<Self> {
        let mut edges = program.proctypes.iter().flat_map(|it| &it.automaton.points);
        let keeps_control = edges.any(|point| point.edges.iter().any(|it| it.keeps_control));
        let rendezvous = program.channels.iter().filter(|it| it.capacity == 0);
        let n_fields = rendezvous.map(|it| it.fields.len()).max();
        if !keeps_control && n_fields.is_none() && !has_claim {
            return None;
        }
        let first = builder.ir.vars.len();
        let most = if has_claim {
            claim::CLAIM
        } else {
            super::HANDSHAKE
        };
        let control = builder.range(0, most);
        let control = add_var(builder, "_control", control);
        let handshake = n_fields.map(|n_fields| {
            let byte = builder.scalar(Scalar::Byte);
            let int = builder.scalar(Scalar::Int);
            Handshake {
                channel: add_var(builder, "_channel", byte),
                sender: add_var(builder, "_sender", byte),
                fields: (0..n_fields)
                    .map(|field| add_var(builder, &format!("_field{field}"), int))
                    .collect(),
            }
        });
        builder.ir.n_registers = builder.ir.vars.len() - first;
        Some(Registers { control, handshake })
    }
}

/// The edges that create processes: the process types that have them, and that they create.
fn runs(program: &Program) -> impl Iterator<Item = (usize, usize)> + '_ {
    let proctypes = program.proctypes.iter().enumerate();
    proctypes.flat_map(|(number, proctype)| {
        let edges = proctype.automaton.points.iter().flat_map(|it| &it.edges);
        edges.filter_map(move |edge| match &edge.action {
            Action::Run(run, _) => Some((number, run.proctype)),
            _ => None,
        })
    })
}

/// By process type, how many instances there is room for, and whether that is a guess.
///
/// An edge that is on no cycle is taken at most once by an instance.
fn instances(program: &Program, options: &LowerOptions) -> (Vec<u32>, bool) {
    let n_types = program.proctypes.len();
    let mut bounds: Vec<u64> = vec![0; n_types];
    for &proctype in &program.initial {
        bounds[proctype] += 1;
    }
    let initial = bounds.clone();
    let mut sites = Vec::new();
    for (number, proctype) in program.proctypes.iter().enumerate() {
        for (at, point) in proctype.automaton.points.iter().enumerate() {
            for edge in &point.edges {
                if let Action::Run(run, _) = &edge.action {
                    let repeats = reaches(&proctype.automaton, edge.target.index(), at);
                    sites.push((number, run.proctype, repeats));
                }
            }
        }
    }
    // As many rounds as a chain of types is long; what still grows then has no bound.
    let mut unbounded = vec![false; n_types];
    for round in 0..=n_types {
        let mut next = initial.clone();
        for &(by, of, repeats) in &sites {
            let n = match (bounds[by], repeats) {
                (0, _) => 0,
                (_, true) => u64::MAX / 512,
                (n, false) => n,
            };
            next[of] = next[of].saturating_add(n).min(u64::MAX / 256);
        }
        if round == n_types {
            for number in 0..n_types {
                unbounded[number] |= next[number] != bounds[number];
            }
        }
        bounds = next;
    }
    let most = MAX_INSTANCES as u64;
    let mut is_guess = false;
    let n = (0..n_types).map(|number| {
        if bounds[number] <= most && !unbounded[number] {
            return bounds[number] as u32;
        }
        let n = options.instances.max(initial[number] as u32 + 1);
        let n = n.min(MAX_INSTANCES as u32);
        is_guess |= n < MAX_INSTANCES as u32;
        n
    });
    (n.collect(), is_guess)
}

/// Whether a point can be reached from another.
fn reaches(automaton: &crate::automaton::Automaton, from: usize, to: usize) -> bool {
    let mut seen = vec![false; automaton.points.len()];
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            left.extend(
                automaton.points[at]
                    .edges
                    .iter()
                    .map(|it| it.target.index()),
            );
            for edge in &automaton.points[at].edges {
                if let Action::DStep { entry, .. } = &edge.action {
                    left.push(entry.index());
                }
            }
        }
    }
    false
}

/// Which instance an expression is about: the local that counts them, or a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Number(u32),
    Local(LocalId),
}

impl Slot {
    pub(super) fn expr(self, builder: &mut Builder<'_>) -> ExprId {
        match self {
            Slot::Number(number) => builder.int(number.into()),
            Slot::Local(local) => builder.local(local),
        }
    }
}
