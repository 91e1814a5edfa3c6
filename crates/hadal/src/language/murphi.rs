//! Murphi, by `hadal-murphi`.

use hadal_model::Stop;
use hadal_murphi::{Dialect, Options};
use hadal_syntax::Sources;

use super::{
    COST, ESTIMATE, GOAL, Language, LanguageOption, LanguageOptions, OptionValue, Problems, TARGET,
    Translation, outside_files,
};

/// Murphi, in three dialects.
#[derive(Clone, Copy, Debug)]
pub struct Murphi;

const DIALECT: LanguageOption = LanguageOption {
    name: "dialect",
    short: None,
    value: OptionValue::OneOf(&[
        (Dialect::Hadal.name(), "The recommended meaning"),
        (Dialect::Cmurphi.name(), "As CMurphi 5.4.9"),
        (Dialect::Rumur.name(), "As rumur"),
    ]),
    is_repeatable: false,
    is_hidden: false,
    help: "Whose meaning a Murphi text is given where tools disagree [default: hadal]",
};

const CONST: LanguageOption = LanguageOption {
    name: "const",
    short: None,
    value: OptionValue::Pair,
    is_repeatable: true,
    is_hidden: false,
    help: "Override a constant of the model; may be repeated",
};

const LOOP_LIMIT: LanguageOption = LanguageOption {
    name: "loop-limit",
    short: None,
    value: OptionValue::Number,
    is_repeatable: false,
    is_hidden: false,
    help: "Iterations of one `while` loop before it is a violation [default: by dialect: 1000000, \
           cmurphi 1000, rumur none]",
};

impl Language for Murphi {
    fn name(&self) -> &'static str {
        "murphi"
    }

    fn title(&self) -> &'static str {
        "Murphi"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["m"]
    }

    fn options(&self) -> &'static [LanguageOption] {
        &[DIALECT, CONST, LOOP_LIMIT, GOAL, COST, ESTIMATE, TARGET]
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems> {
        let invalid = |what: String| Problems {
            messages: vec![what],
            ..Problems::default()
        };
        let dialect = match options.get(DIALECT.name).map(str::parse) {
            None => Dialect::default(),
            Some(dialect) => dialect
                .map_err(|unknown: hadal_murphi::UnknownDialect| invalid(unknown.to_string()))?,
        };
        let loop_limit = match options.get(LOOP_LIMIT.name).map(str::parse) {
            None => dialect.while_limit(),
            Some(limit) => {
                let limit = limit.map_err(|_| invalid("a loop limit is a number".to_owned()))?;
                Some(limit)
            }
        };
        let outside = outside_files(sources, options)?;
        let outside = outside.map(|_, id| sources.file(id).clone());
        let options = Options {
            dialect,
            constants: options.pairs(CONST.name),
            outside,
        };
        let compiled = hadal_murphi::compile_until(sources.root(), &options, stop);
        let Some(compiled) = compiled else {
            return Err(Problems::default());
        };
        match compiled.program {
            Some(program) => Ok(Translation {
                program,
                estimates: compiled.estimates,
                warnings: compiled.diagnostics,
                symmetry_breaks: compiled.symmetry_breaks,
                constants: compiled.constants,
                loop_limit,
                claims: Vec::new(),
                not_asked: Vec::new(),
                naming: None,
                statements: None,
                wider: None,
            }),
            None => Err(Problems {
                diagnostics: compiled.diagnostics,
                messages: compiled.unused_overrides,
            }),
        }
    }
}
