//! Completion of `kubectl vmafx`. `kubectl` runs `kubectl_complete-vmafx` with the words so far, of which the last one is to
//! be completed. The output has one candidate per line, then a directive of the completion protocol.

use std::path::Path;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use tokio::runtime;

use super::connection::ConnectionArgs;
use super::kind::ResourceKind;
use super::{Plugin, select};
use crate::output::print;

/// A user does not wait longer after pressing Tab.
const TIMEOUT: Duration = Duration::from_secs(2);
/// `ShellCompDirectiveNoFileComp` of the cobra library.
const NO_FILES: &str = ":4";
/// `ShellCompDirectiveDefault`: the shell completes file names.
const FILES: &str = ":0";

/// Whether the program was started to complete a command line.
pub fn is_completion(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == "kubectl_complete-vmafx")
}

/// Prints the completions of the last word.
pub fn run(words: impl Iterator<Item = String>) {
    let words: Vec<String> = words.collect();
    let mut command = Plugin::command();
    command.build();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let completions = completions(&command, before, last);
    let mut lines: Vec<String> = match &completions {
        Completions::Words(words) => words.clone(),
        Completions::Resources(kind) => names(*kind, before).unwrap_or_default(),
        Completions::Files => Vec::new(),
    };
    lines.retain(|word| word.starts_with(last));
    lines.push(if completions == Completions::Files { FILES } else { NO_FILES }.to_owned());
    // There is nowhere to report a failure to.
    let _ = print(&(lines.join("\n") + "\n"));
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Completions {
    Words(Vec<String>),
    /// The names of the resources of this kind.
    Resources(ResourceKind),
    Files,
}

fn completions(plugin: &Command, before: &[String], last: &str) -> Completions {
    let mut command = plugin;
    let mut kind = ResourceKind::Job;
    let mut pending: Option<&Arg> = None;
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            pending = flag(command, word).filter(|arg| takes_value(arg) && !word.contains('='));
        } else if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand;
        } else if let Some(named) = ResourceKind::from_name(word) {
            kind = named;
        }
    }
    if let Some(arg) = pending {
        return values(arg);
    }
    if let Some((name, _)) = last.split_once('=').filter(|(name, _)| name.starts_with('-')) {
        let Some(Completions::Words(words)) = flag(command, name).map(values) else {
            return Completions::Files;
        };
        return Completions::Words(words.into_iter().map(|value| format!("{name}={value}")).collect());
    }
    if last.starts_with('-') {
        let long = |arg: &Arg| arg.get_long().map(|long| format!("--{long}"));
        return Completions::Words(
            command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(long).collect(),
        );
    }
    if command.has_subcommands() {
        let visible = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        return Completions::Words(visible.map(|subcommand| subcommand.get_name().to_owned()).collect());
    }
    match command.get_name() {
        "get" | "explain" | "logs" | "wait" | "cancel" | "suspend" | "resume" => Completions::Resources(kind),
        "dashboard" => Completions::Words(Vec::new()),
        _ => Completions::Files,
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

fn values(arg: &Arg) -> Completions {
    let possible: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    match arg.get_long() {
        Some("for") => Completions::Words(
            ["complete", "failed", "done", "running", "suspended"].map(str::to_owned).to_vec(),
        ),
        Some("service-account" | "port" | "audience" | "controller-namespace") => {
            Completions::Words(Vec::new())
        }
        _ if possible.is_empty() => Completions::Files,
        _ => Completions::Words(possible),
    }
}

/// The names of the existing resources; `None` if the cluster does not answer in time.
fn names(kind: ResourceKind, before: &[String]) -> Option<Vec<String>> {
    vmafx_kit::tls::install_crypto_provider();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let names = async {
            let cluster = ConnectionArgs::from_incomplete(before).connect().await.ok()?;
            select::list(&cluster, &cluster.objects(kind), kind, None).await.ok()
        };
        let objects = tokio::time::timeout(TIMEOUT, names).await.ok()??;
        Some(objects.into_iter().filter_map(|object| object.metadata.name).collect())
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn complete(words: &[&str]) -> Completions {
        let mut command = Plugin::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (last, before) = words.split_last().unwrap();
        completions(&command, before, last)
    }

    fn words(words: &[&str]) -> Vec<String> {
        match complete(words) {
            Completions::Words(words) => words,
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
    #[case(&["get", ""], Completions::Resources(ResourceKind::Job))]
    #[case(&["get", "-n", "team", "x"], Completions::Resources(ResourceKind::Job))]
    #[case(&["get", "nodes", ""], Completions::Resources(ResourceKind::Node))]
    #[case(&["cancel", "a", ""], Completions::Resources(ResourceKind::Job))]
    #[case(&["submit", "-f", ""], Completions::Files)]
    fn names_and_files_are_offered_where_they_belong(#[case] words: &[&str], #[case] expected: Completions) {
        assert_eq!(complete(words), expected);
    }
}
