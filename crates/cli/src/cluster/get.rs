//! `get`: shows jobs, nodes and trainings, once or as they change.

use std::ops::ControlFlow;

use clap::Args;
use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::watcher;

use super::connection::{Cluster, ConnectionArgs};
use super::error::KubeError;
use super::kind::ResourceKind;
use super::output::{Format, FormatArgs, without_managed_fields};
use super::table::{GrowingColumns, ResourceTable};
use super::watch::{WatchEvent, WatchHandler, watch};
use super::{job::JobView, select};
use crate::output::{OutputError, stream};
use crate::{Error, Exit};

const EXAMPLES: &str = "\
Examples:
  kubectl vmafx get
      Show the jobs of the namespace, oldest first.

  kubectl vmafx get trailer-1080p trailer-720p -o wide
      Show two jobs with their model, attempts and message.

  kubectl vmafx get -A -l team=web --watch
      Show the jobs with a label in all namespaces, and every change until Ctrl-C.

  kubectl vmafx get nodes
  kubectl vmafx get trainings
      Show the pools of workers, and the models in training. A job that is named \"nodes\" is job/nodes.

  kubectl vmafx get -l team=web -o name | xargs kubectl vmafx cancel
      Pass the names on to another command.";

/// Show jobs, nodes or trainings.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES, after_help = "Details and examples: kubectl vmafx get --help")]
#[command(
    override_usage = "kubectl vmafx get [OPTIONS] [NAME]...\n       kubectl vmafx get [OPTIONS] jobs|nodes|trainings [NAME]..."
)]
pub(super) struct GetArgs {
    /// The kind of resource (jobs by default, nodes or trainings), then names; all resources if no name is given
    #[arg(value_name = "NAME")]
    words: Vec<String>,

    /// Show the resources of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// Show only resources with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    /// Show every change until Ctrl-C; with -o json, one resource per line
    #[arg(short = 'w', long)]
    watch: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// The resources to show; all of the kind if `names` is empty.
#[derive(Debug, PartialEq, Eq)]
struct GetRequest<'a> {
    kind: ResourceKind,
    names: Vec<&'a str>,
}

impl GetArgs {
    fn request(&self) -> Result<GetRequest<'_>, KubeError> {
        let (mut kind, words) = match self.words.split_first() {
            Some((first, names)) if ResourceKind::from_name(first).is_some() => {
                (ResourceKind::from_name(first), names)
            }
            _ => (None, self.words.as_slice()),
        };
        let mut names = Vec::with_capacity(words.len());
        for word in words {
            let (own, name) =
                match word.split_once('/').map(|(own, name)| (ResourceKind::from_name(own), name)) {
                    Some((Some(own), name)) => (own, name),
                    _ => (kind.unwrap_or(ResourceKind::Job), word.as_str()),
                };
            if *kind.get_or_insert(own) != own {
                return Err(KubeError::InvalidRequest(vec![format!(
                    "{word} is of another kind than the names before it: give names of one kind"
                )]));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if !names.is_empty() && (self.all_namespaces || self.selector.is_some()) {
            return Err(KubeError::InvalidRequest(vec![
                "-A and -l cannot be combined with names: leave them out".to_owned(),
            ]));
        }
        Ok(GetRequest { kind: kind.unwrap_or(ResourceKind::Job), names })
    }
}

pub(super) async fn run(args: &GetArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let request = args.request()?;
    let cluster = connection.connect().await?;
    let table = ResourceTable {
        kind: request.kind,
        wide: args.format.output == Format::Wide,
        namespaces: args.all_namespaces,
    };
    if args.watch {
        return follow(args, &cluster, request, table).await;
    }
    let objects = if request.names.is_empty() {
        let api = if args.all_namespaces {
            cluster.objects_in_all_namespaces(request.kind)
        } else {
            cluster.objects(request.kind)
        };
        let mut objects = select::list(&cluster, &api, request.kind, args.selector.as_deref()).await?;
        objects.sort_by_key(sort_key);
        objects
    } else {
        select::get_by_name(&cluster, request.kind, &request.names).await?
    };
    if objects.is_empty() && matches!(args.format.output, Format::Table | Format::Wide) {
        let scope =
            if args.all_namespaces { String::new() } else { format!(" in namespace {}", cluster.namespace) };
        eprintln!("no {}s{scope}", request.kind.noun());
        return Ok(Exit::Done);
    }
    args.format.show(request.kind, &objects, request.names.len() == 1, |look| {
        table.render(&objects, look, Timestamp::now())
    })?;
    Ok(Exit::Done)
}

/// Sorts by namespace, then by age.
fn sort_key(object: &DynamicObject) -> (Option<String>, Option<Timestamp>, Option<String>) {
    let metadata = &object.metadata;
    (
        metadata.namespace.clone(),
        metadata.creation_timestamp.as_ref().map(|time| time.0),
        metadata.name.clone(),
    )
}

async fn follow(
    args: &GetArgs,
    cluster: &Cluster,
    request: GetRequest<'_>,
    table: ResourceTable,
) -> Result<Exit, Error> {
    let api = if args.all_namespaces {
        cluster.objects_in_all_namespaces(request.kind)
    } else {
        cluster.objects(request.kind)
    };
    let mut config = watcher::Config::default();
    config.label_selector.clone_from(&args.selector);
    if let [name] = request.names.as_slice() {
        config = config.fields(&format!("metadata.name={name}"));
    }
    if !request.names.is_empty() {
        // A watch would wait for a mistyped name forever.
        select::get_by_name(cluster, request.kind, &request.names).await?;
    }
    let mut printer = ResourcePrinter {
        table,
        format: args.format.output,
        names: request.names,
        columns: GrowingColumns::default(),
        initial: Some(Vec::new()),
        error: None,
    };
    watch(cluster, api, config, &mut printer).await?;
    match printer.error {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}

/// Prints the existing resources, then each change.
struct ResourcePrinter<'a> {
    table: ResourceTable,
    format: Format,
    /// Empty for all resources.
    names: Vec<&'a str>,
    columns: GrowingColumns,
    /// Collects the existing resources until the initial list is complete.
    initial: Option<Vec<DynamicObject>>,
    error: Option<OutputError>,
}

impl ResourcePrinter<'_> {
    fn text(&mut self, object: &DynamicObject, deleted: bool) -> Result<String, OutputError> {
        Ok(match self.format {
            Format::Json => serde_json::to_string(&without_managed_fields(object)?)? + "\n",
            Format::Yaml => format!("---\n{}", serde_saphyr::to_string(&without_managed_fields(object)?)?),
            Format::Name => self.table.kind.full_name(object) + "\n",
            Format::Table | Format::Wide => {
                let mut row = self.table.row(object, Timestamp::now());
                if deleted && let Some(cell) = row.get_mut(1 + usize::from(self.table.namespaces)) {
                    "deleted".clone_into(cell);
                }
                self.columns.line(&row)
            }
        })
    }

    fn print_initial(&mut self, mut objects: Vec<DynamicObject>) -> Result<String, OutputError> {
        objects.sort_by_key(sort_key);
        let mut text = String::new();
        if matches!(self.format, Format::Table | Format::Wide) {
            let header: Vec<String> = self.table.header().into_iter().map(str::to_owned).collect();
            let rows: Vec<_> =
                objects.iter().map(|object| self.table.row(object, Timestamp::now())).collect();
            self.columns.fit(&rows);
            text += &self.columns.line(&header);
        }
        for object in &objects {
            text += &self.text(object, false)?;
        }
        Ok(text)
    }
}

impl WatchHandler for ResourcePrinter<'_> {
    fn on_event(&mut self, event: WatchEvent) -> ControlFlow<()> {
        let text = match (event, self.initial.take()) {
            (WatchEvent::Applied(object) | WatchEvent::Deleted(object), initial)
                if !self.names.is_empty() && !self.names.contains(&JobView(&object).name()) =>
            {
                self.initial = initial;
                return ControlFlow::Continue(());
            }
            (WatchEvent::Applied(object), Some(mut initial)) => {
                initial.push(*object);
                self.initial = Some(initial);
                return ControlFlow::Continue(());
            }
            (WatchEvent::Listed, Some(initial)) => self.print_initial(initial),
            (WatchEvent::Applied(object), None) => self.text(&object, false),
            (WatchEvent::Deleted(object), _) => self.text(&object, true),
            (WatchEvent::Listed, None) => return ControlFlow::Continue(()),
        };
        match text.and_then(|text| stream(&text)) {
            Ok(flow) => flow,
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn on_retry(&mut self, why: &str) {
        eprintln!("{why}; retrying");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: GetArgs,
    }

    fn request(words: &[&str]) -> Result<(ResourceKind, Vec<String>), String> {
        let line = CommandLine::try_parse_from(["get"].iter().chain(words)).unwrap();
        let request = line.args.request().map_err(|error| error.to_string())?;
        Ok((request.kind, request.names.into_iter().map(str::to_owned).collect()))
    }

    #[rstest]
    #[case(&[], ResourceKind::Job, &[])]
    #[case(&["a", "b", "a"], ResourceKind::Job, &["a", "b"])]
    #[case(&["jobs"], ResourceKind::Job, &[])]
    #[case(&["nodes"], ResourceKind::Node, &[])]
    #[case(&["job/nodes"], ResourceKind::Job, &["nodes"])]
    #[case(&["vmtrain", "m"], ResourceKind::Training, &["m"])]
    #[case(&["vmafxnode.vmafx.dev/a", "vmnode/b"], ResourceKind::Node, &["a", "b"])]
    #[case(&["nodes", "node/a", "b"], ResourceKind::Node, &["a", "b"])]
    fn the_first_word_may_be_a_kind(
        #[case] words: &[&str],
        #[case] kind: ResourceKind,
        #[case] names: &[&str],
    ) {
        assert_eq!(request(words), Ok((kind, names.iter().map(|name| (*name).to_owned()).collect())));
    }

    #[rstest]
    #[case(&["job/a", "node/b"], "node/b is of another kind than the names before it")]
    #[case(&["a", "-l", "x=y"], "cannot be combined with names")]
    #[case(&["a", "-A"], "cannot be combined with names")]
    fn contradictory_arguments_are_refused(#[case] words: &[&str], #[case] expected: &str) {
        let error = request(words).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
