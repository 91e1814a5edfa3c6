//! Promela, by `hadal-promela`.

use hadal_model::{Property, PropertyKind, Step, Stop};
use hadal_promela::lower::{GUESSED_INSTANCES, LowerOptions, lower};
use hadal_promela::program::Program;
use hadal_promela::{Options, Text, TokenSpan, compile};
use hadal_search::Deadlock;
use hadal_syntax::{Severity, Source, Sources};

use std::sync::Arc;

use super::{
    Language, LanguageOption, LanguageOptions, Naming, OptionValue, Problems, Translation,
};

/// Promela, as SPIN 6.5.2 has it.
#[derive(Clone, Copy, Debug)]
pub struct Promela;

const DEFINE: LanguageOption = LanguageOption {
    name: "define",
    short: Some('D'),
    value: OptionValue::Text("NAME[=VALUE]"),
    is_repeatable: true,
    help: "Define a macro of a Promela model; may be repeated",
};

const INCLUDE: LanguageOption = LanguageOption {
    name: "include",
    short: Some('I'),
    value: OptionValue::Text("DIR"),
    is_repeatable: true,
    help: "Where files that a Promela model includes are looked for; may be repeated",
};

const LOSSY: LanguageOption = LanguageOption {
    name: "lossy",
    short: None,
    value: OptionValue::Switch,
    is_repeatable: false,
    help: "A send to a full channel of a Promela model loses its message, rather than waiting",
};

const INSTANCES: LanguageOption = LanguageOption {
    name: "instances",
    short: None,
    value: OptionValue::Number,
    is_repeatable: false,
    help: "How many processes of each type a Promela model has room for where their number is not \
           bounded by its text; a search that needs more starts over [default: 8]",
};

const CLAIM: LanguageOption = LanguageOption {
    name: "claim",
    short: None,
    value: OptionValue::Text("NAME|none"),
    is_repeatable: false,
    help: "Which never claim or `ltl` formula of a Promela model is asked for; `none` leaves all of \
           them out. None is checked yet: a run without a violation is incomplete [default: all]",
};

/// The claims and formulas of a program, or the one that is asked for.
fn claims(program: &Program, text: &Text, asked: Option<&str>) -> Result<Vec<Property>, String> {
    let mut claims = Vec::new();
    let mut add = |what: &str, name: Option<&str>, span: TokenSpan| {
        let is_wanted = asked.is_none_or(|asked| name == Some(asked));
        if is_wanted {
            claims.push(Property {
                kind: PropertyKind::Claim,
                name: match name {
                    Some(name) => format!("{what} `{name}`"),
                    None => what.to_owned(),
                },
                at: text.describe(text.place(span).span.start),
            });
        }
    };
    for claim in &program.claims {
        add("never claim", claim.name.as_deref(), claim.span);
    }
    for formula in &program.formulas {
        add("formula", formula.name.as_deref(), formula.span);
    }
    if asked.is_none() {
        for &span in &program.traces {
            add("trace automaton", None, span);
        }
        for (label, kind) in [("acceptance", 0), ("progress", 1)] {
            let points = program.proctypes.iter().flat_map(|it| &it.automaton.points);
            let mut labelled = points.filter(|it| [it.is_accept, it.is_progress][kind]);
            if let Some(point) = labelled.next() {
                add(&format!("what {label} labels ask for"), None, point.span);
            }
        }
    }
    match (asked, claims.is_empty()) {
        (Some(asked), true) => Err(format!("there is no claim or formula `{asked}`")),
        _ => Ok(claims),
    }
}

/// Names of processes with their pids, and channels with their messages.
#[derive(Debug)]
struct PromelaNaming(hadal_promela::Naming);

impl Naming for PromelaNaming {
    fn state(&self, leaves: Vec<(String, String)>) -> Vec<(String, String)> {
        self.0.state(leaves)
    }

    fn step(&self, step: Step, leaves: &[(String, String)]) -> Step {
        let slot = step
            .parameters
            .first()
            .and_then(|(_, value)| value.parse().ok());
        let inner = step.inner.into_iter().map(|inner| self.step(inner, leaves));
        Step {
            rule: self.0.step(&step.rule, slot.unwrap_or(0), leaves),
            parameters: Vec::new(),
            output: step.output,
            inner: inner.collect(),
        }
    }
}

impl Language for Promela {
    fn name(&self) -> &'static str {
        "promela"
    }

    fn title(&self) -> &'static str {
        "Promela"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["pml", "prom", "promela", "spin", "pr", "prm", "pm"]
    }

    fn options(&self) -> &'static [LanguageOption] {
        &[DEFINE, INCLUDE, CLAIM, LOSSY, INSTANCES]
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
        let settings = Options {
            defines: options.all(DEFINE.name).map(str::to_owned).collect(),
            include_dirs: options.all(INCLUDE.name).map(str::to_owned).collect(),
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
        let claims = match options.get(CLAIM.name) {
            Some("none") => Vec::new(),
            asked => claims(program, &compiled.text, asked).map_err(|message| Problems {
                messages: vec![message],
                ..Problems::default()
            })?,
        };
        let lowering = LowerOptions {
            lossy: options.get(LOSSY.name).is_some(),
            instances: (options.get(INSTANCES.name))
                .and_then(|n| n.parse().ok())
                .unwrap_or(GUESSED_INSTANCES),
        };
        let lowered = match lower(program, &compiled.text, &lowering) {
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
            warnings: compiled.diagnostics,
            symmetry_breaks: Vec::new(),
            constants: Vec::new(),
            loop_limit: None,
            claims,
            naming: Some(Arc::new(PromelaNaming(lowered.naming))),
            wider: lowered.is_guess.then(|| {
                let n = lowering.instances.max(1).saturating_mul(2);
                (INSTANCES.name, n.to_string())
            }),
        })
    }
}
