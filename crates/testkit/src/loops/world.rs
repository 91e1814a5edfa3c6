//! The types and variables of a model.

use std::fmt::Write;

use super::Dice;

/// A part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Var {
    /// `a: array [Proc] of boolean`
    A,
    /// `b: array [Proc] of boolean`
    B,
    /// `c: array [Proc] of 0..2`
    C,
    /// `rec[p].hot: boolean`
    Hot,
    /// `rec[p].level: 0..1`
    Level,
    /// `link: array [Proc] of Proc`, undefined at first
    Link,
    /// `colour: array [Proc] of Colour`, undefined at first
    Colour,
    /// `shade: array [Colour] of boolean`
    Shade,
    /// `owner: Proc`, undefined at first
    Owner,
    /// `pick: Colour`, undefined at first
    Pick,
    /// `n: 0..N`
    Count,
    /// `f: boolean`
    Flag,
    /// `net: multiset [capacity] of Proc`, or of records
    Net,
    /// `list: array [0..N-1] of Proc` with its length `len`
    List,
    /// `at: array [Node] of boolean`, over a union
    At,
}

/// What may be added to the first variables, some of it more often.
const EXTRA: [Var; 15] = [
    Var::B,
    Var::C,
    Var::C,
    Var::Level,
    Var::Link,
    Var::Colour,
    Var::Shade,
    Var::Owner,
    Var::Owner,
    Var::Pick,
    Var::Count,
    Var::Flag,
    Var::Net,
    Var::List,
    Var::At,
];

/// What a model is about.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Number of processes.
    pub(super) n: usize,
    /// Number of colours; 0 where there are none.
    pub(super) n_colours: usize,
    pub(super) vars: Vec<Var>,
    /// Room in the bag.
    pub(super) capacity: usize,
    /// Whether the bag holds records.
    pub(super) has_messages: bool,
    /// Steps before anything else happens; 0 where there is no such counter.
    pub(super) boot: usize,
    /// What a loop chooses elements for, while nothing else does, and nothing else changes until
    /// it is reset. Most wrong choices show in such models.
    pub(super) contest: Option<Var>,
}

impl World {
    /// Variables are added until there could be some thousand states.
    pub(super) fn random(dice: &mut Dice, innocent: bool) -> Self {
        let contest = match !innocent && dice.chance(55) {
            true => Some(*dice.one(&[Var::Owner, Var::Owner, Var::Owner, Var::List, Var::Net])),
            false => None,
        };
        let n = match contest {
            Some(_) => *dice.one(&[2, 3, 3, 3, 4]),
            None => *dice.one(&[2, 2, 3, 3, 3, 3, 4]),
        };
        // A long path to the first choice hides it from a check of the first states only.
        let percent = if contest.is_some() { 85 } else { 70 };
        let boot = !innocent && dice.chance(percent);
        let mut world = World {
            n,
            n_colours: *dice.one(&[0, 0, 2, 2, 3]),
            vars: Vec::new(),
            capacity: *dice.one(&[n, n, n, n - 1, n + 1]),
            has_messages: dice.chance(35),
            boot: if boot { 66 } else { 0 },
            contest,
        };
        let budget = *dice.one(&[100, 400, 1500, 3000]);
        if let Some(target) = contest {
            world.add(target, 1500);
            for var in [Var::A, Var::C, Var::Level, Var::B] {
                if dice.chance(60) {
                    world.add(var, 1500);
                }
            }
            if world.vars.iter().any(|var| World::is_cell(*var)) {
                return world;
            }
        }
        // Everything else relies on there being one.
        world.add(*dice.one(&[Var::A, Var::A, Var::Hot]), usize::MAX);
        if dice.chance(60) {
            world.add(Var::Owner, budget);
        }
        for _ in 0..dice.between(1, 6) {
            let var = *dice.one(&EXTRA);
            world.add(var, budget);
        }
        world
    }

    fn add(&mut self, var: Var, budget: usize) {
        let needs_colours = matches!(var, Var::Colour | Var::Shade | Var::Pick);
        if self.has(var) || needs_colours && self.n_colours == 0 {
            return;
        }
        let vars = self.vars.iter().chain([&var]);
        let n_states: usize = vars.map(|var| self.n_values(*var)).product();
        if n_states <= budget {
            self.vars.push(var);
        }
    }

    /// About how many values a variable takes.
    fn n_values(&self, var: Var) -> usize {
        let (n, n_colours) = (self.n, self.n_colours);
        let of_each = |values: usize| values.pow(n as u32);
        match var {
            Var::A | Var::B | Var::Hot | Var::Level | Var::Net => of_each(2),
            Var::C => of_each(3),
            Var::Link => of_each(n),
            Var::Colour => of_each(n_colours + 1),
            Var::Shade => 1 << n_colours,
            Var::Owner | Var::Count => n + 1,
            Var::Pick => n_colours + 1,
            Var::Flag => 2,
            Var::List => of_each(2),
            Var::At => 2 * of_each(2),
        }
    }

    pub(super) fn has(&self, var: Var) -> bool {
        self.vars.contains(&var)
    }

    /// Whether there is one for each process.
    pub(super) fn is_cell(var: Var) -> bool {
        let cells = [
            Var::A,
            Var::B,
            Var::C,
            Var::Hot,
            Var::Level,
            Var::Link,
            Var::Colour,
        ];
        cells.contains(&var)
    }

    /// Whether each process has a truth value there.
    pub(super) fn is_truth(var: Var) -> bool {
        matches!(var, Var::A | Var::B | Var::Hot)
    }

    /// Whether each process has a number there.
    pub(super) fn is_number(var: Var) -> bool {
        matches!(var, Var::C | Var::Level)
    }

    /// The greatest number of a cell with numbers.
    pub(super) fn top(var: Var) -> usize {
        if var == Var::C { 2 } else { 1 }
    }

    /// The type of what a cell holds, as declared.
    pub(super) fn cell_type(var: Var) -> &'static str {
        match var {
            Var::C => "Small",
            Var::Level => "Tiny",
            Var::Link => "Proc",
            Var::Colour => "Colour",
            _ => "boolean",
        }
    }

    /// The cell of a process.
    pub(super) fn cell(var: Var, process: &str) -> String {
        match var {
            Var::A => format!("a[{process}]"),
            Var::B => format!("b[{process}]"),
            Var::C => format!("c[{process}]"),
            Var::Hot => format!("rec[{process}].hot"),
            Var::Level => format!("rec[{process}].level"),
            Var::Link => format!("link[{process}]"),
            _ => format!("colour[{process}]"),
        }
    }

    /// The process in a slot of a bag.
    pub(super) fn element(&self, bag: &str, slot: &str) -> String {
        match self.has_messages {
            true => format!("{bag}[{slot}].src"),
            false => format!("{bag}[{slot}]"),
        }
    }

    /// What stands in front of a guard.
    pub(super) fn gate(&self) -> String {
        match self.boot {
            0 => String::new(),
            boot => format!("boot = {boot} & "),
        }
    }

    /// What else stands in front of a guard of a rule that gives elements their data.
    pub(super) fn pause(&self) -> &'static str {
        match self.contest {
            Some(Var::Owner) => "isundefined(owner) & ",
            Some(Var::List) => "len = 0 & ",
            Some(_) => "multisetcount(k: net, true) = 0 & ",
            None => "",
        }
    }

    pub(super) fn declare(&self, text: &mut String) {
        let (n, capacity) = (self.n, self.capacity);
        let _ = writeln!(text, "type\n  Proc: scalarset({n});");
        if self.n_colours > 0 {
            let _ = writeln!(text, "  Colour: scalarset({});", self.n_colours);
        }
        text.push_str("  Small: 0..2;\n  Tiny: 0..1;\n  Flags: array [Proc] of boolean;\n");
        if self.has(Var::At) {
            text.push_str("  Home: enum { Memory };\n  Node: union { Home, Proc };\n");
        }
        let element = match self.has_messages {
            true => {
                text.push_str("  Message: record src: Proc; kind: Tiny; end;\n");
                "Message"
            }
            false => "Proc",
        };
        let _ = writeln!(text, "  Bag: multiset [{capacity}] of {element};\nvar");
        if self.boot > 0 {
            let _ = writeln!(text, "  boot: 0..{};", self.boot);
        }
        if self.has(Var::Hot) || self.has(Var::Level) {
            text.push_str("  rec: array [Proc] of record hot: boolean; level: Tiny; end;\n");
        }
        for var in &self.vars {
            let _ = match var {
                Var::A => writeln!(text, "  a: Flags;"),
                Var::B => writeln!(text, "  b: Flags;"),
                Var::C => writeln!(text, "  c: array [Proc] of Small;"),
                Var::Hot | Var::Level => Ok(()),
                Var::Link => writeln!(text, "  link: array [Proc] of Proc;"),
                Var::Colour => writeln!(text, "  colour: array [Proc] of Colour;"),
                Var::Shade => writeln!(text, "  shade: array [Colour] of boolean;"),
                Var::Owner => writeln!(text, "  owner: Proc;"),
                Var::Pick => writeln!(text, "  pick: Colour;"),
                Var::Count => writeln!(text, "  n: 0..{n};"),
                Var::Flag => writeln!(text, "  f: boolean;"),
                Var::Net => writeln!(text, "  net: Bag;"),
                Var::List => writeln!(text, "  list: array [0..{}] of Proc; len: 0..{n};", n - 1),
                Var::At => writeln!(text, "  at: array [Node] of boolean;"),
            };
        }
    }

    /// Statements of a startstate. What holds elements stays undefined.
    pub(super) fn initialise(&self, text: &mut String) {
        if self.boot > 0 {
            text.push_str("  boot := 0;\n");
        }
        if self.has(Var::Hot) || self.has(Var::Level) {
            text.push_str("  for p: Proc do rec[p].hot := false; rec[p].level := 0; end;\n");
        }
        for var in &self.vars {
            text.push_str(match var {
                Var::A => "  for p: Proc do a[p] := false; end;\n",
                Var::B => "  for p: Proc do b[p] := false; end;\n",
                Var::C => "  for p: Proc do c[p] := 0; end;\n",
                Var::Shade => "  for u: Colour do shade[u] := false; end;\n",
                Var::Count => "  n := 0;\n",
                Var::Flag => "  f := false;\n",
                Var::List => "  len := 0;\n",
                Var::At => "  for y: Node do at[y] := false; end;\n",
                _ => "",
            });
        }
    }
}
