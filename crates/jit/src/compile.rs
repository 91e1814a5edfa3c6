//! From a program to executable memory.
//!
//! Functions are compiled by as many threads as there are processors, each one on its own, and
//! linked by one. The compiler's memory is freed before the first state is expanded.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Signature, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc, default_libcall_names};
use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::program::{Param, Program, PropertyKind};
use hadal_model::{Expander, Model, Shape, Step, Stop, Stopped};

use crate::call::{Code, Entry, Trial};
use crate::driver::Generator;
use crate::lower::call::{entry_signature, function_signature};
use crate::lower::item;
use crate::selectors::Selectors;
use crate::size::{self, Budget, Extent, Sizes};
use crate::unit::{Bag, Item, Registers, Unit, domain_len};

/// Why there is no native code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Cranelift has no code generator for this machine.
    #[error("there is no native code for this machine: {0}")]
    Machine(String),
    /// Cranelift rejected a function: an internal error.
    #[error("native code could not be made: {0}")]
    Compile(String),
    /// No thread of the compiler could be started.
    #[error("cannot start a thread of the compiler: {0}")]
    Thread(std::io::Error),
    /// The stop flag was raised.
    #[error("stopped while native code was made")]
    Stopped,
}

/// A program as a [`Model`], by native code.
#[derive(Debug)]
pub struct Native {
    // Declared before the code they point into, so dropped before it.
    pub(crate) entries: Entries,
    _code: Code,
    /// Constants that the code refers to by address.
    _images: Vec<Box<[u8]>>,
    _frame_bytes: Vec<AtomicU64>,
    pub(crate) interpreter: Interpreter,
    pub(crate) facts: Facts,
    /// See [`n_interpreted`](Self::n_interpreted).
    pub(crate) n_interpreted: AtomicU64,
    left_out: Vec<String>,
}

/// The compiled items.
#[derive(Debug)]
pub(crate) struct Entries {
    /// By priority, then in the order of the text.
    pub(crate) rules: Vec<Entry>,
    /// Rules, or parts of their instances, in the same order; see [`Selectors`].
    pub(crate) trials: Vec<Trial>,
    pub(crate) starts: Vec<Entry>,
    pub(crate) invariants: Vec<Entry>,
    pub(crate) goals: Vec<Entry>,
    /// The conditions under which the model may end.
    pub(crate) ends: Vec<Entry>,
    pub(crate) measures: Vec<Entry>,
}

/// What expanders need to know.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) bags: Vec<Bag>,
    /// Memory for locals.
    pub(crate) frame_bytes: usize,
    pub(crate) first_cover_point: usize,
    pub(crate) n_cover_points: usize,
    pub(crate) goal_words: usize,
    pub(crate) selectors: Selectors,
    /// Whether some rule does not cost 1.
    pub(crate) has_costs: bool,
    /// Words of a record beside a successor.
    pub(crate) record_words: usize,
    /// The registers, where sources at rest can be expanded without them.
    pub(crate) at_rest: Option<Registers>,
}

impl Native {
    /// Stack of a thread of the compiler: expressions may be nested deeply, and lowering recurses.
    pub const COMPILER_STACK: usize = 64 << 20;

    /// Compiles a verified program.
    pub fn new(program: Program, limits: Limits) -> Result<Self, Error> {
        Native::of(Interpreter::new(program, limits))
    }

    /// Compiles a program that is ready to be interpreted.
    pub fn of(interpreter: Interpreter) -> Result<Self, Error> {
        Native::within(interpreter, Budget::UNLIMITED, &Stop::new())
    }

    /// Compiles a program that is ready to be interpreted. Parts that are too large for the budget
    /// are [left out](Self::left_out). Fails soon after `stop` is raised.
    pub fn within(
        interpreter: Interpreter,
        budget: Budget<'_>,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let program = interpreter.program();
        let n_items = program.functions.len()
            + program.rules.len()
            + program.starts.len()
            + program.properties.len()
            + program.measures.len();
        let frame_bytes: Vec<AtomicU64> = (0..n_items).map(|_| AtomicU64::new(0)).collect();
        let images = Mutex::new(Vec::new());
        let unit = Unit::new(&interpreter, &frame_bytes, &images);

        let isa = isa()?;
        let builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
        let mut module = JITModule::new(builder);
        let call_conv = isa.default_call_conv();
        let items = unit.items();
        for &item in &items {
            let signature = signature(&unit, item, call_conv);
            let name = format!("{item:?}");
            let id = module
                .declare_function(&name, Linkage::Local, &signature)
                .map_err(|error| Error::Compile(error.to_string()))?;
            debug_assert_eq!(id.as_u32(), unit.number(item));
        }
        let mut left_out = Vec::new();
        let compiled = compile_all(&unit, &items, &*isa, budget, stop)?;
        for (number, compiled) in compiled.into_iter().enumerate() {
            if compiled.extent != Extent::All {
                left_out.push(unit.describe(items[number]));
            }
            module
                .define_function_bytes(
                    FuncId::from_u32(number as u32),
                    compiled.alignment,
                    &compiled.bytes,
                    &compiled.relocs,
                )
                .map_err(|error| Error::Compile(error.to_string()))?;
        }
        module
            .finalize_definitions()
            .map_err(|error| Error::Compile(error.to_string()))?;

        let address =
            |item: Item| module.get_finalized_function(FuncId::from_u32(unit.number(item)));
        let of_kind = |kinds: &[PropertyKind]| -> Vec<*const u8> {
            let properties = program.properties.iter().enumerate();
            properties
                .filter(|(_, property)| kinds.contains(&property.kind))
                .map(|(index, _)| address(Item::Property(index)))
                .collect()
        };
        let mut order: Vec<usize> = (0..program.rules.len()).collect();
        order.sort_by_key(|&rule| program.rules[rule].priority);
        let selectors = Selectors::of(&unit, &order);
        let n_values = |params: &[Param]| {
            let first = params.first();
            first.map_or(1, |param| domain_len(program, &param.domain))
        };
        let rules: Vec<(*const u8, u64)> = order
            .into_iter()
            .map(|rule| {
                let n_values = n_values(&program.rules[rule].params);
                (address(Item::Rule(rule)), n_values)
            })
            .collect();
        let starts: Vec<(*const u8, u64)> = (0..program.starts.len())
            .map(|start| {
                let n_values = n_values(&program.starts[start].params);
                (address(Item::Start(start)), n_values)
            })
            .collect();
        let invariants = of_kind(&[PropertyKind::Invariant]);
        let goals = of_kind(&[PropertyKind::Cover, PropertyKind::Liveness]);
        let ends = of_kind(&[PropertyKind::End]);
        let measures = (0..program.measures.len()).map(|index| address(Item::Measure(index)));
        let measures: Vec<*const u8> = measures.collect();
        let goal_words = unit.goal_words();
        let facts = Facts {
            bags: unit.bags.clone(),
            frame_bytes: memory_for_locals(&unit),
            first_cover_point: unit.first_cover_point(),
            n_cover_points: program.cover_points.len(),
            goal_words,
            selectors,
            has_costs: program.rules.iter().any(|rule| rule.cost != 1),
            record_words: unit.registers.map_or(0, Registers::record_words),
            at_rest: unit.registers.filter(|_| is_simple_at_rest(&unit)),
        };
        drop(unit);
        let code = Code::new(module);
        let commands = |addresses: Vec<(*const u8, u64)>| -> Vec<Entry> {
            let addresses = addresses.into_iter();
            addresses
                .map(|(address, n_values)| code.command(address, n_values))
                .collect()
        };
        let properties = |addresses: Vec<*const u8>, goal_words| -> Vec<Entry> {
            let addresses = addresses.into_iter();
            addresses
                .map(|address| code.property(address, goal_words))
                .collect()
        };
        let rules = commands(rules);
        let entries = Entries {
            trials: Trial::all(facts.selectors.trials(), &rules),
            rules,
            starts: commands(starts),
            invariants: properties(invariants, 0),
            goals: properties(goals, goal_words),
            ends: properties(ends, 0),
            measures: properties(measures, 0),
        };
        let images = images
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok(Native {
            entries,
            _code: code,
            _images: images,
            _frame_bytes: frame_bytes,
            interpreter,
            facts,
            n_interpreted: AtomicU64::new(0),
            left_out,
        })
    }

    /// Rules, startstates, properties, measures and functions that have no native code, because it would
    /// have taken too much memory or time, e.g. `rule "grant"`. They are interpreted.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Number of states left to the interpreter so far: those with a fault, which it describes,
    /// those that reach a part that is [left out](Self::left_out), and no others.
    pub fn n_interpreted(&self) -> u64 {
        self.n_interpreted.load(Ordering::Relaxed)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        self.interpreter.program()
    }

    /// The interpreter of the same program.
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }
}

impl Model for Native {
    fn shape(&self) -> &Shape {
        self.interpreter.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Generator::new(self, stop))
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.interpreter.expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.interpreter.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.interpreter.describe_step(parent, index)
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        self.interpreter.reference_step(parent, index, stop)
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        self.interpreter.describe_steps(parent, stop, each)
    }
}

/// Whether sources at rest can be expanded without registers. What a firing counts can be taken back
/// if it counts nothing but itself; helpers for multisets expect states in their full length; and
/// successors are told apart by marks.
fn is_simple_at_rest(unit: &Unit<'_>) -> bool {
    let n_marked = unit.marks.iter().flatten().count();
    unit.assumptions.is_empty()
        && unit.program.cover_points.is_empty()
        && unit.bags.is_empty()
        && 2 * n_marked > unit.marks.len()
}

/// What locals are given at first.
///
/// Functions call only themselves and earlier ones, so of the calls that nest at a time, a function
/// has one, or as many as the limit allows if it calls itself. That is fetched from the operating
/// system only where it is touched. It is bounded like the stack; where recursion over huge locals
/// goes deep, native code asks for more ([`Scratch::grow`](crate::call::Scratch::grow)).
fn memory_for_locals(unit: &Unit<'_>) -> usize {
    let bytes = |item: Item| unit.frame_bytes[unit.number(item) as usize].load(Ordering::Relaxed);
    let (mut functions, mut properties, mut others) = (0, 0, 0);
    for item in unit.items() {
        match item {
            Item::Function(_) => functions += bytes(item),
            Item::Property(_) | Item::Measure(_) => properties = bytes(item).max(properties),
            Item::Rule(_) | Item::Start(_) => others = bytes(item).max(others),
        }
    }
    let recursive = unit.recursive.iter().enumerate();
    let recursive = recursive.filter(|(_, calls_itself)| **calls_itself);
    let largest = recursive.map(|(index, _)| bytes(Item::Function(index)));
    let recursion = largest
        .max()
        .unwrap_or(0)
        .saturating_mul(u64::from(unit.limits.call_depth))
        .min(unit.limits.stack_bytes as u64);
    (functions + properties + others + recursion) as usize
}

fn isa() -> Result<OwnedTargetIsa, Error> {
    let machine = |error: String| Error::Machine(error);
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", verifier),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
    ] {
        flags
            .set(name, value)
            .map_err(|error| machine(error.to_string()))?;
    }
    let builder = cranelift_native::builder().map_err(|error| machine(error.to_owned()))?;
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| machine(error.to_string()))
}

fn signature(unit: &Unit<'_>, item: Item, call_conv: CallConv) -> Signature {
    match item {
        Item::Function(index) => {
            let n_params = unit.program.functions[index].params.len();
            function_signature(call_conv, n_params)
        }
        _ => entry_signature(call_conv),
    }
}

/// A compiled function, before it has an address.
struct Compiled {
    extent: Extent,
    alignment: u64,
    bytes: Vec<u8>,
    relocs: Vec<ModuleReloc>,
}

/// Compiles all items, in their order.
fn compile_all(
    unit: &Unit<'_>,
    items: &[Item],
    isa: &dyn TargetIsa,
    budget: Budget<'_>,
    stop: &Stop,
) -> Result<Vec<Compiled>, Error> {
    let sizes = Sizes::of(unit.program);
    // A thread is worth it for some dozens of functions.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let n_threads = processors.min(items.len() / 16).max(1);
    let next = AtomicUsize::new(0);
    // Bytes that functions being generated may still take.
    let claimed = AtomicU64::new(0);
    let work = || -> Result<Vec<(usize, Compiled)>, Error> {
        let mut context = Context::new();
        let mut builder = FunctionBuilderContext::new();
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&item) = items.get(number) else {
                return Ok(done);
            };
            if stop.is_raised() {
                return Err(Error::Stopped);
            }
            let size = sizes.item(item);
            let extent = budget.extent(item, size, claimed.load(Ordering::Relaxed));
            let claim = size::bytes_for(match extent {
                Extent::All => size.total(),
                Extent::Guard => size.condition,
                Extent::Nothing => 0,
            });
            claimed.fetch_add(claim, Ordering::Relaxed);
            let compiled = compile(unit, item, extent, isa, &mut context, &mut builder);
            claimed.fetch_sub(claim, Ordering::Relaxed);
            done.push((number, compiled?));
        }
    };
    let results = std::thread::scope(|scope| {
        // Even a single one gets a thread of its own, for its stack.
        let threads: Vec<_> = (0..n_threads)
            .map(|_| {
                std::thread::Builder::new()
                    .stack_size(Native::COMPILER_STACK)
                    .spawn_scoped(scope, work)
            })
            .collect();
        // One thread does all the work where the system allows no more.
        let is_started = threads.iter().any(Result::is_ok);
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            let thread = match thread {
                Ok(thread) => thread,
                Err(_) if is_started => return Ok(Vec::new()),
                Err(error) => return Err(Error::Thread(error)),
            };
            let failed = |_| Error::Compile("a thread of the compiler failed".to_owned());
            thread.join().map_err(failed)?
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
    })?;
    let mut all: Vec<(usize, Compiled)> = results.into_iter().flatten().collect();
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, compiled)| compiled).collect())
}

fn compile(
    unit: &Unit<'_>,
    item: Item,
    extent: Extent,
    isa: &dyn TargetIsa,
    context: &mut Context,
    builder: &mut FunctionBuilderContext,
) -> Result<Compiled, Error> {
    let number = unit.number(item);
    let call_conv = isa.default_call_conv();
    context.clear();
    context.func.signature = signature(unit, item, call_conv);
    context.func.name = UserFuncName::user(0, number);
    let config = isa.frontend_config();
    let function = &mut context.func;
    let frame = item::lower(unit, item, extent, function, builder, call_conv, config);
    unit.frame_bytes[number as usize].store(frame, Ordering::Relaxed);
    let result = context.compile(isa, &mut ControlPlane::default());
    let code = result.map_err(|error| Error::Compile(format!("{item:?}: {:?}", error.inner)))?;
    let alignment = u64::from(code.buffer.alignment);
    let bytes = code.buffer.data().to_vec();
    let relocs: Vec<_> = code.buffer.relocs().to_vec();
    let relocs = relocs
        .iter()
        .map(|reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, FuncId::from_u32(number)))
        .collect();
    Ok(Compiled {
        extent,
        alignment,
        bytes,
        relocs,
    })
}
