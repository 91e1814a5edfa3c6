//! Which channels an expression may name: an analysis without regard to the order of steps.
//!
//! A declaration that creates channels is an *origin*. Every variable, and every field of the
//! messages of an origin, has the set of origins whose channels it may hold; assignments, arguments
//! of `run` and messages carry them on until nothing changes. Arithmetic on the number of a channel
//! makes it any channel.

use crate::program::{Action, Expr, Initial, Match, Place, Program, VarId, Variable};

/// A set of origins, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origins(Vec<u64>);

impl Origins {
    pub(super) fn contains(&self, origin: usize) -> bool {
        self.0
            .get(origin / 64)
            .is_some_and(|word| word >> (origin % 64) & 1 == 1)
    }

    pub(super) fn insert(&mut self, origin: usize) {
        if self.0.len() <= origin / 64 {
            self.0.resize(origin / 64 + 1, 0);
        }
        self.0[origin / 64] |= 1 << (origin % 64);
    }

    /// Adds all of `other`; whether there were new ones.
    fn extend(&mut self, other: &Origins) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut has_grown = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            has_grown |= *word | more != *word;
            *word |= more;
        }
        has_grown
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * self.0.len()).filter(|&origin| self.contains(origin))
    }
}

/// A declaration that creates channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The process type; none for a global variable.
    pub(super) proctype: Option<usize>,
    /// The variable.
    pub(super) var: usize,
    /// The kind of channel.
    pub(super) channel: usize,
    /// How many it creates at a time.
    pub(super) n: u32,
}

/// What may hold which channels.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) origins: Vec<Origin>,
    all: Origins,
    globals: Vec<Origins>,
    /// By process type and local variable.
    locals: Vec<Vec<Origins>>,
    /// By origin and field of its messages.
    fields: Vec<Vec<Origins>>,
    /// Variables that are assigned after they were created.
    assigned_globals: Vec<bool>,
    assigned_locals: Vec<Vec<bool>>,
}

impl Flow {
    pub(super) fn new(program: &Program) -> Self {
        let mut flow = Flow {
            globals: vec![Origins::default(); program.globals.len()],
            assigned_globals: vec![false; program.globals.len()],
            ..Flow::default()
        };
        flow.add_origins(program, None, &program.globals);
        for (number, proctype) in program.proctypes.iter().enumerate() {
            let n_locals = proctype.locals.len();
            flow.locals.push(vec![Origins::default(); n_locals]);
            flow.assigned_locals.push(vec![false; n_locals]);
            flow.add_origins(program, Some(number), &proctype.locals);
        }
        while flow.pass(program) {}
        flow
    }

    fn add_origins(&mut self, program: &Program, proctype: Option<usize>, vars: &[Variable]) {
        for (var, variable) in vars.iter().enumerate() {
            let Initial::Channel(channel) = variable.initial else {
                continue;
            };
            let number = self.origins.len();
            self.origins.push(Origin {
                proctype,
                var,
                channel,
                n: variable.n_elements() as u32,
            });
            self.all.insert(number);
            let n_fields = program.channels[channel].fields.len();
            self.fields.push(vec![Origins::default(); n_fields]);
            match proctype {
                None => self.globals[var].insert(number),
                Some(proctype) => self.locals[proctype][var].insert(number),
            }
        }
    }

    /// Follows every statement once; whether something was added.
    fn pass(&mut self, program: &Program) -> bool {
        let mut has_grown = false;
        for (number, variable) in program.globals.iter().enumerate() {
            let from = self.initial(0, &variable.initial);
            has_grown |= self.globals[number].extend(&from);
        }
        for (number, proctype) in program.proctypes.iter().enumerate() {
            for (local, variable) in proctype.locals.iter().enumerate() {
                let from = self.initial(number, &variable.initial);
                has_grown |= self.locals[number][local].extend(&from);
            }
            for edge in proctype.automaton.points.iter().flat_map(|it| &it.edges) {
                has_grown |= self.action(number, &edge.action);
            }
        }
        has_grown
    }

    fn initial(&self, proctype: usize, initial: &Initial) -> Origins {
        let mut origins = Origins::default();
        match initial {
            Initial::Expr(value) => origins = self.of(Some(proctype), value),
            Initial::List(values) => {
                for value in values {
                    origins.extend(&self.of(Some(proctype), value));
                }
            }
            Initial::Zero | Initial::Channel(_) | Initial::Param => {}
        }
        origins
    }

    fn action(&mut self, proctype: usize, action: &Action) -> bool {
        let own = Some(proctype);
        match action {
            Action::Assign(place, value) => {
                let from = self.of(own, value);
                self.store(proctype, place, &from)
            }
            Action::Send(send) => {
                let mut has_grown = false;
                for origin in self.of(own, &send.chan).iter() {
                    for (field, value) in send.args.iter().enumerate() {
                        let from = self.of(own, value);
                        if let Some(field) = self.fields[origin].get_mut(field) {
                            has_grown |= field.extend(&from);
                        }
                    }
                }
                has_grown
            }
            Action::Receive(receive) => {
                let mut has_grown = false;
                for origin in self.of(own, &receive.chan).iter() {
                    for (field, arg) in receive.args.iter().enumerate() {
                        let Match::Assign(place) = arg else {
                            continue;
                        };
                        let from = self.fields[origin].get(field).cloned().unwrap_or_default();
                        has_grown |= self.store(proctype, place, &from);
                    }
                }
                has_grown
            }
            Action::Run(run, target) => {
                let mut has_grown = false;
                for (param, value) in run.args.iter().enumerate() {
                    let from = self.of(own, value);
                    has_grown |= self.locals[run.proctype][param].extend(&from);
                }
                if let Some(place) = target {
                    has_grown |= self.store(proctype, place, &Origins::default());
                }
                has_grown
            }
            _ => false,
        }
    }

    fn store(&mut self, proctype: usize, place: &Place, from: &Origins) -> bool {
        match place.var {
            VarId::Global(var) => {
                self.assigned_globals[var] = true;
                self.globals[var].extend(from)
            }
            VarId::Local(var) => {
                self.assigned_locals[proctype][var] = true;
                self.locals[proctype][var].extend(from)
            }
            VarId::Scratch => false,
        }
    }

    /// The origins whose channels an expression of a process may name.
    pub(super) fn of(&self, proctype: Option<usize>, value: &Expr) -> Origins {
        match value {
            Expr::Read(place) => match (place.var, proctype) {
                (VarId::Global(var), _) => self.globals[var].clone(),
                (VarId::Local(var), Some(proctype)) => self.locals[proctype][var].clone(),
                _ => Origins::default(),
            },
            Expr::RemoteVar { proctype, var, .. } => self.locals[*proctype][*var].clone(),
            Expr::Cond(_, yes, no) => {
                let mut origins = self.of(proctype, yes);
                origins.extend(&self.of(proctype, no));
                origins
            }
            Expr::Unary(_, value) => self.computed(&[self.of(proctype, value)]),
            Expr::Binary(_, a, b, _) => {
                self.computed(&[self.of(proctype, a), self.of(proctype, b)])
            }
            _ => Origins::default(),
        }
    }

    /// What arithmetic makes of numbers of channels.
    fn computed(&self, operands: &[Origins]) -> Origins {
        match operands.iter().all(Origins::is_empty) {
            true => Origins::default(),
            false => self.all.clone(),
        }
    }

    /// The origin whose channels a variable always holds, each element its own.
    pub(super) fn constant(&self, proctype: Option<usize>, var: usize) -> Option<usize> {
        let is_assigned = match proctype {
            None => self.assigned_globals[var],
            Some(proctype) => self.assigned_locals[proctype][var],
        };
        let own = |origin: &Origin| (origin.proctype, origin.var) == (proctype, var);
        let origin = self.origins.iter().position(own)?;
        (!is_assigned).then_some(origin)
    }
}
