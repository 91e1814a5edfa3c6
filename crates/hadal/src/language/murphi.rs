//! Murphi, by `hadal-murphi`.

use hadal_model::Stop;
use hadal_murphi::{Dialect, Options};
use hadal_syntax::Sources;

use super::{Language, LanguageOptions, Problems, Translation};

/// Murphi, in three dialects.
#[derive(Clone, Copy, Debug)]
pub struct Murphi;

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

    fn dialects(&self) -> &'static [(&'static str, &'static str)] {
        const {
            &[
                (Dialect::Hadal.name(), "The recommended meaning"),
                (Dialect::Cmurphi.name(), "As CMurphi 5.4.9"),
                (Dialect::Rumur.name(), "As rumur"),
            ]
        }
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems> {
        let dialect = match options.dialect.as_deref().map(str::parse) {
            None => Dialect::default(),
            Some(Ok(dialect)) => dialect,
            Some(Err(unknown)) => {
                return Err(Problems {
                    messages: vec![unknown.to_string()],
                    ..Problems::default()
                });
            }
        };
        let options = Options {
            dialect,
            constants: options.constants.clone(),
        };
        let compiled = hadal_murphi::compile_until(sources.root(), &options, stop);
        let Some(compiled) = compiled else {
            return Err(Problems::default());
        };
        match compiled.program {
            Some(program) => Ok(Translation {
                program,
                warnings: compiled.diagnostics,
                symmetry_breaks: compiled.symmetry_breaks,
                constants: compiled.constants,
                loop_limit: dialect.while_limit(),
            }),
            None => Err(Problems {
                diagnostics: compiled.diagnostics,
                messages: compiled.unused_overrides,
            }),
        }
    }
}
