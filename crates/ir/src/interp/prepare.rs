//! What is computed once per program: offsets, frame layouts, the order of rules, the shape.

use hadal_model::{Component, Goal, GoalKind, Shape};

use super::instances;
use crate::effects::Effects;
use crate::goals::{Goals, count_instances};
use crate::ids::{LocalId, TypeId};
use crate::layout::Layout;
use crate::program::{Frame, LocalKind, Program, PropertyKind};
use crate::types::Type;

/// A program with its offsets.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) program: Program,
    pub(super) layout: Layout,
    /// By type id.
    pub(super) parts: Vec<Parts>,
    /// Types of variables that contain multisets, with their first bits.
    pub(super) bags: Vec<(TypeId, usize)>,
    pub(super) function_frames: Vec<FrameLayout>,
    pub(super) start_frames: Vec<FrameLayout>,
    pub(super) rule_frames: Vec<FrameLayout>,
    pub(super) property_frames: Vec<FrameLayout>,
    pub(super) measure_frames: Vec<FrameLayout>,
    /// Rules by priority and, within a priority, in source order.
    pub(super) rule_order: Vec<u32>,
    /// The assumptions among the properties.
    pub(super) assumptions: Vec<u32>,
    /// The ends among the properties.
    pub(super) ends: Vec<u32>,
    /// The invariants among the properties, with their numbers in the shape.
    pub(super) invariants: Vec<(u32, u32)>,
    /// The covers and liveness properties.
    pub(super) goals: Goals,
}

/// How to get to the parts of a type.
#[derive(Clone, Debug)]
pub(super) enum Parts {
    Simple {
        lo: i64,
        hi: i64,
        bits: u32,
        is_total: bool,
    },
    Array {
        index: TypeId,
        lo: i64,
        len: u64,
        stride: usize,
        element: TypeId,
    },
    Record {
        fields: Vec<(usize, TypeId)>,
    },
    Multiset {
        capacity: u32,
        stride: usize,
        element: TypeId,
    },
}

/// Where the locals of a frame lie, in bits from its first bit. Locals begin at bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameLayout {
    pub(super) locals: Vec<Slot>,
    pub(super) bytes: usize,
    /// Position among all frames of the program, those of functions first, then startstates, rules,
    /// properties and measures.
    pub(super) number: usize,
}

/// One local.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) offset: usize,
    pub(super) kind: LocalKind,
}

impl FrameLayout {
    fn new(program: &Program, frame: &Frame, number: usize) -> Self {
        let mut bytes = 0;
        let locals = frame.locals.iter().map(|local| {
            let offset = bytes * 8;
            bytes += match local.kind {
                LocalKind::Value(ty) => (program.types.bits(ty) as usize).div_ceil(8),
                LocalKind::Ref(_) | LocalKind::ConstRef(_) => 8,
            };
            Slot {
                offset,
                kind: local.kind,
            }
        });
        let locals = locals.collect();
        FrameLayout {
            locals,
            bytes,
            number,
        }
    }

    pub(super) fn slot(&self, local: LocalId) -> Slot {
        self.locals[local.index()]
    }
}

impl Prepared {
    pub(super) fn new(program: Program) -> Self {
        let layout = Layout::new(&program);
        let parts = (0..program.types.len())
            .map(|index| Parts::new(&program, TypeId::new(index)))
            .collect();
        let bags = program.vars.iter().enumerate();
        let bags = bags
            .filter(|(_, var)| program.types.has_multiset(var.ty))
            .map(|(index, var)| (var.ty, layout.var(crate::ids::VarId::new(index))))
            .collect();
        let mut number = 0;
        let mut frames = |frame: &Frame| {
            let layout = FrameLayout::new(&program, frame, number);
            number += 1;
            layout
        };
        let function_frames = program.functions.iter().map(|f| frames(&f.frame)).collect();
        let start_frames = program.starts.iter().map(|s| frames(&s.frame)).collect();
        let rule_frames = program.rules.iter().map(|r| frames(&r.frame)).collect();
        let property_frames = program
            .properties
            .iter()
            .map(|p| frames(&p.frame))
            .collect();
        let measure_frames = program.measures.iter().map(|m| frames(&m.frame)).collect();
        let mut rule_order: Vec<u32> = (0..program.rules.len() as u32).collect();
        rule_order.sort_by_key(|&rule| program.rules[rule as usize].priority);

        let mut prepared = Prepared {
            layout,
            parts,
            bags,
            function_frames,
            start_frames,
            rule_frames,
            property_frames,
            measure_frames,
            rule_order,
            assumptions: Vec::new(),
            ends: Vec::new(),
            invariants: Vec::new(),
            goals: Goals::new(&program),
            program,
        };
        let mut in_shape = 0;
        for (index, property) in prepared.program.properties.iter().enumerate() {
            let index = index as u32;
            match property.kind {
                PropertyKind::Assume => {
                    prepared.assumptions.push(index);
                    continue;
                }
                PropertyKind::End => {
                    prepared.ends.push(index);
                    continue;
                }
                PropertyKind::Invariant => prepared.invariants.push((index, in_shape)),
                PropertyKind::Cover | PropertyKind::Liveness => {}
            }
            in_shape += 1;
        }
        prepared
    }

    pub(super) fn shape(&self) -> Shape {
        let program = &self.program;
        let effects = Effects::of(program);
        let components = program
            .vars
            .iter()
            .enumerate()
            .map(|(index, var)| Component {
                name: var.name.clone(),
                first_bit: self.layout.var(crate::ids::VarId::new(index)),
                n_bits: program.types.bits(var.ty) as usize,
            });
        let rules = program
            .rules
            .iter()
            .enumerate()
            .map(|(index, rule)| hadal_model::Rule {
                name: rule.name.clone(),
                at: program.position(rule.site),
                reads: effects.rules[index].reads.clone(),
                writes: effects.rules[index].writes.clone(),
                cost: rule.cost,
            });
        let mut properties = Vec::new();
        let mut goals = Vec::new();
        for property in &program.properties {
            let (kind, goal) = match property.kind {
                PropertyKind::Assume | PropertyKind::End => continue,
                PropertyKind::Invariant => (hadal_model::PropertyKind::Invariant, None),
                PropertyKind::Cover => {
                    (hadal_model::PropertyKind::Cover, Some(GoalKind::CoverState))
                }
                PropertyKind::Liveness => (
                    hadal_model::PropertyKind::Liveness,
                    Some(GoalKind::Liveness),
                ),
            };
            if let Some(kind) = goal {
                for instance in 0..count_instances(&program.types, &property.params) {
                    goals.push(Goal {
                        property: properties.len() as u32,
                        kind,
                        parameters: instances::names(
                            program,
                            &property.frame,
                            &property.params,
                            instance,
                        ),
                    });
                }
            }
            properties.push(hadal_model::Property {
                kind,
                name: property.name.clone(),
                at: program.position(property.site),
            });
        }
        for point in &program.cover_points {
            goals.push(Goal {
                property: properties.len() as u32,
                kind: GoalKind::CoverStep,
                parameters: Vec::new(),
            });
            properties.push(hadal_model::Property {
                kind: hadal_model::PropertyKind::Cover,
                name: point.name.clone(),
                at: program.position(point.site),
            });
        }
        let measures = program.measures.iter().map(|measure| hadal_model::Measure {
            kind: measure.kind,
            name: measure.name.clone(),
        });
        Shape {
            state_bits: self.layout.state_bits,
            register_bits: self.layout.register_bits,
            state_len: self.layout.state_len,
            components: components.collect(),
            rules: rules.collect(),
            properties,
            goals,
            measures: measures.collect(),
            has_ends: !self.ends.is_empty(),
            expander_bytes: 0,
        }
    }
}

impl Parts {
    fn new(program: &Program, ty: TypeId) -> Self {
        let types = &program.types;
        match types.get(ty) {
            Type::Simple(simple) => Parts::Simple {
                lo: simple.lo,
                hi: simple.hi,
                bits: simple.bits(),
                is_total: simple.is_total,
            },
            Type::Array { index, element } => {
                let (lo, len) = types
                    .simple(*index)
                    .map_or((0, 0), |simple| (simple.lo, simple.len()));
                Parts::Array {
                    index: *index,
                    lo,
                    len,
                    stride: types.bits(*element) as usize,
                    element: *element,
                }
            }
            Type::Record { fields } => {
                let mut offset = 0;
                let fields = fields.iter().map(|field| {
                    let at = offset;
                    offset += types.bits(field.ty) as usize;
                    (at, field.ty)
                });
                Parts::Record {
                    fields: fields.collect(),
                }
            }
            Type::Multiset { capacity, element } => Parts::Multiset {
                capacity: *capacity,
                stride: types.bits(*element) as usize,
                element: *element,
            },
        }
    }
}
