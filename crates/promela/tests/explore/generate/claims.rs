//! Never claims and formulas for random programs.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::{Generator, Random, generator};

/// A process that never ends; SPIN refuses a loop that depends on nothing.
pub(crate) const ENDLESS: &str = "active proctype Endless() {\n  do :: (_nr_pr > 0) od\n}\n";

/// A random program with a never claim.
pub(crate) fn claimed(rng: &mut Pcg64Mcg) -> Random {
    let mut generator = generator(rng);
    let mut text = generator.program();
    text += generator.endless();
    text += &generator.claim();
    generator.finish(&text)
}

/// A random program with a formula, whose assertions are empty: a violation is one of the formula.
pub(crate) fn with_formula(rng: &mut Pcg64Mcg) -> Random {
    let mut generator = generator(rng);
    let mut text = String::from("#define assert(e) (true)\n");
    text += &generator.program();
    text += generator.endless();
    let formula = generator.formula(0);
    text += &format!("ltl f {{ {formula} }}\n");
    generator.finish(&text)
}

impl Generator<'_> {
    /// As a rule, a process that never ends: where the system can always move, claims are not asked
    /// about runs that end.
    fn endless(&mut self) -> &'static str {
        match self.chance(60) {
            true => ENDLESS,
            false => "",
        }
    }

    fn claim(&mut self) -> String {
        self.locals.clear();
        self.features.timeout = false;
        self.in_claim = true;
        let n = self.rng.random_range(1..5usize);
        let prefixes: Vec<&str> = (0..n)
            .map(|_| self.pick(&["", "", "", "end_", "accept_", "progress_"]))
            .collect();
        let labels: Vec<String> = (0..n).map(|i| format!("{}C{i}", prefixes[i])).collect();
        let mut stmts = Vec::new();
        for label in &labels {
            let stmt = match self.rng.random_range(0..8) {
                0..=3 => format!("do {} od", self.claim_options(&labels, true)),
                4 | 5 => format!("if {} fi", self.claim_options(&labels, false)),
                6 => self.condition(0),
                _ => format!("{}; {}", self.condition(0), self.condition(0)),
            };
            stmts.push(format!("{label}: {stmt}"));
        }
        self.in_claim = false;
        format!("never {{\n  {}\n}}\n", stmts.join(";\n  "))
    }

    fn claim_options(&mut self, labels: &[String], in_loop: bool) -> String {
        let n = self.rng.random_range(1..4);
        let mut options = Vec::new();
        for _ in 0..n {
            let guard = match self.rng.random_range(0..6) {
                0 | 1 => "true".to_owned(),
                _ => self.condition(0),
            };
            options.push(self.claim_option(guard, labels, in_loop));
        }
        match self.rng.random_range(0..6) {
            0 | 1 => options.push(self.claim_option("else".to_owned(), labels, in_loop)),
            2 => {
                let to = self.rng.random_range(0..labels.len());
                options.push(format!(":: goto {}", labels[to]));
            }
            _ => {}
        }
        options.join(" ")
    }

    fn claim_option(&mut self, guard: String, labels: &[String], in_loop: bool) -> String {
        let to = self.rng.random_range(0..labels.len());
        match self.rng.random_range(0..10) {
            0..=3 => format!(":: {guard}"),
            4..=6 => format!(":: {guard} -> goto {}", labels[to]),
            7 if in_loop => format!(":: {guard} -> break"),
            8 if guard != "else" => {
                format!(":: atomic {{ {guard} -> assert({}) }}", self.condition(1))
            }
            _ => format!(":: {guard} -> {}", self.condition(0)),
        }
    }

    fn formula(&mut self, depth: usize) -> String {
        if depth >= 3 || depth > 0 && self.chance(30) {
            return self.atom();
        }
        let choice = self.rng.random_range(0..12);
        let left = self.formula(depth + 1);
        match choice {
            0..=3 => return format!("([] {left})"),
            4 => return format!("(<> {left})"),
            5 => return format!("(! {left})"),
            _ => {}
        }
        let right = self.formula(depth + 1);
        let op = match choice {
            6 => "&&",
            7 => "||",
            8 => "->",
            9 => "U",
            10 => "W",
            _ => "V",
        };
        format!("({left} {op} {right})")
    }

    fn atom(&mut self) -> String {
        let atoms = [
            "(x == 1)",
            "(x == 0)",
            "(x < 2)",
            "(y == 0)",
            "(y != x)",
            "(b == 0)",
            "(len(q) > 0)",
            "(len(p) < 2)",
            "(u < 3)",
            "(t.f == 0)",
            "(a[0] == 0)",
        ];
        self.pick(&atoms).to_owned()
    }
}
