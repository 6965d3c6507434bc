//! Fills a clap struct from flags and an [`Environment`].
//!
//! Clap reads the process's environment itself, where a test cannot replace it. So each argument's variable is
//! looked up here and passed to clap as that argument's default. To find out whether a bad value came from a flag or
//! from a variable, the command line is parsed once more without the environment: an error that remains is about a
//! flag.

use std::any::TypeId;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::builder::{ArgAction, OsStr, Resettable, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};

use super::environment::Environment;
use super::error::SettingsError;
use super::renamed::RenamedVariable;

/// Why parsing did not produce settings.
#[derive(Debug)]
pub enum ParseExit {
    /// The text to print for `--help` or `--version`; the exit code is 0.
    HelpOrVersion(StyledStr),
    Invalid(SettingsError),
}

impl From<SettingsError> for ParseExit {
    fn from(error: SettingsError) -> Self {
        Self::Invalid(error)
    }
}

/// Parses the settings `A` from a command line (the program's name first) and an environment. A variable of
/// `renamed` that is set is an error.
pub fn parse<A: Parser>(
    argv: impl IntoIterator<Item = impl Into<OsString>>,
    env: &Environment,
    renamed: &[RenamedVariable],
) -> Result<A, ParseExit> {
    let argv: Vec<OsString> = argv.into_iter().map(Into::into).collect();
    // Help is rendered from the declared command: in the other one, values that are set replace the defaults.
    let declared = each_arg(A::command(), &|arg| switch(arg).hide_env_values(true));
    let with_env = each_arg(declared.clone(), &|arg| from_environment(arg, env));

    let outdated: Vec<_> = renamed.iter().filter(|renamed| env.get(renamed.old).is_some()).copied().collect();
    let parsed =
        with_env.try_get_matches_from(&argv).and_then(|mut matches| A::from_arg_matches_mut(&mut matches));
    match parsed {
        Ok(_) if !outdated.is_empty() => Err(SettingsError::Renamed { variables: outdated }.into()),
        Ok(settings) => Ok(settings),
        Err(error) if is_help_or_version(&error) => {
            Err(ParseExit::HelpOrVersion(help_text(declared, &argv, &error)))
        }
        Err(_) if !outdated.is_empty() => Err(SettingsError::Renamed { variables: outdated }.into()),
        Err(error) => {
            let bare = each_arg(declared.clone(), &|arg| arg.env(Resettable::Reset));
            let without = bare.try_get_matches_from(&argv).err();
            let mut built = declared;
            built.build(); // arguments have a display form only after this
            Err(settings_error(&built, env, &error, without.as_ref()).into())
        }
    }
}

/// Applies `change` to the arguments of a command and of all its subcommands.
fn each_arg(command: Command, change: &dyn Fn(Arg) -> Arg) -> Command {
    command.mut_args(change).mut_subcommands(|below| each_arg(below, change))
}

/// Lets a boolean flag stand alone or take a value, so that `--tls=false` overrules a variable.
fn switch(arg: Arg) -> Arg {
    if !matches!(arg.get_action(), ArgAction::SetTrue) || arg.get_env().is_none() {
        return arg;
    }
    let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true);
    let arg = arg.value_name("true|false").hide_possible_values(true);
    arg.default_missing_value("true").default_value("false")
}

fn from_environment(arg: Arg, env: &Environment) -> Arg {
    let value =
        arg.get_env().and_then(|name| env.get(name)).map(|value| match go_bool(&arg, value.to_str()) {
            Some(canonical) => OsStr::from(canonical),
            None => OsStr::from(value.to_owned()),
        });
    let arg = arg.env(Resettable::Reset);
    match value {
        // Clap panics on an argument that is required and has a default.
        Some(value) => arg.required(false).default_value(value),
        None => arg,
    }
}

/// Further spellings of booleans that Go's `strconv.ParseBool` accepts.
fn go_bool(arg: &Arg, value: Option<&str>) -> Option<&'static str> {
    if arg.get_value_parser().type_id() != TypeId::of::<bool>() {
        return None;
    }
    match value? {
        "1" | "t" | "T" | "TRUE" | "True" => Some("true"),
        "0" | "f" | "F" | "FALSE" | "False" => Some("false"),
        _ => None,
    }
}

fn is_help_or_version(error: &clap::Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand)
}

fn help_text(declared: Command, argv: &[OsString], error: &clap::Error) -> StyledStr {
    match declared.try_get_matches_from(argv) {
        Err(help) if is_help_or_version(&help) => help.render(),
        _ => error.render(),
    }
}

/// A help text with bold and colour if standard output is a terminal and `NO_COLOR` is not set.
pub fn styled(text: &StyledStr) -> String {
    let plain =
        !io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    if plain { text.to_string() } else { text.ansi().to_string() }
}

fn settings_error(
    declared: &Command,
    env: &Environment,
    error: &clap::Error,
    without_env: Option<&clap::Error>,
) -> SettingsError {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let settings = missing(declared, error);
        if !settings.is_empty() {
            return SettingsError::Missing { settings };
        }
    }
    let is_about_a_flag = without_env.is_some_and(|other| {
        other.kind() == error.kind()
            && invalid_arg(other) == invalid_arg(error)
            && invalid_value(other) == invalid_value(error)
    });
    if !is_about_a_flag {
        if error.kind() == ErrorKind::InvalidUtf8
            && let Some(variable) = not_utf8(declared, env)
        {
            return SettingsError::NotUtf8 { variable };
        }
        if let Some(variable) = invalid_arg(error).and_then(|arg| variable_of(declared, &arg)) {
            let value = invalid_value(error).unwrap_or_default();
            return SettingsError::Value { variable, value, reason: reason(error) };
        }
    }
    let text = error.render().to_string();
    SettingsError::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
}

/// What is wrong with the value: the message of our own parser, else the list of possible values.
fn reason(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => format!("use one of {}", values.join(", ")),
        _ => "the setting does not accept it".to_owned(),
    }
}

fn invalid_arg(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(arg) => Some(arg.clone()),
        _ => None,
    }
}

fn invalid_value(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidValue)? {
        ContextValue::String(value) => Some(value.clone()),
        _ => None,
    }
}

/// The missing settings by their variables; empty when one of them is only a flag, since clap's own message is better
/// then.
fn missing(declared: &Command, error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::Strings(args)) = error.get(ContextKind::InvalidArg) else { return Vec::new() };
    let named = |arg: &String| Some(format!("{} ({arg})", variable_of(declared, arg)?));
    args.iter().map(named).collect::<Option<_>>().unwrap_or_default()
}

/// The variable of the argument that clap displays as `shown`.
fn variable_of(command: &Command, shown: &str) -> Option<String> {
    let own = command.get_arguments().find(|arg| arg.to_string() == shown);
    let own = own.and_then(|arg| arg.get_env()).map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| variable_of(below, shown)))
}

fn not_utf8(command: &Command, env: &Environment) -> Option<String> {
    let names = command.get_arguments().filter_map(Arg::get_env);
    let mut bad = names.filter(|name| env.get(name).is_some_and(|value| value.to_str().is_none()));
    let own = bad.next().map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| not_utf8(below, env)))
}

#[cfg(test)]
mod tests;
