//! Fills a clap struct from flags and an [`Environment`].
//!
//! Clap reads the process's environment by itself, at a point where a test cannot step in. So each argument's
//! variable is looked up here and handed to clap as that argument's default. Who gave a bad value is found by
//! parsing once more without the environment: a complaint that stays is about a flag, one that goes away is not.

use std::any::TypeId;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::builder::{ArgAction, OsStr, Resettable, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};

use super::environment::Environment;
use super::refusal::Refusal;
use super::renamed::Renamed;

/// Why there are no settings to run with.
#[derive(Debug)]
pub enum Stop {
    /// `--help` or `--version` was asked for: this text is the answer, and all went well.
    Answer(StyledStr),
    /// The settings cannot be used.
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Reads the settings `A` from a command line (the program's name first) and an environment; `renamed` are
/// variables that must not be set any more.
pub fn parse<A: Parser>(
    argv: impl IntoIterator<Item = impl Into<OsString>>,
    env: &Environment,
    renamed: &[Renamed],
) -> Result<A, Stop> {
    let argv: Vec<OsString> = argv.into_iter().map(Into::into).collect();
    // Help reads best from the command as it was declared: ours shows what is set in place of the defaults.
    let declared = each_arg(A::command(), &|arg| switch(arg).hide_env_values(true));
    let ours = each_arg(declared.clone(), &|arg| from_environment(arg, env));

    let found = Renamed::found(renamed, env);
    let parsed =
        ours.try_get_matches_from(&argv).and_then(|mut matches| A::from_arg_matches_mut(&mut matches));
    match parsed {
        Ok(_) if !found.is_empty() => Err(Refusal::Renamed { variables: found }.into()),
        Ok(settings) => Ok(settings),
        Err(error) if is_answer(&error) => Err(Stop::Answer(answer(declared, &argv, &error))),
        Err(_) if !found.is_empty() => Err(Refusal::Renamed { variables: found }.into()),
        Err(error) => {
            let bare = each_arg(declared.clone(), &|arg| arg.env(Resettable::Reset));
            let without = bare.try_get_matches_from(&argv).err();
            let mut built = declared;
            built.build(); // an argument prints itself only after this
            Err(refusal(&built, env, &error, without.as_ref()).into())
        }
    }
}

/// Applies `change` to the arguments of a command and of all commands below it.
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
        // Clap refuses by panic an argument that is required and has a default.
        Some(value) => arg.required(false).default_value(value),
        None => arg,
    }
}

/// The other spellings of a boolean that Go's `strconv.ParseBool` takes.
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

fn is_answer(error: &clap::Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand)
}

fn answer(declared: Command, argv: &[OsString], error: &clap::Error) -> StyledStr {
    match declared.try_get_matches_from(argv) {
        Err(help) if is_answer(&help) => help.render(),
        _ => error.render(),
    }
}

/// An answer as standard output shows it: with bold and colour on a terminal.
pub fn styled(answer: &StyledStr) -> String {
    let plain =
        !io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    if plain { answer.to_string() } else { answer.ansi().to_string() }
}

fn refusal(
    declared: &Command,
    env: &Environment,
    error: &clap::Error,
    without_env: Option<&clap::Error>,
) -> Refusal {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let settings = missing(declared, error);
        if !settings.is_empty() {
            return Refusal::Missing { settings };
        }
    }
    let same = without_env.is_some_and(|other| {
        other.kind() == error.kind()
            && invalid_arg(other) == invalid_arg(error)
            && invalid_value(other) == invalid_value(error)
    });
    if !same {
        if error.kind() == ErrorKind::InvalidUtf8
            && let Some(variable) = not_text(declared, env)
        {
            return Refusal::NotText { variable };
        }
        if let Some(variable) = invalid_arg(error).and_then(|arg| variable_of(declared, &arg)) {
            let value = invalid_value(error).unwrap_or_default();
            return Refusal::Value { variable, value, reason: reason(error) };
        }
    }
    let text = error.render().to_string();
    Refusal::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
}

/// What is wrong with the value: our own parsers' words, else the list of what is possible.
fn reason(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => format!("use one of {}", values.join(", ")),
        _ => "the setting does not take it".to_owned(),
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

/// The settings that are missing, by their variables; none when one of them can only be typed: clap explains that better.
fn missing(declared: &Command, error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::Strings(args)) = error.get(ContextKind::InvalidArg) else { return Vec::new() };
    let named = |arg: &String| Some(format!("{} ({arg})", variable_of(declared, arg)?));
    args.iter().map(named).collect::<Option<_>>().unwrap_or_default()
}

/// The variable of the argument that clap prints as `shown`.
fn variable_of(command: &Command, shown: &str) -> Option<String> {
    let own = command.get_arguments().find(|arg| arg.to_string() == shown);
    let own = own.and_then(|arg| arg.get_env()).map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| variable_of(below, shown)))
}

fn not_text(command: &Command, env: &Environment) -> Option<String> {
    let names = command.get_arguments().filter_map(Arg::get_env);
    let mut bad = names.filter(|name| env.get(name).is_some_and(|value| value.to_str().is_none()));
    let own = bad.next().map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| not_text(below, env)))
}

#[cfg(test)]
mod tests;
