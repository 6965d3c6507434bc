//! `get`: jobs, nodes and trainings, once or as they change.

use std::ops::ControlFlow;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::watcher;

use super::kind::Kind;
use super::output::{Format, FormatArgs, clean};
use super::reach::{Cluster, ReachArgs};
use super::table::{Rolling, View};
use super::trouble::KubeError;
use super::watch::{Listener, News, watch};
use super::{job::Job, select};
use crate::output::{OutputError, stream};
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx get
      The jobs of the namespace, oldest first.

  kubectl vmafx get trailer-1080p trailer-720p -o wide
      Two of them, with model, attempts and message.

  kubectl vmafx get -A -l team=web --watch
      Those of a team everywhere, and every change until Ctrl-C.

  kubectl vmafx get nodes
  kubectl vmafx get trainings
      The pools of workers, and the models that learn. A job called \"nodes\" is job/nodes.

  kubectl vmafx get -l team=web -o name | xargs kubectl vmafx cancel
      Names are taken by every other command.";

/// Show jobs, nodes or trainings.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "More and examples: kubectl vmafx get --help")]
#[command(
    override_usage = "kubectl vmafx get [OPTIONS] [NAME]...\n       kubectl vmafx get [OPTIONS] jobs|nodes|trainings [NAME]..."
)]
pub(super) struct GetArgs {
    /// jobs (unless said otherwise), nodes or trainings; then names, all without one
    #[arg(value_name = "NAME")]
    words: Vec<String>,

    /// In all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// Only those with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    /// Go on and show every change, until Ctrl-C; with -o json a resource per line
    #[arg(short = 'w', long)]
    watch: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    kind: Kind,
    names: Vec<&'a str>,
}

impl GetArgs {
    fn asked(&self) -> Result<Asked<'_>, KubeError> {
        let (mut kind, words) = match self.words.split_first() {
            Some((first, names)) if Kind::called(first).is_some() => (Kind::called(first), names),
            _ => (None, self.words.as_slice()),
        };
        let mut names = Vec::with_capacity(words.len());
        for word in words {
            let (of, name) = match word.split_once('/').map(|(of, name)| (Kind::called(of), name)) {
                Some((Some(of), name)) => (of, name),
                _ => (kind.unwrap_or(Kind::Job), word.as_str()),
            };
            if *kind.get_or_insert(of) != of {
                return Err(KubeError::Senseless(vec![format!(
                    "{word} is another kind than the ones before it: one kind at a time"
                )]));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if !names.is_empty() && (self.all_namespaces || self.selector.is_some()) {
            return Err(KubeError::Senseless(vec![
                "names are of one namespace and need no labels: leave out -A and -l".to_owned(),
            ]));
        }
        Ok(Asked { kind: kind.unwrap_or(Kind::Job), names })
    }
}

pub(super) async fn run(args: &GetArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    let asked = args.asked()?;
    let cluster = reach.connect().await?;
    let view =
        View { kind: asked.kind, wide: args.format.output == Format::Wide, namespaces: args.all_namespaces };
    if args.watch {
        return follow(args, &cluster, asked, view).await;
    }
    let objects = if asked.names.is_empty() {
        let api =
            if args.all_namespaces { cluster.everywhere(asked.kind) } else { cluster.objects(asked.kind) };
        let mut objects = select::list(&cluster, &api, asked.kind, args.selector.as_deref()).await?;
        objects.sort_by_key(order);
        objects
    } else {
        select::named(&cluster, asked.kind, &asked.names).await?
    };
    if objects.is_empty() && matches!(args.format.output, Format::Table | Format::Wide) {
        let place =
            if args.all_namespaces { String::new() } else { format!(" in namespace {}", cluster.namespace) };
        eprintln!("no {}s{place}", asked.kind.noun());
        return Ok(Exit::Done);
    }
    args.format.show(asked.kind, &objects, asked.names.len() == 1, |look, _| {
        view.table(&objects, look, Timestamp::now())
    })?;
    Ok(Exit::Done)
}

/// By namespace, and in it the oldest first.
fn order(object: &DynamicObject) -> (Option<String>, Option<Timestamp>, Option<String>) {
    let metadata = &object.metadata;
    (
        metadata.namespace.clone(),
        metadata.creation_timestamp.as_ref().map(|time| time.0),
        metadata.name.clone(),
    )
}

async fn follow(args: &GetArgs, cluster: &Cluster, asked: Asked<'_>, view: View) -> Result<Exit, Error> {
    let api = if args.all_namespaces { cluster.everywhere(asked.kind) } else { cluster.objects(asked.kind) };
    let mut config = watcher::Config::default();
    config.label_selector.clone_from(&args.selector);
    if let [name] = asked.names.as_slice() {
        config = config.fields(&format!("metadata.name={name}"));
    }
    if !asked.names.is_empty() {
        // A name that is mistyped would be waited for for ever.
        select::named(cluster, asked.kind, &asked.names).await?;
    }
    let mut lines = Lines {
        view,
        form: args.format.output,
        names: asked.names,
        columns: Rolling::default(),
        first: Some(Vec::new()),
        broken: None,
    };
    watch(cluster, api, config, &mut lines).await?;
    match lines.broken {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}

/// Writes what is there, and then a line for each change.
struct Lines<'a> {
    view: View,
    form: Format,
    /// Only these; all if empty.
    names: Vec<&'a str>,
    columns: Rolling,
    /// What is there, until all of it is known.
    first: Option<Vec<DynamicObject>>,
    broken: Option<OutputError>,
}

impl Lines<'_> {
    fn text(&mut self, object: &DynamicObject, gone: bool) -> Result<String, OutputError> {
        Ok(match self.form {
            Format::Json => serde_json::to_string(&clean(object)?)? + "\n",
            Format::Yaml => format!("---\n{}", serde_saphyr::to_string(&clean(object)?)?),
            Format::Name => self.view.kind.full_name(object) + "\n",
            Format::Table | Format::Wide => {
                let mut row = self.view.row(object, Timestamp::now());
                if gone && let Some(cell) = row.get_mut(1 + usize::from(self.view.namespaces)) {
                    "deleted".clone_into(cell);
                }
                self.columns.line(&row)
            }
        })
    }

    fn begin(&mut self, mut objects: Vec<DynamicObject>) -> Result<String, OutputError> {
        objects.sort_by_key(order);
        let mut text = String::new();
        if matches!(self.form, Format::Table | Format::Wide) {
            let header: Vec<String> = self.view.header().into_iter().map(str::to_owned).collect();
            let rows: Vec<_> = objects.iter().map(|object| self.view.row(object, Timestamp::now())).collect();
            self.columns.fit(&rows);
            text += &self.columns.line(&header);
        }
        for object in &objects {
            text += &self.text(object, false)?;
        }
        Ok(text)
    }
}

impl Listener for Lines<'_> {
    fn hear(&mut self, news: News) -> ControlFlow<()> {
        let text = match (news, self.first.take()) {
            (News::Is(object) | News::Gone(object), first)
                if !self.names.is_empty() && !self.names.contains(&Job(&object).name()) =>
            {
                self.first = first;
                return ControlFlow::Continue(());
            }
            (News::Is(object), Some(mut first)) => {
                first.push(*object);
                self.first = Some(first);
                return ControlFlow::Continue(());
            }
            (News::Listed, Some(first)) => self.begin(first),
            (News::Is(object), None) => self.text(&object, false),
            (News::Gone(object), _) => self.text(&object, true),
            (News::Listed, None) => return ControlFlow::Continue(()),
        };
        match text.and_then(|text| stream(&text)) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                self.broken = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn waiting(&mut self, why: &str) {
        eprintln!("{why}; asking again");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: GetArgs,
    }

    fn asked(words: &[&str]) -> Result<(Kind, Vec<String>), String> {
        let line = Line::try_parse_from(["get"].iter().chain(words)).unwrap();
        let asked = line.args.asked().map_err(|error| error.to_string())?;
        Ok((asked.kind, asked.names.into_iter().map(str::to_owned).collect()))
    }

    #[rstest]
    #[case(&[], Kind::Job, &[])]
    #[case(&["a", "b", "a"], Kind::Job, &["a", "b"])]
    #[case(&["jobs"], Kind::Job, &[])]
    #[case(&["nodes"], Kind::Node, &[])]
    #[case(&["job/nodes"], Kind::Job, &["nodes"])]
    #[case(&["vmtrain", "m"], Kind::Training, &["m"])]
    #[case(&["vmafxnode.vmafx.dev/a", "vmnode/b"], Kind::Node, &["a", "b"])]
    #[case(&["nodes", "node/a", "b"], Kind::Node, &["a", "b"])]
    fn the_first_word_may_be_a_kind(#[case] words: &[&str], #[case] kind: Kind, #[case] names: &[&str]) {
        assert_eq!(asked(words), Ok((kind, names.iter().map(|name| (*name).to_owned()).collect())));
    }

    #[rstest]
    #[case(&["job/a", "node/b"], "node/b is another kind than the ones before it")]
    #[case(&["a", "-l", "x=y"], "leave out -A and -l")]
    #[case(&["a", "-A"], "leave out -A and -l")]
    fn what_makes_no_sense_is_refused(#[case] words: &[&str], #[case] expected: &str) {
        let error = asked(words).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
