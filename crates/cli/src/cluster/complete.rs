//! Completion through `kubectl`, which asks a program `kubectl_complete-vmafx` for it: the words so far, the last of them
//! the one to complete. The answer is a word per line, and a number that tells the shell not to offer files.

use std::path::Path;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use tokio::runtime;

use super::kind::Kind;
use super::reach::ReachArgs;
use super::{Plugin, select};
use crate::output::print;

/// Nobody waits longer for a Tab.
const PATIENCE: Duration = Duration::from_secs(2);
/// Do not offer files.
const NO_FILES: &str = ":4";
/// Offer them.
const FILES: &str = ":0";

/// Whether the program was called to complete a command.
pub fn is_asked(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "kubectl_complete-vmafx")
}

/// Writes what the last word may become.
pub fn run(words: impl Iterator<Item = String>) {
    let words: Vec<String> = words.collect();
    let mut command = Plugin::command();
    command.build();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let offer = offer(&command, before, last);
    let mut found: Vec<String> = match &offer {
        Offer::Words(words) => words.clone(),
        Offer::Resources(kind) => names(*kind, before).unwrap_or_default(),
        Offer::Files => Vec::new(),
    };
    found.retain(|word| word.starts_with(last));
    found.push(if offer == Offer::Files { FILES } else { NO_FILES }.to_owned());
    // Whoever does not want to hear it is not told.
    let _ = print(&(found.join("\n") + "\n"));
}

/// What may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Offer {
    Words(Vec<String>),
    /// Names of resources.
    Resources(Kind),
    Files,
}

fn offer(plugin: &Command, before: &[String], last: &str) -> Offer {
    let mut command = plugin;
    let mut kind = Kind::Job;
    let mut pending: Option<&Arg> = None;
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            pending = flag(command, word).filter(|arg| takes_value(arg) && !word.contains('='));
        } else if let Some(below) = command.find_subcommand(word) {
            command = below;
        } else if let Some(called) = Kind::called(word) {
            kind = called;
        }
    }
    if let Some(arg) = pending {
        return values(arg);
    }
    if let Some((name, _)) = last.split_once('=').filter(|(name, _)| name.starts_with('-')) {
        let Some(Offer::Words(words)) = flag(command, name).map(values) else { return Offer::Files };
        return Offer::Words(words.into_iter().map(|value| format!("{name}={value}")).collect());
    }
    if last.starts_with('-') {
        let long = |arg: &Arg| arg.get_long().map(|long| format!("--{long}"));
        return Offer::Words(
            command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(long).collect(),
        );
    }
    if command.has_subcommands() {
        let names = command.get_subcommands().filter(|below| !below.is_hide_set());
        return Offer::Words(names.map(|below| below.get_name().to_owned()).collect());
    }
    match command.get_name() {
        "get" | "explain" | "logs" | "wait" | "cancel" | "suspend" | "resume" => Offer::Resources(kind),
        _ => Offer::Files,
    }
}

fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    command.get_arguments().find(|arg| {
        name.strip_prefix("--").is_some_and(|long| arg.get_long() == Some(long))
            || name
                .strip_prefix('-')
                .is_some_and(|short| arg.get_short().is_some_and(|letter| short.chars().eq([letter])))
    })
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn values(arg: &Arg) -> Offer {
    let known: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    match arg.get_long() {
        Some("for") => {
            Offer::Words(["complete", "failed", "done", "running", "suspended"].map(str::to_owned).to_vec())
        }
        _ if known.is_empty() => Offer::Files,
        _ => Offer::Words(known),
    }
}

/// The names that there are; nothing if that takes too long.
fn names(kind: Kind, before: &[String]) -> Option<Vec<String>> {
    vmafx_kit::tls::install_crypto_provider();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let asked = async {
            let cluster = ReachArgs::of_words(before).connect().await.ok()?;
            select::list(&cluster, &cluster.objects(kind), kind, None).await.ok()
        };
        let objects = tokio::time::timeout(PATIENCE, asked).await.ok()??;
        Some(objects.into_iter().filter_map(|object| object.metadata.name).collect())
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn offered(words: &[&str]) -> Offer {
        let mut command = Plugin::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (last, before) = words.split_last().unwrap();
        offer(&command, before, last)
    }

    fn words(words: &[&str]) -> Vec<String> {
        match offered(words) {
            Offer::Words(words) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn verbs_flags_and_values_are_offered() {
        let verbs = words(&[""]);
        assert!(verbs.contains(&"submit".to_owned()) && verbs.contains(&"wait".to_owned()), "{verbs:?}");
        let flags = words(&["get", "--"]);
        assert!(
            flags.contains(&"--watch".to_owned()) && flags.contains(&"--namespace".to_owned()),
            "{flags:?}"
        );
        assert_eq!(words(&["get", "-o", ""]), ["table", "wide", "json", "yaml", "name"]);
        assert!(words(&["submit", "--execution=p"]).contains(&"--execution=pod".to_owned()));
        assert!(words(&["wait", "a", "--for", ""]).contains(&"done".to_owned()));
    }

    #[rstest]
    #[case(&["get", ""], Offer::Resources(Kind::Job))]
    #[case(&["get", "-n", "team", "x"], Offer::Resources(Kind::Job))]
    #[case(&["get", "nodes", ""], Offer::Resources(Kind::Node))]
    #[case(&["cancel", "a", ""], Offer::Resources(Kind::Job))]
    #[case(&["submit", "-f", ""], Offer::Files)]
    fn names_and_files_are_offered_where_they_belong(#[case] words: &[&str], #[case] expected: Offer) {
        assert_eq!(offered(words), expected);
    }
}
