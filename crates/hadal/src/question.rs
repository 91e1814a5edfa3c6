//! What a check is about: the model's text and everything that changes what is reported.
//!
//! A run that can be resumed keeps its question in its folder, so that it goes on with the same one
//! wherever the model's file is by then, and even if it came from standard input.

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::flags::{
    CheckArgs, DeadlockName, DialectName, EngineName, Language, StoreName, SymmetryName,
};
use crate::load::{self, Internal};

/// What is asked of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The version that began to answer. Another one may lay states out in another way.
    hadal: String,
    /// Name of the model, as it was given.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) language: Language,
    pub(crate) dialect: DialectName,
    pub(crate) constants: Vec<(String, String)>,
    pub(crate) loop_limit: Option<u64>,
    pub(crate) call_limit: u32,
    pub(crate) deadlock: DeadlockName,
    pub(crate) symmetry: SymmetryName,
    pub(crate) bound: Option<u32>,
    pub(crate) max_errors: u32,
    pub(crate) strategy: String,
    pub(crate) store: StoreName,
    pub(crate) seed: u64,
    pub(crate) engine: EngineName,
}

/// What can be read of the question of any version.
#[derive(Deserialize)]
struct Asked {
    hadal: String,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Question {
    /// What was typed; reads the model's text.
    pub(crate) fn new(args: &CheckArgs) -> anyhow::Result<Self> {
        let (source, language) = load::read(&args.model, args.language)?;
        Ok(Question {
            hadal: VERSION.to_owned(),
            name: source.name().to_owned(),
            text: source.text().to_owned(),
            language,
            dialect: args.dialect,
            constants: args.constants.clone(),
            loop_limit: args.loop_limit,
            call_limit: args.call_limit,
            deadlock: args.deadlock,
            symmetry: args.symmetry,
            bound: args.bound,
            max_errors: args.max_errors,
            strategy: args.strategy.name.clone(),
            store: args.store,
            seed: args.seed,
            engine: args.engine,
        })
    }

    /// The bytes that a folder keeps.
    pub(crate) fn to_label(&self) -> anyhow::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// What [`Question::to_label`] made.
    pub(crate) fn from_label(label: &[u8]) -> anyhow::Result<Self> {
        let unclear = |error| Internal(format!("the folder does not say what was asked: {error}"));
        let asked: Asked = serde_json::from_slice(label).map_err(unclear)?;
        if asked.hadal != VERSION {
            bail!(
                "the run was begun by hadal {}, and can only be resumed by it; this is {VERSION}",
                asked.hadal
            );
        }
        Ok(serde_json::from_slice(label).map_err(unclear)?)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::exit::{self, Exit};
    use crate::flags::{Cli, Command};

    fn question(flags: &[&str]) -> Question {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/peterson.m");
        let typed = ["hadal", "check", model]
            .into_iter()
            .chain(flags.iter().copied());
        match Cli::parse_from(typed).command {
            Command::Check(args) => Question::new(&args).expect("the model can be read"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_comes_back_from_its_label() {
        for flags in [
            &[][..],
            &["--dialect", "cmurphi", "--const", "N=2", "--const", "M=x"],
            &["--loop-limit", "7", "--call-limit", "8", "--bound", "9"],
            &[
                "--deadlock",
                "stuck",
                "--symmetry",
                "off",
                "--max-errors",
                "3",
            ],
            &[
                "--engine",
                "interpreter",
                "--strategy",
                "ram",
                "--language",
                "murphi",
            ],
            &["--store", "hash96"],
            &["--seed", "4"],
        ] {
            let asked = question(flags);
            let label = asked.to_label().expect("it becomes text");
            let back = Question::from_label(&label).expect("it was one");
            assert_eq!(back, asked);
            assert_eq!(back == question(&[]), flags.is_empty(), "{flags:?}");
        }
    }

    #[test]
    fn another_version_s_question_is_refused_and_nonsense_is_damage() {
        let exit = |label: &str| {
            let error = Question::from_label(label.as_bytes()).expect_err("it is refused");
            (exit::of_error(&error), error.to_string())
        };
        let (code, message) = exit(r#"{"hadal": "99.0.0", "oracle": "delphi"}"#);
        assert_eq!(code, Exit::Usage);
        assert!(message.contains("begun by hadal 99.0.0"), "{message}");
        assert_eq!(exit("").0, Exit::Internal);
        assert_eq!(
            exit(&format!(r#"{{"hadal": "{VERSION}"}}"#)).0,
            Exit::Internal
        );
    }
}
