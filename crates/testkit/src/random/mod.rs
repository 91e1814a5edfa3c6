//! Random programs that are well typed, for comparing generators with one another.
//!
//! A program is a function of its seed. It has few bits of state, so that a brute-force search can
//! visit all of it, and uses every construct of the language sooner or later.
//! Most of what could fault is guarded, or nothing but startstates would be reached;
//! [`Config`] sets how often it is not.
//!
//! With [`Config::symmetric`], elements of scalarsets are only compared, stored, passed and used as
//! indices, and loops over them do not depend on their order, so that permuting them maps the
//! reachable states onto themselves.

mod exprs;
mod frames;
mod measures;
mod places;
mod stmts;
mod types;

use hadal_ir::{Arithmetic, FileId, FunctionId, Program, ScalarsetId, Site, SiteId, TypeId};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// How programs are made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The most bits of a state.
    pub max_state_bits: u64,
    /// The most state variables.
    pub max_vars: usize,
    /// The most functions.
    pub max_functions: usize,
    /// The most rules.
    pub max_rules: usize,
    /// The most properties.
    pub max_properties: usize,
    /// How deep expressions go.
    pub expr_depth: u32,
    /// How deep statements go.
    pub stmt_depth: u32,
    /// The most statements of a block.
    pub block_len: usize,
    /// Whether scalarsets are used in the ways that keep their elements interchangeable.
    pub symmetric: bool,
    /// How often, of 1, something is left unguarded that may fault.
    pub faults: f64,
    /// How often, of 1, an invariant may be false.
    pub violations: f64,
    /// How often, of 1, a property is a cover or liveness property of single elements: one whose
    /// parameters are scalarsets and unions with them, and that mentions them.
    pub element_goals: f64,
    /// How often, of 1, a simple type that may be total is.
    pub totals: f64,
    /// Whether there are registers, which make steps of several firings, and what else such
    /// programs have: costs, conditions of ends, assertions that go on, other classes of errors.
    pub steps: bool,
    /// Whether there are measures. They may distinguish elements even where `symmetric` is set.
    pub measures: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_state_bits: 16,
            max_vars: 6,
            max_functions: 3,
            max_rules: 7,
            max_properties: 3,
            expr_depth: 3,
            stmt_depth: 2,
            block_len: 3,
            symmetric: false,
            faults: 0.02,
            violations: 0.2,
            element_goals: 0.0,
            totals: 0.0,
            steps: false,
            measures: false,
        }
    }
}

/// A random program that passes [`verify`](hadal_ir::verify::verify).
pub fn program(rng: &mut impl Rng, config: &Config) -> Program {
    program_from_seed(rng.next_u64(), config)
}

/// The program of a seed; a failing test prints the seed.
pub fn program_from_seed(seed: u64, config: &Config) -> Program {
    let mut program = Program::new(format!("random-{seed}"));
    program.add_file(format!("random-{seed} \"quoted\""));
    let mut maker = Maker {
        rng: Pcg64::seed_from_u64(seed),
        config: config.clone(),
        program,
        pool: Pool::default(),
        functions: Vec::new(),
        nesting: 0,
    };
    maker.make();
    maker.program
}

/// The program under construction.
struct Maker {
    rng: Pcg64,
    config: Config,
    program: Program,
    pool: Pool,
    /// What is known about the functions made so far.
    functions: Vec<Made>,
    /// Calls and computed indices around the current point; without a limit they would explode.
    nesting: u32,
}

/// The most calls and computed indices inside one another.
const MAX_NESTING: u32 = 2;

/// The types to choose from.
#[derive(Default)]
struct Pool {
    boolean: Option<TypeId>,
    integer: Option<TypeId>,
    /// Narrow simple types, for variables, indices and domains.
    simple: Vec<TypeId>,
    aggregates: Vec<TypeId>,
    multisets: Vec<TypeId>,
    scalarsets: Vec<ScalarsetId>,
}

/// What callers must know about a function.
#[derive(Clone, Copy)]
struct Made {
    id: FunctionId,
    /// Whether it writes nothing but what is passed to it by reference.
    pure: bool,
}

/// What the values of a type may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Bool,
    Int,
    /// Elements of a scalarset that must stay interchangeable.
    Element(ScalarsetId),
    /// Values of a union with such a scalarset.
    Union(TypeId),
}

impl Maker {
    fn make(&mut self) {
        self.make_types();
        self.make_vars();
        if self.config.steps {
            self.make_registers();
        }
        if self.chance(0.1) {
            self.program.arithmetic = match self.upto(2) {
                0 => Arithmetic {
                    min: 0,
                    max: 255,
                    wraps: false,
                },
                _ => Arithmetic {
                    min: -128,
                    max: 127,
                    wraps: self.chance(0.5),
                },
            };
        }
        for _ in 0..self.upto(self.config.max_functions) {
            self.make_function();
        }
        for _ in 0..1 + self.upto(1) {
            self.make_start();
        }
        let least = self.config.max_rules.div_ceil(2);
        for _ in 0..least + self.upto(self.config.max_rules - least) {
            self.make_rule();
        }
        for _ in 0..self.upto(self.config.max_properties) {
            self.make_property();
        }
        if self.config.measures {
            self.make_measures();
        }
    }

    /// A number from 0 to `most`.
    fn upto(&mut self, most: usize) -> usize {
        self.rng.random_range(0..=most)
    }

    fn int(&mut self, lo: i64, hi: i64) -> i64 {
        self.rng.random_range(lo..=hi)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.rng.random_bool(p)
    }

    /// One of some, `None` where there is none.
    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() {
            None
        } else {
            let position = self.upto(from.len() - 1);
            Some(from[position].clone())
        }
    }

    /// A position in the text; now and then a new one, some of them in another file or made by a
    /// macro.
    fn site(&mut self) -> SiteId {
        if self.chance(0.3) {
            let (line, column) = (self.int(1, 99) as u32, self.int(1, 80) as u32);
            // File and use come from these two draws, so that a seed keeps its program.
            let (file, used_at) = (line as usize % self.program.files.len(), column as usize);
            let is_macro = used_at.is_multiple_of(4) && used_at < self.program.sites.len();
            self.program.add_site(Site {
                file: FileId::new(file),
                line,
                column,
                used_at: is_macro.then(|| SiteId::new(used_at)),
            })
        } else {
            SiteId::new(self.upto(self.program.sites.len() - 1))
        }
    }

    /// A short name; some are awkward on purpose.
    fn name(&mut self, prefix: &str) -> String {
        match self.upto(20) {
            0 => String::new(),
            1 => format!("{prefix} \"quoted\" \\ line\nbreak ; \u{1}"),
            n => format!("{prefix}{n}"),
        }
    }
}

#[cfg(test)]
mod tests;
