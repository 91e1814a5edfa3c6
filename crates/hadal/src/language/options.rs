//! Options that a language declares, and their values for one model.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Language;
use crate::Error;

/// An option of a language. A command line offers a flag for each that is not hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageOption {
    /// Its name, that of the flag without dashes.
    pub name: &'static str,
    /// A one-letter flag.
    pub short: Option<char>,
    /// What its value is.
    pub value: OptionValue,
    /// Whether it may be given several times.
    pub is_repeatable: bool,
    /// Whether there is no flag for it, because another one sets it.
    pub is_hidden: bool,
    /// What it does, for help texts.
    pub help: &'static str,
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// `yes`; the flag has no value.
    Switch,
    /// Any text, which help texts call by this name.
    Text(&'static str),
    /// A number from 0 on, written `N`.
    Number,
    /// `NAME=VALUE`. A name may occur once.
    Pair,
    /// One of these, each with a line of help; the first is the default.
    OneOf(&'static [(&'static str, &'static str)]),
}

impl OptionValue {
    /// What is wrong with a value.
    pub fn check(self, value: &str) -> Result<(), String> {
        let expected = |what: &str| Err(format!("expected {what}"));
        match self {
            OptionValue::Switch if value != "yes" => expected("`yes`"),
            OptionValue::Number if value.parse::<u64>().is_err() => expected("a number"),
            OptionValue::Pair if pair(value).is_none() => expected("NAME=VALUE, for example N=4"),
            OptionValue::OneOf(values) if !values.iter().any(|(name, _)| *name == value) => {
                let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                expected(&format!("one of {}", names.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

/// `NAME=VALUE`, neither of which is empty.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}

/// The options of a model: names and values, in the order they were given. What they mean is known
/// to the language alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageOptions(Vec<(String, String)>);

impl LanguageOptions {
    /// Adds an option.
    pub fn push(&mut self, name: impl Into<String>, value: impl fmt::Display) {
        self.0.push((name.into(), value.to_string()));
    }

    /// Sets an option, in place of all its values so far.
    pub fn replace(&mut self, name: impl Into<String>, value: impl fmt::Display) {
        self.replace_all(name, [value]);
    }

    /// Gives an option these values, in place of all that it has so far.
    pub fn replace_all<V: fmt::Display>(
        &mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) {
        let name = name.into();
        self.0.retain(|(given, _)| *given != name);
        for value in values {
            self.push(name.as_str(), value);
        }
    }

    /// The value of an option that was given; the last one, if several were.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// All values of an option.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let given = self.0.iter().filter(move |(given, _)| given == name);
        given.map(|(_, value)| value.as_str())
    }

    /// All values by the names of their options, but for options that are in `left_out`.
    pub fn by_name(&self, left_out: &[&str]) -> BTreeMap<String, Vec<String>> {
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for (name, value) in &self.0 {
            if !left_out.contains(&name.as_str()) {
                by_name.entry(name.clone()).or_default().push(value.clone());
            }
        }
        by_name
    }

    /// The pairs of an option whose value is one, as name and value.
    pub fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let pairs = self.all(name).filter_map(pair);
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Refuses what the language does not declare or does not take.
    pub(crate) fn check(&self, language: &dyn Language) -> Result<(), Error> {
        let title = language.title();
        let invalid = |what: String| Err(Error::Invalid(what));
        for (name, value) in &self.0 {
            let Some(option) = language.options().iter().find(|it| it.name == name) else {
                return invalid(format!("{title} has no option `{name}`"));
            };
            if let Err(what) = option.value.check(value) {
                return invalid(format!("{name} `{value}`: {what}"));
            }
            if !option.is_repeatable && self.all(name).count() > 1 {
                return invalid(format!("the option `{name}` is set twice"));
            }
        }
        for option in language.options() {
            if option.value == OptionValue::Pair {
                let names: Vec<String> =
                    self.pairs(option.name).into_iter().map(|it| it.0).collect();
                let mut repeated = (1..names.len()).filter(|&at| names[..at].contains(&names[at]));
                if let Some(at) = repeated.next() {
                    return invalid(format!("{} `{}` is set twice", option.name, names[at]));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Murphi;

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let options = |given: &[(&str, &str)]| {
            let mut options = LanguageOptions::default();
            given
                .iter()
                .for_each(|(name, value)| options.push(*name, value));
            options.check(&Murphi)
        };
        assert!(options(&[("dialect", "rumur"), ("const", "N=1"), ("const", "M=1")]).is_ok());
        assert!(options(&[("loop-limit", "18446744073709551615")]).is_ok());
        for bad in [
            &[("dialect", "latin")][..],
            &[("dialect", "hadal"), ("dialect", "rumur")],
            &[("const", "N=1"), ("const", " N = 2")],
            &[("const", "N")],
            &[("const", "=4")],
            &[("const", "N=")],
            &[("loop-limit", "-1")],
            &[("lossy", "yes")],
        ] {
            assert!(options(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn pairs_are_read_without_spaces() {
        let mut options = LanguageOptions::default();
        options.push("const", "N = 4");
        assert_eq!(options.pairs("const"), [("N".to_owned(), "4".to_owned())]);
        assert_eq!(options.get("dialect"), None);
    }
}
