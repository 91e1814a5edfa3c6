//! Promela, by `hadal-promela`.

use hadal_model::{Property, PropertyKind, Step, Stop};
use hadal_promela::lower::{GUESSED_INSTANCES, LowerOptions, lower, lower_product};
use hadal_promela::program::Program;
use hadal_promela::{Asked, Options, Text, TokenSpan, asked, compile};
use hadal_search::Deadlock;
use hadal_syntax::{Diagnostic, Severity, Source, Sources};

use std::sync::Arc;

use super::{
    COST, Claim, ESTIMATE, GOAL, Language, LanguageOption, LanguageOptions, Naming, NoLeaves,
    OptionValue, Problems, Product, ReverseNaming, Statement, TARGET, Translation, outside_texts,
};

/// Rounds of a loop inside a `d_step`; one that has more is taken for endless.
const MAX_ROUNDS: u64 = 1 << 20;

/// Statements of one `d_step` that are shown.
const MAX_SHOWN: usize = 200;

/// Promela, as SPIN 6.5.2 has it.
#[derive(Clone, Copy, Debug)]
pub struct Promela;

const DEFINE: LanguageOption = LanguageOption {
    name: "define",
    short: Some('D'),
    value: OptionValue::Text("NAME[=VALUE]"),
    is_repeatable: true,
    is_hidden: false,
    help: "Define a macro of a Promela model; may be repeated",
};

const INCLUDE: LanguageOption = LanguageOption {
    name: "include",
    short: Some('I'),
    value: OptionValue::Text("DIR"),
    is_repeatable: true,
    is_hidden: false,
    help: "Where files that a Promela model includes are looked for; may be repeated",
};

const LOSSY: LanguageOption = LanguageOption {
    name: "lossy",
    short: None,
    value: OptionValue::Switch,
    is_repeatable: false,
    is_hidden: false,
    help: "A send to a full channel of a Promela model loses its message, rather than waiting",
};

const INSTANCES: LanguageOption = LanguageOption {
    name: "instances",
    short: None,
    value: OptionValue::Number,
    is_repeatable: false,
    is_hidden: false,
    help: "How many processes of each type a Promela model has room for where their number is not \
           bounded by its text; a search that needs more starts over [default: 8]",
};

const CLAIM: LanguageOption = LanguageOption {
    name: "claim",
    short: None,
    value: OptionValue::Text("NAME|none"),
    is_repeatable: false,
    is_hidden: false,
    help: "Which never claim or `ltl` formula of a Promela model is checked; `none` leaves out all \
           of them, and what acceptance and progress labels ask for [default: the first]",
};

/// What a program asks about its runs, as far as it was asked for.
struct Claims<'p> {
    /// The one to be checked, or all that no search decides.
    wanted: Vec<(Property, Option<Asked>)>,
    not_asked: Vec<String>,
    program: &'p Program,
    text: &'p Text,
}

/// A claim or formula in a sentence.
fn title(asked: &Asked) -> String {
    let what = if asked.is_formula {
        "formula"
    } else {
        "never claim"
    };
    format!("{what} `{}`", asked.name)
}

impl<'p> Claims<'p> {
    /// The claim or formula of this name; by default the first, and what labels and traces ask for.
    fn new(program: &'p Program, text: &'p Text, name: Option<&str>) -> Result<Self, String> {
        let mut claims = Claims {
            wanted: Vec::new(),
            not_asked: Vec::new(),
            program,
            text,
        };
        if name == Some("none") {
            return Ok(claims);
        }
        for asked in asked(program) {
            let is_wanted =
                claims.wanted.is_empty() && name.is_none_or(|name| &*asked.name == name);
            match is_wanted {
                true => claims.add(title(&asked), asked.span, Some(asked)),
                false => claims.not_asked.push(title(&asked)),
            }
        }
        match name {
            Some(name) if claims.wanted.is_empty() => {
                return Err(format!("there is no claim or formula `{name}`"));
            }
            Some(_) => {}
            None => claims.add_unsupported(),
        }
        Ok(claims)
    }

    fn add(&mut self, name: String, span: TokenSpan, asked: Option<Asked>) {
        let property = Property {
            kind: PropertyKind::Claim,
            name,
            at: self.text.describe(self.text.place(span).span.start),
        };
        self.wanted.push((property, asked));
    }

    fn add_unsupported(&mut self) {
        for &span in &self.program.traces {
            self.add("trace automaton".to_owned(), span, None);
        }
        for (label, kind) in [("acceptance", 0), ("progress", 1)] {
            let proctypes = self.program.proctypes.iter();
            let mut points = proctypes.flat_map(|it| &it.automaton.points);
            let labelled = points.find(|it| [it.is_accept, it.is_progress][kind]);
            if let Some(point) = labelled {
                self.add(format!("what {label} labels ask for"), point.span, None);
            }
        }
    }

    /// With products.
    fn lower(self, options: &LowerOptions) -> Result<Vec<Claim>, Vec<Diagnostic>> {
        let (program, text) = (self.program, self.text);
        let wanted = self.wanted.into_iter();
        let lowered = wanted.map(|(property, asked)| {
            let Some(asked) = asked else {
                return Ok(Claim {
                    property,
                    product: None,
                    open: None,
                });
            };
            let (product, open) = match &asked.claim {
                Err(problem) => (None, Some(problem.clone())),
                Ok(claim) => {
                    let lowered = lower_product(program, claim, &property.name, text, options)?;
                    let product = Product {
                        program: lowered.ir,
                        naming: Arc::new(PromelaNaming {
                            names: lowered.naming,
                            is_product: true,
                        }),
                    };
                    (Some(product), asked.left_open.clone())
                }
            };
            Ok(Claim {
                property,
                product,
                open,
            })
        });
        lowered.collect()
    }
}

impl From<hadal_promela::lower::Statement> for Statement {
    fn from(statement: hadal_promela::lower::Statement) -> Self {
        Statement {
            name: statement.name,
            at: statement.at,
            rules: statement.rules,
        }
    }
}

/// Names of processes with their pids, and channels with their messages.
#[derive(Debug)]
struct PromelaNaming {
    names: hadal_promela::Naming,
    /// Whether the first firing of a step is a claim's.
    is_product: bool,
}

impl Naming for PromelaNaming {
    fn state(&self, leaves: Vec<(String, String)>) -> Vec<(String, String)> {
        self.names.state(leaves)
    }

    fn step(&self, step: Step, leaves: &[(String, String)]) -> Step {
        let rule = self.names.step(&step.rule, slot(&step.parameters), leaves);
        let notes = self.names.notes(&step.output, leaves);
        let process = rule.split_once(" line ").map_or("", |it| it.0);
        let n_left_out = notes.statements.len().saturating_sub(MAX_SHOWN);
        let mut output = notes.output;
        let mut inner = Vec::new();
        for (statement, printed) in notes.statements {
            output.extend(printed.iter().cloned());
            if inner.len() < MAX_SHOWN {
                inner.push(Step {
                    rule: format!("{process} {statement}"),
                    output: printed,
                    ..Step::default()
                });
            }
        }
        if n_left_out > 0 {
            inner.push(Step {
                rule: format!("{rule}, {n_left_out} more statements"),
                ..Step::default()
            });
        }
        let message = notes.message.map(|message| ("message".to_owned(), message));
        Step {
            rule,
            parameters: message.into_iter().collect(),
            output,
            inner,
        }
    }

    fn whole_step(&self, mut step: Step) -> Step {
        // A step is called after what the system does; where the claim is shows in the state.
        if self.is_product && step.inner.len() > 1 {
            step.inner.remove(0);
            if step.inner.len() == 1 {
                return step.inner.remove(0);
            }
            step.rule = step.inner[0].rule.clone();
        }
        // A firing that is a `d_step` consists of statements; these are listed with the others.
        let firings = step.inner.into_iter().flat_map(|mut firing| {
            let statements = std::mem::take(&mut firing.inner);
            match statements.is_empty() {
                true => vec![firing],
                false => statements,
            }
        });
        Step {
            rule: step.rule,
            parameters: Vec::new(),
            output: step.output,
            inner: firings.collect(),
        }
    }

    fn firing(
        &self,
        rule: &str,
        parameters: &[(String, String)],
        state: &[(String, String)],
    ) -> String {
        self.names.firing(rule, slot(parameters), state)
    }

    fn reverse(&self, leaves: &[&str]) -> Option<Box<dyn ReverseNaming>> {
        let leaves = leaves.iter().copied();
        Some(Box::new(PromelaReverse(self.names.fixed_names(leaves))))
    }

    fn blocked(&self, state: &[(String, String)]) -> Vec<String> {
        self.names.blocked(state)
    }
}

/// Names of processes whose pids are the same in every run, and channels with their messages.
#[derive(Debug)]
struct PromelaReverse(hadal_promela::FixedNames);

impl ReverseNaming for PromelaReverse {
    fn names(&self) -> Vec<String> {
        self.0.names().map(str::to_owned).collect()
    }

    fn leaves(&self, name: &str, value: &str) -> Result<Vec<(String, String)>, NoLeaves> {
        use hadal_promela::NoLeaves as Why;
        self.0.leaves(name, value).map_err(|why| match &why {
            Why::Unknown => NoLeaves::Unknown,
            Why::Varies(_) | Why::Created => NoLeaves::Varies(why.to_string()),
            Why::NoMessages | Why::NoRoom { .. } => NoLeaves::NoValue(why.to_string()),
        })
    }
}

/// The number of an instance among those of its process type, from the parameters of a rule.
fn slot(parameters: &[(String, String)]) -> usize {
    let first = parameters.first();
    first.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

impl Language for Promela {
    fn name(&self) -> &'static str {
        "promela"
    }

    fn title(&self) -> &'static str {
        "Promela"
    }

    fn has_processes(&self) -> bool {
        true
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["pml", "prom", "promela", "spin", "pr", "prm", "pm"]
    }

    fn options(&self) -> &'static [LanguageOption] {
        &[
            DEFINE, INCLUDE, CLAIM, LOSSY, INSTANCES, GOAL, COST, ESTIMATE, TARGET,
        ]
    }

    fn default_deadlock(&self) -> Deadlock {
        Deadlock::EndStates
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        _stop: &Stop,
    ) -> Result<Translation, Problems> {
        let goal = options.get(GOAL.name);
        let claim = match (goal, options.get(CLAIM.name)) {
            (Some(_), None | Some("none")) => Some("none"),
            (Some(_), Some(_)) => {
                let message = "a goal is looked for in place of claims: give one of them";
                return Err(Problems {
                    messages: vec![message.to_owned()],
                    ..Problems::default()
                });
            }
            (None, claim) => claim,
        };
        let settings = Options {
            defines: options.all(DEFINE.name).map(str::to_owned).collect(),
            include_dirs: options.all(INCLUDE.name).map(str::to_owned).collect(),
            outside: outside_texts(options).map(|_, text| text.to_owned()),
        };
        let root = sources.root();
        let root = Source::new(root.name(), root.text()).map_err(|error| Problems {
            messages: vec![error.to_string()],
            ..Problems::default()
        })?;
        // The files of a resumed run may be gone.
        let mut read = |path: &str| match sources.find(path) {
            Some(file) => Some(sources.file(file).text().as_bytes().to_vec()),
            None => std::fs::read(path).ok(),
        };
        let compiled = compile(root, &settings, &mut read);
        *sources = compiled.text.sources.clone();
        let Some(program) = &compiled.program else {
            return Err(Problems {
                diagnostics: compiled.diagnostics,
                ..Problems::default()
            });
        };
        let claims = Claims::new(program, &compiled.text, claim);
        let claims = claims.map_err(|message| Problems {
            messages: vec![message],
            ..Problems::default()
        })?;
        let not_asked = claims.not_asked.clone();
        let lowering = LowerOptions {
            lossy: options.get(LOSSY.name).is_some(),
            instances: (options.get(INSTANCES.name))
                .and_then(|n| n.parse().ok())
                .unwrap_or(GUESSED_INSTANCES),
        };
        let lowered = lower(program, &compiled.text, &lowering);
        let lowered = lowered.and_then(|lowered| Ok((lowered, claims.lower(&lowering)?)));
        let (lowered, claims) = match lowered {
            Ok(lowered) => lowered,
            Err(errors) => {
                let mut diagnostics = compiled.diagnostics;
                diagnostics.extend(errors);
                diagnostics.retain(|it| it.severity == Severity::Error);
                return Err(Problems {
                    diagnostics,
                    ..Problems::default()
                });
            }
        };
        Ok(Translation {
            program: lowered.ir,
            estimates: lowered.estimates,
            warnings: compiled.diagnostics,
            symmetry_breaks: Vec::new(),
            constants: Vec::new(),
            loop_limit: Some(MAX_ROUNDS),
            claims,
            not_asked,
            naming: Some(Arc::new(PromelaNaming {
                names: lowered.naming,
                is_product: false,
            })),
            statements: Some(
                lowered
                    .statements
                    .into_iter()
                    .map(Statement::from)
                    .collect(),
            ),
            wider: lowered.is_guess.then(|| {
                let n = lowering.instances.max(1).saturating_mul(2);
                (INSTANCES.name, n.to_string())
            }),
        })
    }
}
