//! Where channels are in a state.
//!
//! Channels that global variables create exist always. Those of one kind are the elements of an
//! array; their numbers are known. Channels of processes are created and deleted with these, from
//! the top as well: a stack, whose elements have room for any kind of channel of a process.

use hadal_ir::ids::{TypeId, VarId};
use hadal_ir::types::{Field, Type};

use super::build::Builder;
use super::layout::{ProcessLayout, add_var};
use super::origins::Flow;
use crate::MAX_INSTANCES;
use crate::program::{ChannelType, Program, Scalar};

/// Fields of a queue.
pub(super) const QUEUE_LEN: u32 = 0;
pub(super) const QUEUE_MESSAGES: u32 = 1;
/// Fields of an element of the stack, where the kind is before the queue.
pub(super) const STACK_KIND: u32 = 0;
pub(super) const STACK_QUEUE: u32 = 1;

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

/// The variable that holds the channels of a class.
pub(super) fn class_name(class: usize) -> String {
    format!("_channels{class}")
}

/// The variable that holds the channels of processes.
pub(super) const STACK_NAME: &str = "_local_channels";

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

/// The kinds of channels that global variables create, the place of each variable's channels, and how
/// many there are.
pub(super) fn global_channels(
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

impl ChannelStack {
    /// None where processes create no channels.
    pub(super) fn new(
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
