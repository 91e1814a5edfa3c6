//! The check of loops in all orders, from the outside: models in, dependences out.

mod loops;
mod random;
mod run;

use std::collections::{HashSet, VecDeque};

use hadal_ir::interp::{CheckedLoop, Interpreter, Item, Limits, OrderChecks};
use hadal_ir::stmt::{Block, StmtKind};
use hadal_ir::walk::{Mention, Reach, for_each_mention, for_each_stmt};
use hadal_ir::{Domain, Expr, Frame, FunctionId, Guard, LocalId, LocalKind, Program, SiteId};
use hadal_model::{Fault, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};
use hadal_murphi::{Options, compile};
use hadal_syntax::{Renderer, Source};

/// The program of a Murphi text.
fn program(text: &str) -> Program {
    let source = Source::new("test.m", text).unwrap();
    let compiled = compile(&source, &Options::default());
    let Some(program) = compiled.program else {
        let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
        panic!("{messages}\n{text}");
    };
    program
}

fn interpreter(text: &str) -> Interpreter {
    Interpreter::new(program(text), Limits::default())
}

/// Checks every loop over the values of a type. Private are the locals of these names, aliases, and
/// the variables of other loops, which nothing reads outside their loops.
fn all_loops(program: &Program, private: &[&str]) -> OrderChecks {
    let mut checks = OrderChecks::default();
    for (number, function) in program.functions.iter().enumerate() {
        let item = Item::Function(FunctionId::new(number));
        let mut found = Finder::new(program, item, &function.frame, private);
        found.n_params = function.params.len();
        found.block(&function.body);
        found.finish(&mut checks);
    }
    for (number, rule) in program.rules.iter().enumerate() {
        let mut found = Finder::new(program, Item::Rule(number as u32), &rule.frame, private);
        found.guard(&rule.guard);
        found.block(&rule.body);
        found.finish(&mut checks);
    }
    for (number, property) in program.properties.iter().enumerate() {
        let item = Item::Property(number as u32);
        let mut found = Finder::new(program, item, &property.frame, private);
        found.guard(&property.condition);
        found.finish(&mut checks);
    }
    checks
}

struct Finder<'a> {
    program: &'a Program,
    item: Item,
    frame: &'a Frame,
    n_params: usize,
    names: &'a [&'a str],
    reach: Reach<'a>,
    /// Variables of loops, with what they run over.
    found: Vec<(LocalId, &'a Domain, SiteId)>,
}

impl<'a> Finder<'a> {
    fn new(program: &'a Program, item: Item, frame: &'a Frame, names: &'a [&'a str]) -> Self {
        Finder {
            program,
            item,
            frame,
            n_params: 0,
            names,
            reach: Reach::new(program),
            found: Vec::new(),
        }
    }

    fn guard(&mut self, guard: &'a Guard) {
        self.block(&guard.prologue);
        if let Some(condition) = guard.condition {
            self.mention(Mention::Expr(condition));
        }
    }

    fn block(&mut self, block: &'a Block) {
        for_each_stmt(block, &mut |stmt| {
            if let StmtKind::For { var, domain, .. } = &stmt.kind {
                self.found.push((*var, domain, stmt.site));
            }
        });
        let mut mentions = Vec::new();
        for_each_mention(block, &mut |mention| mentions.push(mention));
        for mention in mentions {
            self.mention(mention);
        }
    }

    fn mention(&mut self, mention: Mention) {
        let program = self.program;
        let found = &mut self.found;
        self.reach.visit(mention, &mut |inner| {
            if let Mention::Expr(id) = inner
                && let Expr::Quantified { var, domain, .. } = program.expr(id)
            {
                found.push((*var, domain, program.expr_site(id)));
            }
        });
    }

    fn finish(self, checks: &mut OrderChecks) {
        let mut private: Vec<LocalId> = self.found.iter().map(|(var, ..)| *var).collect();
        for (index, local) in self.frame.locals.iter().enumerate() {
            let is_alias = index >= self.n_params && !matches!(local.kind, LocalKind::Value(_));
            if is_alias || self.names.contains(&&*local.name) {
                private.push(LocalId::new(index));
            }
        }
        for (var, domain, site) in self.found {
            if matches!(domain, Domain::Type(_)) {
                checks.loops.push(CheckedLoop {
                    item: self.item,
                    var,
                    site,
                    private: private.clone(),
                });
            }
        }
    }
}

/// All reachable states, in order of discovery. States with faults lead nowhere.
fn reachable(interpreter: &Interpreter) -> Vec<Vec<u8>> {
    let stop = Stop::new();
    let mut expander = interpreter.expander(&stop);
    let mut out = Successors::new(interpreter.shape(), 64);
    let mut seen = HashSet::new();
    let mut states = Vec::new();
    let mut pending = VecDeque::from([None::<Vec<u8>>]);
    while let Some(state) = pending.pop_front() {
        let padded = state.map(|state| padded(&state));
        let block = padded
            .as_ref()
            .map(|bytes| States::new(bytes, bytes.len() - PAD_BYTES, 1));
        let ended = for_each_batch::<()>(&mut *expander, block, &mut out, |_, out| {
            for state in out.states().iter() {
                if seen.insert(state.to_vec()) {
                    states.push(state.to_vec());
                    pending.push_back(Some(state.to_vec()));
                }
            }
            std::ops::ControlFlow::Continue(())
        });
        assert!(ended.is_ok());
        assert!(states.len() < 10_000, "the model is too large for a test");
    }
    states
}

fn padded(state: &[u8]) -> Vec<u8> {
    let mut padded = state.to_vec();
    padded.resize(state.len() + PAD_BYTES, 0);
    padded
}

/// What the check of a model finds first, in the order of the states, or how often its loops were
/// evaluated.
fn verdict(text: &str, private: &[&str]) -> String {
    let interpreter = interpreter(text);
    let checks = all_loops(interpreter.program(), private);
    let stop = Stop::new();
    let mut checker = interpreter.order_checker(&checks, &stop);
    for state in reachable(&interpreter) {
        if let Some(fault) = checker.check_rules(&state).unwrap() {
            return rendered(&fault);
        }
        let found = checker.check_properties(&state, |_| true).unwrap();
        if let Some((property, fault)) = found.first() {
            let name = &interpreter.shape().properties[*property as usize].name;
            assert_eq!(*name, fault.name);
            return rendered(fault);
        }
    }
    format!("independent, evaluated {:?}", checker.take_evaluations())
}

fn rendered(fault: &Fault) -> String {
    let parameters = fault.parameters.iter();
    let parameters = parameters.map(|(name, value)| format!(" {name}={value}"));
    let parameters: String = parameters.collect();
    let Fault {
        kind,
        at,
        name,
        phase,
        message,
        ..
    } = fault;
    format!("{at}: {kind} in {phase:?} of \"{name}\"{parameters}\n{message}\n")
}
