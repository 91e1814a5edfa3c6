//! The variables of a state.
//!
//! Instances of a process type are the elements of an array of records, in the order of their pids:
//! processes are removed from the top only, so that those that exist are always the first ones. The
//! first field is the point that the process is at, 0 where there is no process; everything of an
//! absent process is 0.
//!
//! How many instances there is room for is found in [`instances`](super::instances), where channels
//! are in [`channels`](super::channels).

use hadal_ir::expr::{Expr, Place};
use hadal_ir::ids::{ExprId, LocalId, TypeId, VarId};
use hadal_ir::program::{Segment, ValueMap, Var};
use hadal_ir::types::{Field, Simple, SimpleKind, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LowerOptions;
use super::build::{Builder, Line};
use super::channels::{
    ChannelClass, ChannelStack, Member, STACK_NAME, class_name, global_channels,
};
use super::claim::{self, add_claim};
use super::instances::Instances;
use super::origins::Flow;
use crate::MAX_INSTANCES;
use crate::naming::{ClassNames, Naming, ProcessNames, Wait, chan_names, created, element_names};
use crate::program::{Claim, Program, Scalar, Variable};

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

impl Layout {
    pub(super) fn new(
        program: &Program,
        claim: Option<&Claim>,
        options: &LowerOptions,
        builder: &mut Builder<'_>,
    ) -> Self {
        let flow = Flow::new(program);
        let instances = Instances::new(program, options);
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
        for number in 0..program.proctypes.len() {
            let n_channels = n_channels(number);
            let process =
                ProcessLayout::new(program, number, &instances, n_channels, &flow, builder);
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
            is_guess: instances.is_guess,
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

impl ProcessLayout {
    fn new(
        program: &Program,
        number: usize,
        instances: &Instances,
        n_channels: u32,
        flow: &Flow,
        builder: &mut Builder<'_>,
    ) -> Self {
        let proctype = &program.proctypes[number];
        let n = instances.room[number];
        let (mut points, mut names) = (Vec::new(), vec!["-".to_owned()]);
        let mut point_names = PointNames::default();
        let mut waits = Vec::new();
        for (number, point) in proctype.automaton.points.iter().enumerate() {
            points.push((!point.in_dstep).then(|| {
                let line = builder.line(point.span);
                names.push(point_names.next(line.clone()));
                if !point.is_end && number != proctype.automaton.end.index() {
                    let mut known = FxHashSet::default();
                    let texts = point.edges.iter().map(|edge| edge.text.clone());
                    let statements = texts.filter(|text| known.insert(text.clone())).collect();
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
        let pids = match instances.is_run[number] {
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
