//! Selects resources by name or by label.

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;

use super::MAX_CONCURRENT_CALLS;
use super::connection::Cluster;
use super::error::KubeError;
use super::kind::{ResourceKind, job_name};

/// Number of resources per call.
const PAGE_SIZE: u32 = 500;
/// Names that differ in more letters are not suggested.
const MAX_EDIT_DISTANCE: usize = 2;
const MAX_SUGGESTIONS: usize = 3;

#[derive(Args, Clone, Debug)]
pub(super) struct JobSelectionArgs {
    /// Names of jobs
    #[arg(value_name = "NAME", required_unless_present_any = ["selector", "all"])]
    names: Vec<String>,

    /// Select the jobs with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "names")]
    selector: Option<String>,

    /// Select all jobs of the namespace
    #[arg(long, conflicts_with_all = ["names", "selector"])]
    all: bool,
}

impl JobSelectionArgs {
    pub(super) fn by_name(&self) -> bool {
        !self.names.is_empty()
    }

    fn names(&self) -> Vec<&str> {
        unique(self.names.iter().map(|name| job_name(name)))
    }

    pub(super) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// The selected jobs. A name that does not exist is an error.
    pub(super) async fn find(&self, cluster: &Cluster) -> Result<Vec<DynamicObject>, KubeError> {
        if self.by_name() {
            get_by_name(cluster, ResourceKind::Job, &self.names()).await
        } else {
            list(cluster, &cluster.objects(ResourceKind::Job), ResourceKind::Job, self.selector()).await
        }
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut unique: Vec<&str> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// Lists all resources, page by page.
pub(super) async fn list(
    cluster: &Cluster,
    api: &Api<DynamicObject>,
    kind: ResourceKind,
    labels: Option<&str>,
) -> Result<Vec<DynamicObject>, KubeError> {
    let what = format!("list {}s", kind.noun());
    let mut params = ListParams::default().limit(PAGE_SIZE);
    params.label_selector = labels.map(str::to_owned);
    let mut objects = Vec::new();
    loop {
        let page = cluster.call(&what, api.list(&params)).await?;
        objects.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(objects),
        }
    }
}

/// Reads resources by name, in the given order.
pub(super) async fn get_by_name(
    cluster: &Cluster,
    kind: ResourceKind,
    names: &[&str],
) -> Result<Vec<DynamicObject>, KubeError> {
    let api = cluster.objects(kind);
    let what = format!("read the {}", kind.noun());
    let objects: Vec<Option<DynamicObject>> = futures::stream::iter(names)
        .map(|name| cluster.call(&what, api.get_opt(name)))
        .buffered(MAX_CONCURRENT_CALLS)
        .try_collect()
        .await?;
    let missing: Vec<&str> =
        names.iter().zip(&objects).filter(|(_, object)| object.is_none()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(objects.into_iter().flatten().collect());
    }
    Err(not_found(cluster, kind, &missing).await)
}

/// The error for resources that do not exist, with similar names or the namespaces where they do exist.
async fn not_found(cluster: &Cluster, kind: ResourceKind, names: &[&str]) -> KubeError {
    // If the CRDs are not installed, every name is missing; listing reports the cause.
    let objects = match list(cluster, &cluster.objects(kind), kind, None).await {
        Ok(objects) => objects,
        Err(error @ KubeError::NotInstalled { .. }) => return error,
        Err(_) => Vec::new(),
    };
    let existing: Vec<&str> = objects.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
    let mut messages = Vec::with_capacity(names.len());
    for name in names {
        let similar = similar(name, &existing);
        let hint = if similar.is_empty() {
            other_namespaces(cluster, kind, name).await
        } else {
            format!("; do you mean {}?", similar.join(", "))
        };
        let namespace = &cluster.namespace;
        messages.push(format!("there is no {} {name:?} in namespace {namespace}{hint}", kind.noun()));
    }
    KubeError::NotFound(messages)
}

/// A hint on the namespaces that have a resource of this name; empty if there is none, or if listing is not permitted.
async fn other_namespaces(cluster: &Cluster, kind: ResourceKind, name: &str) -> String {
    let params = ListParams::default().fields(&format!("metadata.name={name}")).limit(PAGE_SIZE);
    let list =
        cluster.call("search all namespaces", cluster.objects_in_all_namespaces(kind).list(&params)).await;
    let namespaces: Vec<String> = list
        .map(|list| list.items)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|object| object.metadata.namespace)
        .collect();
    match namespaces.as_slice() {
        [] => String::new(),
        [namespace] => format!("; there is one in namespace {namespace} (-n {namespace})"),
        namespaces => format!("; there is one in each of the namespaces {}", namespaces.join(", ")),
    }
}

/// The existing names that differ in a few letters or contain the other name, the most similar first.
fn similar<'a>(name: &str, existing: &[&'a str]) -> Vec<&'a str> {
    let mut similar: Vec<(usize, &str)> = existing
        .iter()
        .map(|other| {
            let (long, short) = if name.len() < other.len() { (*other, name) } else { (name, *other) };
            let contained = short.len() > MAX_EDIT_DISTANCE && long.contains(short);
            (if contained { MAX_EDIT_DISTANCE } else { strsim::levenshtein(name, other) }, *other)
        })
        .filter(|(distance, _)| *distance <= MAX_EDIT_DISTANCE)
        .collect();
    similar.sort_unstable();
    similar.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_the_nearest_first() {
        let names = ["trailer-720p", "trailer-1080p", "intro", "trailer-1080"];
        assert_eq!(similar("trailer-1081p", &names), ["trailer-1080p", "trailer-1080"]);
        assert_eq!(similar("intro-4k", &names), ["intro"]);
        assert_eq!(similar("x", &names), Vec::<&str>::new());
        assert_eq!(similar("nobody", &["b", "no"]), Vec::<&str>::new());
    }

    #[test]
    fn a_name_given_twice_counts_once() {
        assert_eq!(unique(["a", "b", "a"].into_iter()), ["a", "b"]);
    }
}
