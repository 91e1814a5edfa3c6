//! Random programs, weighted toward the features that few models use.
//!
//! They are small, end soon or repeat few states, and never leave the bounds of an array. Loops
//! inside `atomic` and `d_step` always end.

mod claims;

use std::collections::BTreeSet;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

pub(crate) use claims::{ENDLESS, claimed, with_formula};

/// A random program, and the constructs in it that few models use.
pub(crate) struct Random {
    pub(crate) text: String,
    pub(crate) constructs: BTreeSet<&'static str>,
}

/// A random program.
pub(crate) fn program(rng: &mut Pcg64Mcg) -> Random {
    let mut generator = generator(rng);
    let text = generator.program();
    generator.finish(&text)
}

/// Constructs that are known by a part of the text.
const BY_TEXT: &[(&str, &str)] = &[
    ("active [2]", "active [2]"),
    ("assert", "assert("),
    ("byte d", "late declaration"),
    ("chan k", "channel as a parameter"),
    ("chan lc", "local channel"),
    ("for (", "for"),
    (" in a)", "for over an array"),
    (" in mc)", "for over a channel"),
    ("get_priority", "get_priority"),
    ("goto L", "goto"),
    ("goto M", "jump into an atomic"),
    ("hidden", "hidden"),
    ("inl(", "inline"),
    ("_last", "_last"),
    ("P0[0]:l", "remote variable"),
    ("P0[0]@", "remote label"),
    ("p!!", "sorted send"),
    ("p??", "random receive"),
    ("p??_,eval", "random receive with eval"),
    ("progress", "progress label"),
    ("provided", "provided"),
    ("q?[", "poll"),
    (" = ret(", "inline with return"),
    ("[timeout]", "timeout in an index"),
    ("eval(timeout)", "timeout in a receive"),
    ("q?[eval(timeout)]", "timeout in a poll"),
    ("run P", "run"),
    ("s[b]", "array of channels"),
    ("s[timeout]", "timeout in the index of a channel"),
    ("select (", "select"),
    ("set_priority", "set_priority"),
    ("unless", "unless"),
    ("w = ", "negative values"),
    ("?<", "receive that copies"),
];

fn generator(rng: &mut Pcg64Mcg) -> Generator<'_> {
    // Constructs that few programs have otherwise.
    let thin = std::env::var_os("HADAL_SPIN_THIN").is_some();
    let priorities = rng.random_range(0..6) == 0;
    let features = Features {
        priorities,
        last: rng.random_range(0..8) == 0,
        provided: rng.random_range(0..6) == 0,
        // SPIN rejects both in one model.
        rendezvous: rng.random_range(0..3) > 0 && !priorities,
        unless: rng.random_range(0..3) > 0,
        timeout: rng.random_range(0..3) == 0,
        remote: rng.random_range(0..6) == 0 || thin,
        jumps: rng.random_range(0..2) == 0 || thin,
        inline: rng.random_range(0..4) == 0,
        channels: rng.random_range(0..3) == 0,
        messages: rng.random_range(0..8) == 0 || thin,
        hidden: rng.random_range(0..8) == 0,
        thin,
    };
    Generator {
        rng,
        features,
        n_names: 0,
        n_labels: 0,
        budget: 0,
        locals: Vec::new(),
        n_procs: 0,
        in_inline: false,
        in_dstep: false,
        in_claim: false,
        proc: 0,
        has_inner_label: false,
        has_channel_param: false,
        has_local_channel: false,
        constructs: BTreeSet::new(),
    }
}

struct Features {
    priorities: bool,
    last: bool,
    provided: bool,
    rendezvous: bool,
    unless: bool,
    timeout: bool,
    remote: bool,
    jumps: bool,
    inline: bool,
    /// Arrays of channels, local ones, and those that are parameters.
    channels: bool,
    /// A channel whose messages are structures.
    messages: bool,
    hidden: bool,
    /// Remote variables and jumps into an `atomic` more often than other statements.
    thin: bool,
}

struct Generator<'r> {
    rng: &'r mut Pcg64Mcg,
    features: Features,
    n_names: usize,
    /// Labels of the process at hand.
    n_labels: usize,
    /// Number of statements that may still be made.
    budget: i32,
    /// Local variables that are in scope.
    locals: Vec<String>,
    n_procs: usize,
    in_inline: bool,
    /// In a `d_step`, where SPIN rejects remote references.
    in_dstep: bool,
    /// In a never claim, which is no process.
    in_claim: bool,
    /// The process at hand.
    proc: usize,
    /// It has a label in an `atomic`.
    has_inner_label: bool,
    /// It has the parameter `k`.
    has_channel_param: bool,
    /// It has the channel `lc`.
    has_local_channel: bool,
    constructs: BTreeSet<&'static str>,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    in_loop: bool,
    /// In an `atomic` or `d_step`, where loops must end.
    in_atomic: bool,
    in_dstep: bool,
}

const GLOBALS: &[(&str, i32)] = &[
    ("x", 3),
    ("y", 2),
    ("b", 2),
    ("u", 4),
    ("a[b]", 3),
    ("t.f", 3),
];

impl Generator<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.rng.random_range(0..items.len())]
    }

    fn program(&mut self) -> String {
        let mut out = String::from(
            "mtype = { ma, mb }\ntypedef T { byte f; bit g }\n\
             byte x, y; bit b; unsigned u : 2; byte a[2]; T t;\n",
        );
        out += "chan q = [1] of { byte };\nchan p = [2] of { mtype, byte };\n";
        let capacity = u32::from(!self.features.rendezvous);
        if self.features.rendezvous {
            out += "chan r = [0] of { byte };\n";
        }
        if self.features.channels {
            out += &format!("chan s[2] = [{capacity}] of {{ byte }};\n");
        }
        if self.features.messages {
            out += "chan mc = [2] of { T };\n";
        }
        out += "short w;\n";
        if self.features.hidden {
            out += "hidden byte h;\n";
        }
        if self.features.inline {
            self.in_inline = true;
            self.budget = 4;
            let place = Place {
                depth: 2,
                in_loop: false,
                in_atomic: true,
                in_dstep: false,
            };
            self.locals = vec!["v".to_owned()];
            let body = self.seq(place, 2);
            out += &format!("inline inl(v) {{ {body} }}\n");
            out += "inline ret(v) { return (v + 1) & 1 }\n";
            let body = self.seq(place, 1);
            out += &format!("inline twice(v) {{ inl(v); {body} }}\n");
            self.in_inline = false;
        }
        self.n_procs = self.rng.random_range(1..4);
        let with_init = self.chance(40);
        for n in 0..self.n_procs {
            out += &self.proctype(n, with_init);
        }
        if with_init {
            out += &self.init();
        }
        out
    }

    fn proctype(&mut self, n: usize, with_init: bool) -> String {
        self.proc = n;
        self.has_inner_label = false;
        self.budget = self.rng.random_range(3..9);
        self.n_labels = if self.features.jumps || self.features.remote {
            2
        } else {
            0
        };
        self.locals.clear();
        let is_active = n == 0 || !with_init || self.chance(30);
        let mut out = match is_active {
            true if self.chance(15) => "active [2] ".to_owned(),
            true => "active ".to_owned(),
            false => String::new(),
        };
        let has_param = !is_active && self.chance(60);
        self.has_channel_param = has_param && self.features.channels && self.chance(50);
        let params = match has_param {
            true if self.has_channel_param => "chan k",
            true => "byte v",
            false => "",
        };
        out += &format!("proctype P{n}({params})");
        if self.features.priorities {
            out += &format!(" priority {}", self.rng.random_range(1..4));
        }
        if self.features.provided && self.chance(60) {
            out += &format!(" provided ({})", self.condition(0));
        }
        out += " {\n";
        if has_param && !self.has_channel_param {
            self.locals.push("v".to_owned());
        }
        self.has_local_channel = self.features.channels && self.chance(30);
        if self.has_local_channel {
            out += "  chan lc = [1] of { byte };\n";
        }
        // With priorities always: SPIN loses those of some processes that have no variables.
        if self.features.priorities || self.chance(40) {
            out += match self.chance(50) {
                true => "  byte l;\n",
                false => "  byte l = 1;\n",
            };
            self.locals.push("l".to_owned());
        }
        let place = Place {
            depth: 0,
            in_loop: false,
            in_atomic: false,
            in_dstep: false,
        };
        let n_stmts = self.rng.random_range(2..5usize);
        let mut labels: Vec<usize> = (0..n_stmts).collect();
        while labels.len() > self.n_labels {
            let at = self.rng.random_range(0..labels.len());
            labels.remove(at);
        }
        self.n_labels = labels.len();
        let mut stmts = Vec::new();
        for idx in 0..n_stmts {
            let mut stmt = String::new();
            if let Some(label) = labels.iter().position(|it| *it == idx) {
                stmt += &format!("{}: ", label_name(n, label));
            }
            let body = self.stmt(place);
            stmt += match stmt.is_empty() {
                true => "",
                false => before_label(&body),
            };
            stmt += &body;
            stmts.push(stmt);
        }
        out += "  ";
        out += &stmts.join(";\n  ");
        out += "\n}\n";
        out
    }

    fn init(&mut self) -> String {
        let mut runs = Vec::new();
        for n in 0..self.n_procs.min(2) {
            runs.push(format!("run P{}(%)", (n + 1) % self.n_procs));
        }
        let body = runs.join("; ");
        let body = match self.chance(60) {
            true => format!("atomic {{ {body} }}"),
            false => body,
        };
        format!("init {{ {body} }}\n")
    }

    fn seq(&mut self, place: Place, max: usize) -> String {
        let n = self.rng.random_range(1..=max);
        let n_locals = self.locals.len();
        let stmts: Vec<String> = (0..n).map(|_| self.stmt(place)).collect();
        self.locals.truncate(n_locals);
        stmts.join("; ")
    }

    fn stmt(&mut self, place: Place) -> String {
        self.budget -= 1;
        if place.depth < 3 && self.budget > 0 && self.chance(55) {
            return self.compound(place);
        }
        self.basic(place)
    }

    fn compound(&mut self, place: Place) -> String {
        let inner = Place {
            depth: place.depth + 1,
            ..place
        };
        match self.rng.random_range(0..100) {
            0..=19 => {
                let options = self.options(inner);
                format!("if {options} fi")
            }
            20..=34 => self.loop_stmt(inner),
            35..=52 if !place.in_dstep => {
                let inner = Place {
                    in_atomic: true,
                    ..inner
                };
                let body = self.seq(inner, 4);
                let may_label = self.features.jumps && !self.in_inline && !self.has_inner_label;
                let label = match may_label && self.chance(50) {
                    true => {
                        self.has_inner_label = true;
                        format!("skip; M_{}: {}", self.proc, before_label(&body))
                    }
                    false => String::new(),
                };
                format!("atomic {{ {label}{body} }}")
            }
            53..=66 if !place.in_dstep => {
                let inner = Place {
                    in_atomic: true,
                    in_dstep: true,
                    in_loop: false,
                    ..inner
                };
                self.in_dstep = true;
                let body = self.seq(inner, 3);
                self.in_dstep = false;
                if place.in_atomic {
                    self.note("d_step in atomic");
                }
                if self.features.rendezvous && self.chance(15) {
                    self.note("d_step that receives first");
                    let target = self.target();
                    return format!("d_step {{ r?{target}; {body} }}");
                }
                // At the start of a `d_step`, SPIN takes an option that is an assignment for one that
                // is not executable, if another option is a condition. It also executes a `d_step`
                // that starts with an assertion or with output between the halves of a rendezvous.
                let is_odd = ["assert(", "printf(", "printm("]
                    .iter()
                    .any(|it| body.starts_with(it));
                let first = match is_odd || body.starts_with(['i', 'd', '{']) {
                    true => "skip; ",
                    false => "",
                };
                format!("d_step {{ {first}{body} }}")
            }
            67..=82 if self.features.unless && !place.in_dstep => {
                // The escape begins with a condition: where it begins with a selection, SPIN tries
                // its `else` before the other options.
                let (body, escape) = (self.seq(inner, 3), self.seq(inner, 2));
                let guard = match self.rng.random_range(0..10) {
                    0 | 1 => {
                        let operation = self.channel(inner);
                        // Where one `unless` begins with another, SPIN also executes the body if
                        // a rendezvous in the outer escape finds no receiver.
                        match body.starts_with('{') && operation.contains('!') {
                            true => self.condition(0),
                            false => {
                                self.note("unless with i/o in the escape");
                                operation
                            }
                        }
                    }
                    2 => {
                        self.note("unless with an atomic escape");
                        let (guard, assignment) = (self.condition(0), self.assignment());
                        format!("atomic {{ {guard} -> {assignment} }}")
                    }
                    3 => {
                        self.note("unless with a d_step escape");
                        self.in_dstep = true;
                        let (guard, assignment) = (self.condition(0), self.assignment());
                        self.in_dstep = false;
                        format!("d_step {{ {guard} -> {assignment} }}")
                    }
                    _ => self.condition(0),
                };
                if place.in_atomic {
                    self.note("unless in atomic");
                }
                // In an `atomic`, SPIN blocks at a jump in that place.
                let first = if body.starts_with("goto") {
                    "skip; "
                } else {
                    ""
                };
                format!("{{ {first}{body} }} unless {{ {guard} -> {escape} }}")
            }
            83..=87 => format!("{{ {} }}", self.seq(inner, 3)),
            88..=92 if !self.locals.is_empty() => {
                let var = self.locals[self.rng.random_range(0..self.locals.len())].clone();
                let lo = self.rng.random_range(0..2);
                match self.chance(50) {
                    true => format!("select ({var} : {lo} .. 2)"),
                    false => format!("select ({var} : {lo} .. b)"),
                }
            }
            93..=96 if !self.in_inline && !place.in_dstep => {
                self.n_names += 1;
                let name = format!("i{}", self.n_names);
                let inner = Place {
                    in_loop: true,
                    ..inner
                };
                let body = self.seq(inner, 2);
                if self.features.messages && self.chance(if self.features.thin { 70 } else { 30 }) {
                    return format!("for (t in mc) {{ {body} }}");
                }
                let range = self.pick(&[": 1 .. 2", "in a"]);
                format!("{{ byte {name}; for ({name} {range}) {{ {body} }} }}")
            }
            _ => {
                let options = self.options(inner);
                format!("if {options} fi")
            }
        }
    }

    /// A loop; in an `atomic`, one that ends.
    fn loop_stmt(&mut self, place: Place) -> String {
        let inner = Place {
            in_loop: true,
            ..place
        };
        let n = self.rng.random_range(1..3);
        let mut options: Vec<String> = (0..n)
            .map(|_| {
                let body = self.guarded(inner);
                match place.in_atomic || self.chance(30) {
                    true => format!(":: {body}; break"),
                    false => format!(":: {body}"),
                }
            })
            .collect();
        match self.rng.random_range(0..4) {
            0 => options.push(":: break".to_owned()),
            1 => {
                self.note_else(&options);
                options.push(":: else -> break".to_owned());
            }
            2 if place.in_atomic => options.push(":: x < 2 -> x++".to_owned()),
            _ => {}
        }
        format!("do {} od", options.join(" "))
    }

    fn options(&mut self, place: Place) -> String {
        let n = self.rng.random_range(1..4);
        let mut options: Vec<String> = (0..n)
            .map(|_| format!(":: {}", self.guarded(place)))
            .collect();
        if self.chance(30) {
            let body = match self.chance(50) {
                true => format!(" -> {}", self.seq(place, 1)),
                false => String::new(),
            };
            let at = self.rng.random_range(0..=options.len());
            self.note_else(&options);
            options.insert(at, format!(":: else{body}"));
        }
        options.join(" ")
    }

    /// A sequence that begins with a condition or channel operation, as a rule.
    fn guarded(&mut self, place: Place) -> String {
        let first = match self.rng.random_range(0..10) {
            0..=4 => self.condition(0),
            5..=7 => self.channel(place),
            8 if self.features.timeout => {
                self.note_timeout("timeout alone");
                "timeout".to_owned()
            }
            8 if !place.in_dstep && place.depth < 3 => {
                let body = self.seq(
                    Place {
                        in_atomic: true,
                        depth: place.depth + 1,
                        ..place
                    },
                    2,
                );
                format!("atomic {{ {body} }}")
            }
            9 if self.features.unless && !place.in_dstep && self.chance(60) => {
                self.note("unless that begins an option");
                let (guard, body) = (self.condition(0), self.basic(place));
                let (escape, assignment) = (self.condition(0), self.assignment());
                format!("{{ {guard}; {body} }} unless {{ {escape} -> {assignment} }}")
            }
            _ => self.basic(place),
        };
        match self.chance(70) {
            true => format!("{first} -> {}", self.seq(place, 2)),
            false => first,
        }
    }

    fn basic(&mut self, place: Place) -> String {
        let may_jump = self.n_labels > 0 && !self.in_inline && !place.in_dstep && !place.in_atomic;
        if self.features.thin && may_jump && self.chance(8) {
            return "goto INNER".to_owned();
        }
        match self.rng.random_range(0..100) {
            0..=34 => self.assignment(),
            35..=49 => self.condition(0),
            50..=69 => self.channel(place),
            70..=74 => format!("assert({})", self.condition(0)),
            75..=76 => "printf(\"x\")".to_owned(),
            77 => "printm(ma)".to_owned(),
            78..=80 => "skip".to_owned(),
            81..=86 if self.n_labels > 0 && !self.in_inline && !place.in_dstep => {
                let label = self.rng.random_range(0..self.n_labels);
                match place.in_atomic || self.chance(60) {
                    true => format!("goto LABEL{label}"),
                    false => "goto INNER".to_owned(),
                }
            }
            87..=89 if place.in_loop => "break".to_owned(),
            90..=92 if !self.in_inline && !place.in_dstep => {
                self.n_names += 1;
                let name = format!("d{}", self.n_names);
                self.locals.push(name.clone());
                match self.rng.random_range(0..3) {
                    0 => format!("byte {name}"),
                    1 => format!("byte {name} = 2"),
                    _ => format!("byte {name} = x"),
                }
            }
            87..=89 if self.features.inline && !self.in_inline && !place.in_dstep => {
                let local = self.locals.last().map_or("y", |it| it).to_owned();
                match self.rng.random_range(0..4) {
                    0 => format!("x = ret({local})"),
                    1 => {
                        self.note("inline in inline");
                        format!("twice({local})")
                    }
                    _ => format!("inl({local})"),
                }
            }
            93..=94 if self.features.inline && !self.in_inline => match self.locals.last() {
                Some(local) => format!("inl({local})"),
                None => "inl(y)".to_owned(),
            },
            93..=94 if self.features.priorities && !place.in_dstep => {
                let value = self.rng.random_range(1..4);
                format!("set_priority(_pid, {value})")
            }
            95..=96 if !place.in_dstep && !self.in_inline => self.run_stmt(place),
            97 if self.chance(50) => "(1)".to_owned(),
            _ => self.assignment(),
        }
    }

    fn run_stmt(&mut self, place: Place) -> String {
        let n = self.rng.random_range(0..self.n_procs);
        let priority = match self.features.priorities && self.chance(60) {
            true => {
                self.note("run with a priority");
                format!(" priority {}", self.rng.random_range(1..4))
            }
            false => String::new(),
        };
        if place.in_atomic {
            self.note("run in atomic");
        }
        let choice = self.rng.random_range(0..3);
        if place.in_loop || choice == 0 {
            self.note("run in a loop");
        }
        match choice {
            0 => format!("do :: _nr_pr < 4 -> run P{n}(%){priority} :: else -> break od"),
            1 => format!("if :: _nr_pr < 4 -> x = run P{n}(%){priority} :: else fi"),
            _ => format!("if :: _nr_pr < 4 -> run P{n}(%){priority} :: else fi"),
        }
    }

    fn note(&mut self, construct: &'static str) {
        self.constructs.insert(construct);
    }

    /// Notes a use of `timeout`, and where it stands.
    fn note_timeout(&mut self, construct: &'static str) {
        self.note(construct);
        if self.in_dstep {
            self.note("timeout in d_step");
        }
        if self.in_inline {
            self.note("timeout in inline");
        }
    }

    /// Notes what an `else` is beside.
    fn note_else(&mut self, options: &[String]) {
        let begins = |option: &String, channels: &[&str]| {
            let option = option.trim_start_matches(":: ");
            channels.iter().any(|it| {
                let rest = option.strip_prefix(it);
                rest.is_some_and(|rest| rest.starts_with(['!', '?']))
            })
        };
        if options.iter().any(|it| begins(it, &["q", "p", "k", "lc"])) {
            self.note("else beside i/o");
        }
        if options.iter().any(|it| begins(it, &["r", "s[b]"])) && self.features.rendezvous {
            self.note("else beside a rendezvous");
        }
    }

    fn assignment(&mut self) -> String {
        if self.features.hidden && self.chance(10) {
            return format!("h = {}", self.value(0));
        }
        if self.chance(6) {
            let (left, right) = (self.value(1), self.value(1));
            return match self.rng.random_range(0..4) {
                0 => format!("w = ({left} - {right}) / 2"),
                1 => format!("w = -({left}) % 3"),
                2 => format!("w = ~({left} & 3) >> 1"),
                _ => format!("w = ({left} & 3) << ({right} & 1)"),
            };
        }
        if self.chance(5) {
            return self.pick(&["u++", "u--", "b++", "b--"]).to_owned();
        }
        let local = self.chance(30) && !self.locals.is_empty();
        let (var, modulus) = match local {
            true => (
                self.locals[self.rng.random_range(0..self.locals.len())].clone(),
                3,
            ),
            false => {
                let (name, modulus) = GLOBALS[self.rng.random_range(0..GLOBALS.len())];
                (name.to_owned(), modulus)
            }
        };
        match self.rng.random_range(0..4) {
            0 => format!("{var} = {}", self.rng.random_range(0..modulus)),
            1 => format!("{var} = ({var} + 1) % {modulus}"),
            2 => {
                let condition = self.condition(1);
                // SPIN does not accept these before `->`.
                let is_refused = condition.contains("empty(") || condition.contains("full(");
                let condition = if is_refused { "x == 1" } else { &condition };
                format!("{var} = ({condition} -> 1 : {})", modulus - 1)
            }
            _ => {
                let value = self.value(0);
                format!("{var} = ({value}) & {}", modulus - 1)
            }
        }
    }

    fn channel(&mut self, place: Place) -> String {
        let rendezvous = self.features.rendezvous && !place.in_dstep && self.chance(50);
        if rendezvous && place.in_atomic {
            self.note("rendezvous in atomic");
        }
        if self.features.channels && self.chance(35) && (rendezvous || !self.features.rendezvous) {
            let index = match self.features.timeout && self.chance(30) {
                true => "timeout",
                false => self.pick(&["b", "1"]),
            };
            return match self.chance(50) {
                true => format!("s[{index}]!{}", self.rng.random_range(0..2)),
                false => format!("s[{index}]?{}", self.target()),
            };
        }
        if self.has_channel_param && !place.in_dstep && self.chance(40) {
            return match self.chance(50) {
                true => format!("k!{}", self.rng.random_range(0..2)),
                false => format!("k?{}", self.target()),
            };
        }
        if self.has_local_channel && self.chance(20) {
            return match self.chance(50) {
                true => format!("lc!{}", self.value(0)),
                false => format!("lc?{}", self.target()),
            };
        }
        if self.features.messages && self.chance(20) {
            return self.pick(&["mc!t", "mc!1,b", "mc?t", "mc?1,_"]).to_owned();
        }
        if rendezvous {
            return match self.rng.random_range(0..6) {
                0 | 1 => format!("r!{}", self.rng.random_range(0..2)),
                2 => "r!x".to_owned(),
                3 => "r?_".to_owned(),
                4 => format!("r?{}", self.rng.random_range(0..2)),
                _ => format!("r?{}", self.target()),
            };
        }
        match self.rng.random_range(0..14) {
            12 => format!("p??<{},{}>", self.pick(&["ma", "mb"]), self.target()),
            13 => format!("q?<{}>", self.target()),
            0 | 1 => format!("q!{}", self.rng.random_range(0..3)),
            2 => format!("q?{}", self.target()),
            3 => "q?1".to_owned(),
            4 => format!("q?eval({})", self.expected()),
            5 => format!("p!ma,{}", self.rng.random_range(0..2)),
            6 => "p!mb(y)".to_owned(),
            7 => format!("p!!{},{}", self.pick(&["ma", "mb"]), self.value(1)),
            8 => format!("p??{},{}", self.pick(&["ma", "mb"]), self.target()),
            9 => format!("p??_,eval({})", self.expected()),
            10 => format!("p?<{},_>", self.pick(&["ma", "mb"])),
            _ => format!("p?_,{}", self.target()),
        }
    }

    /// What a message is compared with. Not the length of the channel: when SPIN takes back a
    /// receive, it restores what the expression is then.
    fn expected(&mut self) -> String {
        if self.features.timeout && self.chance(30) {
            return "timeout".to_owned();
        }
        let value = self.value(0);
        value.replace("len(q)", "u").replace("len(p)", "x")
    }

    fn target(&mut self) -> String {
        match self.locals.last() {
            Some(local) if self.rng.random_range(0..2) == 0 => local.clone(),
            // Not `b`: when SPIN takes back a receive, it restores what the variable holds, and so
            // changes the message if the value did not fit.
            _ => self.pick(&["x", "y", "_"]).to_owned(),
        }
    }

    fn value(&mut self, depth: usize) -> String {
        if self.features.timeout && self.chance(8) {
            self.note_timeout("timeout in a value");
            return self.pick(&["timeout", "a[timeout]"]).to_owned();
        }
        match self.rng.random_range(0..8) {
            0 | 1 => self.rng.random_range(0..3).to_string(),
            2 if !self.locals.is_empty() => {
                self.locals[self.rng.random_range(0..self.locals.len())].clone()
            }
            3 if self.features.priorities && !self.in_claim && self.chance(40) => {
                self.pick(&["get_priority(_pid)", "_priority"]).to_owned()
            }
            3 if self.in_claim => self.pick(&["_nr_pr", "len(q)", "len(p)"]).to_owned(),
            3 => self
                .pick(&["_pid", "_nr_pr", "len(q)", "len(p)"])
                .to_owned(),
            4 if depth < 2 => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({} {op} {})", self.value(depth + 1), self.value(depth + 1))
            }
            _ => GLOBALS[self.rng.random_range(0..GLOBALS.len())]
                .0
                .to_owned(),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let may_be_remote = self.proc > 0 && !self.in_dstep && !self.in_inline && !self.in_claim;
        if self.features.thin && may_be_remote && self.chance(20) {
            return "(P0[0]:REMOTE == 1)".to_owned();
        }
        if self.features.timeout && self.chance(8) {
            self.note_timeout("timeout in a test of a channel");
            return match self.features.channels && !self.features.rendezvous {
                true => self.pick(&["nempty(s[timeout])", "s[timeout]?[1]", "empty(s[timeout])"]),
                false => self.pick(&["q?[eval(timeout)]", "p??[_,eval(timeout)]"]),
            }
            .to_owned();
        }
        match self.rng.random_range(0..24) {
            0..=11 => {
                let op = self.pick(&["==", "!=", "<", ">="]);
                format!("({} {op} {})", self.value(0), self.value(1))
            }
            12 => self
                .pick(&["empty(q)", "nempty(p)", "nfull(q)", "full(p)"])
                .to_owned(),
            13 => "q?[1]".to_owned(),
            14 => "p??[ma,_]".to_owned(),
            15 if self.features.last => self.pick(&["(_last == 0)", "(_last < 2)"]).to_owned(),
            16 if self.features.timeout && depth == 0 => {
                self.note_timeout("timeout in an expression");
                format!("(timeout && {})", self.condition(1))
            }
            17 if self.features.timeout && depth == 0 => {
                self.note_timeout("timeout in an expression");
                format!("(timeout || {})", self.condition(1))
            }
            // SPIN rejects these in a `d_step` and in the process itself.
            18 if self.features.remote && self.n_labels > 0 && self.in_claim => {
                "(P0[0]@REMOTE)".to_owned()
            }
            18 if self.features.remote && self.proc > 0 && !self.in_dstep && !self.in_inline => {
                self.pick(&["(P0[0]@REMOTE)", "(P0[0]:REMOTE == 1)"])
                    .to_owned()
            }
            19 | 20 if depth < 2 => {
                let op = self.pick(&["&&", "||"]);
                format!(
                    "({} {op} {})",
                    self.condition(depth + 1),
                    self.condition(depth + 1)
                )
            }
            21 if depth < 2 => {
                let value = self.value(1);
                format!("!({value})")
            }
            _ => self.value(1),
        }
    }
}

/// The name of a label of a process.
fn label_name(proc: usize, label: usize) -> String {
    let prefix = match (proc + label) % 5 {
        3 => "progress",
        4 => "end",
        _ => "L",
    };
    format!("{prefix}{label}_{proc}")
}

/// What must stand between a label and a statement for SPIN to accept it: it rejects labels of
/// declarations, and jumps to a jump that may turn out a loop.
fn before_label(stmt: &str) -> &'static str {
    let is_odd = stmt.starts_with("goto") || stmt.starts_with("byte");
    if is_odd { "skip; " } else { "" }
}

impl Generator<'_> {
    /// Fills in what is known only of the whole program: labels, and arguments of `run`.
    fn finish(mut self, text: &str) -> Random {
        let mut out = String::new();
        for (n, part) in text.split_inclusive("\n}\n").enumerate() {
            let mut part = part.to_owned();
            for label in 0..2 {
                let name = label_name(n, label);
                part = part.replace(&format!("goto LABEL{label}"), &format!("goto {name}"));
            }
            let inner = format!("M_{n}");
            part = match part.contains(&format!("{inner}:")) {
                true => part.replace("goto INNER", &format!("goto {inner}")),
                false => part.replace("goto INNER", "skip"),
            };
            out += &part;
        }
        for n in 0..4 {
            let call = format!("run P{n}(%)");
            let has = |param: &str| text.contains(&format!("proctype P{n}({param})"));
            let argument = match self.features.rendezvous {
                true => ["q", "r", "s[1]"][n % 3],
                false => ["q", "s[0]", "s[1]"][n % 3],
            };
            let full = match () {
                () if has("chan k") => format!("run P{n}({argument})"),
                () if has("byte v") => format!("run P{n}({})", n + 1),
                () => format!("run P{n}()"),
            };
            out = out.replace(&call, &full);
        }
        let first = text.split_once("\n}\n").map_or("", |it| it.0);
        out = match first.contains("L0_0:") {
            true => out.replace("@REMOTE", "@L0_0"),
            false => out.replace("(P0[0]@REMOTE)", "(b == 1)"),
        };
        out = match first.contains("  byte l") {
            true => out.replace(":REMOTE", ":l"),
            false => out.replace("(P0[0]:REMOTE == 1)", "(b == 0)"),
        };
        for (part, construct) in BY_TEXT {
            if out.contains(part) {
                self.constructs.insert(construct);
            }
        }
        if self.features.priorities {
            self.constructs.insert("priorities");
        }
        Random {
            text: out,
            constructs: self.constructs,
        }
    }
}
