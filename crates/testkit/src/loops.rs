//! Random Murphi models rich in loops over interchangeable elements.
//!
//! Reduction by symmetry is sound only where no loop over a scalarset depends on the order of its
//! passes. These models provoke errors of a checker on either side: *innocent* ones are built from
//! patterns that do not depend on the order (each pass works on its own element, adds, sets a flag,
//! fills a bag with room for all, …), *wild* ones also from patterns that do (the last element
//! stays, the first match returns, a fault or an assumption comes first, a budget runs out, an
//! index outlives its element, …). What is chosen in a loop is compared with the data of the other
//! elements by invariants, so that a wrong `verified` shows.
//!
//! A model is a function of its seed. It is text, so that one that fails can be read. It has some
//! thousand states at most, as a rule.

mod calls;
mod conditions;
mod innocent;
mod locals;
mod properties;
mod soup;
mod unions;
mod wild;
mod winners;
mod world;

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use world::{Var, World};

/// A model and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomModel {
    /// The text of the model.
    pub text: String,
    /// Whether it is made of patterns only that do not depend on the order of passes.
    pub innocent: bool,
}

/// The model of a seed.
pub fn model_from_seed(seed: u64) -> RandomModel {
    let mut dice = Dice(Pcg64::seed_from_u64(seed));
    let innocent = dice.chance(40);
    let world = World::random(&mut dice, innocent);
    let mut maker = Maker {
        has_chosen_start: dice.chance(12),
        dice,
        world,
        innocent,
        keeps_last: false,
        n_names: 0,
        locals: Vec::new(),
        functions: String::new(),
        rules: String::new(),
    };
    RandomModel {
        text: maker.model(),
        innocent,
    }
}

/// The source of all choices.
struct Dice(Pcg64);

impl Dice {
    fn between(&mut self, least: usize, most: usize) -> usize {
        self.0.random_range(least..=most)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// One of some; there must be one.
    fn one<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.0.random_range(0..from.len())]
    }
}

/// The elements that can be named at a point of the text, all of them defined.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// The element of the innermost loop, if a pass of it may rely on what it wrote itself.
    own: Option<String>,
    /// Other processes.
    others: Vec<String>,
    /// Colours, which are elements of the second scalarset.
    colours: Vec<String>,
}

impl Scope {
    /// The processes of a ruleset.
    fn of(others: &[String]) -> Self {
        Scope {
            others: others.to_vec(),
            ..Scope::default()
        }
    }

    /// Inside a loop over processes.
    fn with_own(&self, own: &str) -> Self {
        let mut scope = self.with_other(own);
        scope.others.pop();
        scope.own = Some(own.to_owned());
        scope
    }

    /// Inside a loop whose passes share what they write.
    fn with_other(&self, other: &str) -> Self {
        let mut scope = self.clone();
        scope.others.extend(scope.own.take());
        scope.others.push(other.to_owned());
        scope
    }

    fn with_colour(&self, colour: &str) -> Self {
        let mut scope = self.clone();
        scope.others.extend(scope.own.take());
        scope.colours.push(colour.to_owned());
        scope
    }

    fn processes(&self) -> Vec<String> {
        self.own.iter().chain(&self.others).cloned().collect()
    }
}

/// The model under construction.
struct Maker {
    dice: Dice,
    world: World,
    innocent: bool,
    /// Whether the startstate chooses an element, so that startstates are not symmetric.
    has_chosen_start: bool,
    /// Whether the loop that chooses keeps the last element, and not the first one.
    keeps_last: bool,
    n_names: usize,
    /// Declarations of locals of the body under construction.
    locals: Vec<String>,
    functions: String,
    rules: String,
}

impl Maker {
    fn model(&mut self) -> String {
        let n_acts = match self.world.contest {
            Some(_) => 1,
            None => self.dice.between(1, 3),
        };
        // A wild model has innocent loops too: one bad pattern among good ones.
        let wild_one = self.dice.between(1, n_acts);
        for number in 1..=n_acts {
            let is_wild = !self.innocent && (number == wild_one || self.dice.chance(50));
            self.act(is_wild);
        }
        if self.world.has(Var::Net) && self.world.contest.is_none() {
            self.choose_rule();
        }
        self.stirring_rules();
        let properties = self.properties();
        let mut text = String::new();
        self.world.declare(&mut text);
        text.push_str(&self.functions);
        self.startstate(&mut text);
        text.push_str(&self.rules);
        text.push_str(&properties);
        text
    }

    /// A rule with loops, in a ruleset or outside.
    fn act(&mut self, is_wild: bool) {
        let parameters: Vec<String> = match self.dice.between(0, 9) {
            // Two elements that vie with each other.
            0 | 1 if self.world.contest.is_some() => vec![self.name("q"), self.name("q")],
            _ if self.world.contest.is_some() => Vec::new(),
            0..=5 => Vec::new(),
            6..=8 => vec![self.name("q")],
            _ => vec![self.name("q"), self.name("q")],
        };
        let scope = Scope::of(&parameters);
        let (pause, target) = (self.world.pause(), self.target());
        let guard = match self.dice.chance(70) {
            true => format!("{pause}{}", self.condition(&scope, &target, 1)),
            false => format!("{pause}true"),
        };
        let (body, locals) = self.with_locals(|maker| {
            let mut body = match is_wild {
                true => maker.wild_block(&scope),
                false => maker.innocent_block(&scope),
            };
            if maker.world.contest.is_none() && maker.dice.chance(35) {
                let more = match is_wild && maker.dice.chance(50) {
                    true => maker.wild_block(&scope),
                    false => maker.innocent_block(&scope),
                };
                body = format!("{body}\n  {more}");
            }
            body
        });
        self.rule(&parameters, &guard, &locals, &body);
    }

    /// Writes a rule, behind the boot counter where there is one.
    fn rule(&mut self, parameters: &[String], guard: &str, locals: &str, body: &str) {
        let name = self.name("r");
        let gate = self.world.gate();
        let parameters: Vec<String> = parameters.iter().map(|it| format!("{it}: Proc")).collect();
        let rule = format!("rule \"{name}\" {gate}({guard}) ==>{locals}\n  {body}\nend;");
        let _ = match parameters.is_empty() {
            true => writeln!(self.rules, "{rule}"),
            false => writeln!(
                self.rules,
                "ruleset {} do {rule} end;",
                parameters.join("; ")
            ),
        };
    }

    /// Rules that give elements data of their own, without loops.
    fn stirring_rules(&mut self) {
        let mut vars = self.world.vars.clone();
        if vars.len() > 2 && self.world.contest.is_none() && self.dice.chance(60) {
            let gone = self.dice.between(0, vars.len() - 1);
            vars.remove(gone);
        }
        for var in vars {
            self.stirring_rule(var);
        }
        if self.world.boot > 0 {
            let boot = self.world.boot;
            let _ = writeln!(
                self.rules,
                "rule \"boot\" boot < {boot} ==> boot := boot + 1; end;"
            );
        }
    }

    fn stirring_rule(&mut self, var: Var) {
        let p = self.name("s");
        let one = std::slice::from_ref(&p);
        let pause = self.world.pause();
        match var {
            Var::A | Var::B | Var::Hot => {
                let place = World::cell(var, &p);
                let (set, is_unset) = (format!("{place} := true;"), format!("{pause}!{place}"));
                match self.dice.between(0, 2) {
                    0 => {
                        let toggle = format!("{place} := !{place};");
                        self.rule(one, &format!("{pause}true"), "", &toggle);
                    }
                    1 => self.rule(one, &is_unset, "", &set),
                    _ => {
                        self.rule(one, &is_unset, "", &set);
                        let (guard, unset) =
                            (format!("{pause}{place}"), format!("{place} := false;"));
                        self.rule(one, &guard, "", &unset);
                    }
                }
            }
            Var::C | Var::Level => {
                let (place, top) = (World::cell(var, &p), World::top(var));
                let step = format!("{place} := {place} + 1;");
                self.rule(one, &format!("{pause}{place} < {top}"), "", &step);
                if self.dice.chance(60) {
                    let reset = format!("{place} := 0;");
                    self.rule(one, &format!("{pause}{place} > 0"), "", &reset);
                }
            }
            Var::Link => {
                let q = self.name("s");
                let two = [p.clone(), q.clone()];
                let guard = format!("{p} != {q} & isundefined(link[{p}])");
                self.rule(&two, &guard, "", &format!("link[{p}] := {q};"));
                let (guard, cut) = (
                    format!("!isundefined(link[{p}])"),
                    format!("undefine link[{p}];"),
                );
                self.rule(one, &guard, "", &cut);
            }
            Var::Colour => {
                let gate = self.world.gate();
                let name = self.name("r");
                let _ = writeln!(
                    self.rules,
                    "ruleset {p}: Proc; u: Colour do rule \"{name}\" {gate}isundefined(colour[{p}]) | \
                     colour[{p}] != u ==> colour[{p}] := u; end; end;"
                );
            }
            Var::Shade => {
                let gate = self.world.gate();
                let name = self.name("r");
                let _ = writeln!(
                    self.rules,
                    "ruleset u: Colour do rule \"{name}\" {gate}true ==> \
                     shade[u] := !shade[u]; end; end;"
                );
            }
            Var::Owner => {
                // Where nothing else sets it, what a loop puts there is easier to tell.
                if self.world.contest.is_none() && self.dice.chance(25) {
                    self.rule(one, "isundefined(owner)", "", &format!("owner := {p};"));
                }
                self.rule(&[], "!isundefined(owner)", "", "undefine owner;");
            }
            Var::Pick => self.rule(&[], "!isundefined(pick)", "", "undefine pick;"),
            Var::Count => self.rule(&[], "n > 0", "", "n := n - 1;"),
            Var::Flag => self.rule(&[], "true", "", "f := !f;"),
            Var::Net if self.world.contest == Some(Var::Net) => {
                self.rule(&[], "multisetcount(i: net, true) > 0", "", "undefine net;");
            }
            Var::Net => {
                let (add, locals) = self.with_locals(|maker| maker.add_to_net(&p));
                let (capacity, slot) = (self.world.capacity, self.world.element("net", "i"));
                let guard = format!(
                    "multisetcount(i: net, true) < {capacity} & multisetcount(i: net, {slot} = {p}) = 0"
                );
                self.rule(one, &guard, &locals, &add);
            }
            Var::List => self.rule(&[], "len > 0", "", "undefine list; len := 0;"),
            Var::At => {
                let (gate, name) = (self.world.gate(), self.name("r"));
                let _ = writeln!(
                    self.rules,
                    "ruleset y: Node do rule \"{name}\" {gate}true ==> at[y] := !at[y]; end; end;"
                );
            }
        }
    }

    /// Takes a message out of the bag, for what its element is or has.
    fn choose_rule(&mut self) {
        let (gate, name) = (self.world.gate(), self.name("r"));
        let (i, e) = (self.name("i"), self.name("e"));
        let slot = self.world.element("net", &i);
        let (body, locals) = self.with_locals(|maker| {
            maker.locals.push(format!("{e}: Proc;"));
            let written = maker.cells();
            let scope = Scope::default().with_own(&e);
            maker.own_statement(&scope, &written, 1)
        });
        let _ = writeln!(
            self.rules,
            "choose {i}: net do rule \"{name}\" {gate}true ==>{locals}\n  {e} := {slot}; \
             multisetremove({i}, net);\n  {body}\nend; end;"
        );
    }

    fn startstate(&mut self, text: &mut String) {
        if !self.has_chosen_start {
            text.push_str("startstate\n");
            self.world.initialise(text);
            text.push_str("end;\n");
            return;
        }
        // Startstates need not be symmetric, so a loop may choose an element here.
        text.push_str("startstate\n  var chosen: Proc;\nbegin\n");
        self.world.initialise(text);
        text.push_str("  for p: Proc do chosen := p; end;\n");
        for var in self.cells() {
            let chosen = World::cell(var, "chosen");
            let _ = match World::is_truth(var) {
                true => writeln!(text, "  {chosen} := true;"),
                false if World::is_number(var) => writeln!(text, "  {chosen} := 1;"),
                false => Ok(()),
            };
        }
        text.push_str("end;\n");
    }

    /// Runs `make`, and gives the declarations of the locals that it wants.
    fn with_locals(&mut self, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let outer = std::mem::take(&mut self.locals);
        let body = make(self);
        let locals = std::mem::replace(&mut self.locals, outer);
        let declarations = match locals.is_empty() {
            true => String::new(),
            false => format!(" var {} begin", locals.join(" ")),
        };
        (body, declarations)
    }

    fn name(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    /// A local of the body under construction.
    fn local(&mut self, ty: &str) -> String {
        let name = self.name("t");
        self.locals.push(format!("{name}: {ty};"));
        name
    }

    /// Parts of the state that there are one of for each process.
    fn cells(&self) -> Vec<Var> {
        let vars = self.world.vars.iter().copied();
        vars.filter(|var| World::is_cell(*var)).collect()
    }

    /// A statement that adds a process to the bag, which must have room.
    fn add_to_net(&mut self, process: &str) -> String {
        if !self.world.has_messages {
            return format!("multisetadd({process}, net);");
        }
        let message = self.local("Message");
        let kind = self.dice.between(0, 1);
        format!(
            "{message}.src := {process}; {message}.kind := {kind}; multisetadd({message}, net);"
        )
    }
}

#[cfg(test)]
mod tests;
