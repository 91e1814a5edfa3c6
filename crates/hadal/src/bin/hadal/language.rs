//! Options of languages on the command line. Names and help texts come from the languages
//! themselves ([`hadal::language::languages`]).

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use hadal::language::{LanguageOption, LanguageOptions, OptionValue, languages};

/// The options that were typed.
#[derive(Clone, Debug)]
pub(crate) struct LanguageArgs {
    pub(crate) options: LanguageOptions,
}

/// All options that have a flag, each once.
fn options() -> Vec<&'static LanguageOption> {
    let mut options: Vec<&'static LanguageOption> = Vec::new();
    for option in languages().iter().flat_map(|language| language.options()) {
        if !option.is_hidden && !options.iter().any(|known| known.name == option.name) {
            options.push(option);
        }
    }
    options
}

/// What an option means, by language where some do not have it.
fn help(name: &str) -> String {
    let owners = languages().iter().filter_map(|language| {
        let option = language.options().iter().find(|it| it.name == name)?;
        Some((language.title(), option.help))
    });
    let owners: Vec<_> = owners.collect();
    match owners.as_slice() {
        [(_, help), rest @ ..]
            if owners.len() == languages().len() && rest.iter().all(|it| it.1 == *help) =>
        {
            (*help).to_owned()
        }
        owners => {
            let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
            for (title, help) in owners {
                match groups.iter_mut().find(|(_, known)| known == help) {
                    Some((titles, _)) => titles.push(title),
                    None => groups.push((vec![title], help)),
                }
            }
            let each = groups
                .iter()
                .map(|(titles, help)| format!("For {}: {help}", titles.join(" and ")));
            each.collect::<Vec<_>>().join(". ")
        }
    }
}

fn arg(option: &'static LanguageOption) -> Arg {
    let arg = Arg::new(option.name)
        .long(option.name)
        .short(option.short)
        .help_heading("Model")
        .help(help(option.name));
    let check = move |text: &str| option.value.check(text).map(|()| text.to_owned());
    let arg = match option.value {
        OptionValue::Switch => return arg.action(ArgAction::SetTrue),
        OptionValue::OneOf(values) => {
            let possible = values
                .iter()
                .map(|(name, help)| PossibleValue::new(*name).help(*help));
            arg.value_name("NAME")
                .value_parser(PossibleValuesParser::new(possible))
        }
        OptionValue::Text(name) => arg.value_name(name),
        OptionValue::Number => arg.value_name("N").value_parser(check),
        OptionValue::Pair => arg.value_name("NAME=VALUE").value_parser(check),
    };
    match option.is_repeatable {
        true => arg.action(ArgAction::Append),
        false => arg,
    }
}

impl clap::Args for LanguageArgs {
    fn augment_args(command: Command) -> Command {
        command.args(options().into_iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for LanguageArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = LanguageOptions::default();
        for option in options() {
            match option.value {
                OptionValue::Switch if matches.get_flag(option.name) => {
                    given.push(option.name, "yes");
                }
                OptionValue::Switch => {}
                _ => {
                    let values = matches.get_many::<String>(option.name);
                    let values = values.into_iter().flatten();
                    values.for_each(|value| given.push(option.name, value));
                }
            }
        }
        Ok(LanguageArgs { options: given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
