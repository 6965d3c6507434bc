//! Which resources are meant: by name, by label, or all.

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;

use super::AT_ONCE;
use super::kind::{Kind, job_name};
use super::reach::Cluster;
use super::trouble::KubeError;

/// Most resources of one call.
const PAGE: u32 = 500;
/// Names that differ in more letters than this are not meant.
const NEAR: usize = 2;
/// Most names that are proposed.
const PROPOSED: usize = 3;

/// Which jobs.
#[derive(Args, Clone, Debug)]
pub(super) struct JobsArgs {
    /// Jobs by name
    #[arg(value_name = "NAME", required_unless_present_any = ["selector", "all"])]
    names: Vec<String>,

    /// The jobs with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "names")]
    selector: Option<String>,

    /// All jobs of the namespace
    #[arg(long, conflicts_with_all = ["names", "selector"])]
    all: bool,
}

impl JobsArgs {
    /// Whether each was named.
    pub(super) fn by_name(&self) -> bool {
        !self.names.is_empty()
    }

    /// Their names, each once.
    pub(super) fn names(&self) -> Vec<&str> {
        unique(self.names.iter().map(|name| job_name(name)))
    }

    pub(super) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// The jobs. One that does not exist is an error.
    pub(super) async fn find(&self, cluster: &Cluster) -> Result<Vec<DynamicObject>, KubeError> {
        if self.by_name() {
            named(cluster, Kind::Job, &self.names()).await
        } else {
            list(cluster, &cluster.objects(Kind::Job), Kind::Job, self.selector()).await
        }
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// All resources, page by page.
pub(super) async fn list(
    cluster: &Cluster,
    api: &Api<DynamicObject>,
    kind: Kind,
    labels: Option<&str>,
) -> Result<Vec<DynamicObject>, KubeError> {
    let what = format!("list {}s", kind.noun());
    let mut params = ListParams::default().limit(PAGE);
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

/// Resources by name, in that order.
pub(super) async fn named(
    cluster: &Cluster,
    kind: Kind,
    names: &[&str],
) -> Result<Vec<DynamicObject>, KubeError> {
    let api = cluster.objects(kind);
    let what = format!("read the {}", kind.noun());
    let found: Vec<Option<DynamicObject>> = futures::stream::iter(names)
        .map(|name| cluster.call(&what, api.get_opt(name)))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let missing: Vec<&str> =
        names.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    Err(absent(cluster, kind, &missing).await)
}

/// That there are no such resources, and what may be meant instead.
pub(super) async fn absent(cluster: &Cluster, kind: Kind, names: &[&str]) -> KubeError {
    // Without the definitions every name is absent, and a list tells that.
    let here = match list(cluster, &cluster.objects(kind), kind, None).await {
        Ok(objects) => objects,
        Err(error @ KubeError::NotInstalled { .. }) => return error,
        Err(_) => Vec::new(),
    };
    let here: Vec<&str> = here.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
    let mut said = Vec::with_capacity(names.len());
    for name in names {
        let near = near(name, &here);
        let hint = if near.is_empty() { elsewhere(cluster, kind, name).await } else { proposal(&near) };
        said.push(format!("there is no {} {name:?} in namespace {}{hint}", kind.noun(), cluster.namespace));
    }
    KubeError::NotFound(said)
}

/// Where else there is one of this name, if that may be known.
async fn elsewhere(cluster: &Cluster, kind: Kind, name: &str) -> String {
    let params = ListParams::default().fields(&format!("metadata.name={name}")).limit(PAGE);
    let found = cluster.call("look elsewhere", cluster.everywhere(kind).list(&params)).await;
    let spaces: Vec<String> = found
        .map(|list| list.items)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|one| one.metadata.namespace)
        .collect();
    match spaces.as_slice() {
        [] => String::new(),
        [space] => format!("; there is one in namespace {space} (-n {space})"),
        spaces => format!("; there are in namespaces {}", spaces.join(", ")),
    }
}

fn proposal(near: &[&str]) -> String {
    format!("; do you mean {}?", near.join(", "))
}

/// Names that are almost this one.
fn near<'a>(name: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .map(|other| {
            let (long, short) = if name.len() < other.len() { (*other, name) } else { (name, *other) };
            let part = short.len() > NEAR && long.contains(short);
            (if part { NEAR } else { distance(name, other) }, *other)
        })
        .filter(|(letters, _)| *letters <= NEAR)
        .collect();
    near.sort_unstable();
    near.into_iter().take(PROPOSED).map(|(_, name)| name).collect()
}

/// Letters to change, add or take away.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let change = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "", 0)]
    #[case("abc", "abc", 0)]
    #[case("abc", "abd", 1)]
    #[case("abc", "ac", 1)]
    #[case("kitten", "sitting", 3)]
    #[case("", "abc", 3)]
    fn letters_are_counted(#[case] a: &str, #[case] b: &str, #[case] expected: usize) {
        assert_eq!(distance(a, b), expected);
        assert_eq!(distance(b, a), expected);
    }

    #[test]
    fn names_that_are_almost_the_one_are_proposed_nearest_first() {
        let names = ["trailer-720p", "trailer-1080p", "intro", "trailer-1080"];
        assert_eq!(near("trailer-1081p", &names), ["trailer-1080p", "trailer-1080"]);
        assert_eq!(near("intro-4k", &names), ["intro"]);
        assert_eq!(near("x", &names), Vec::<&str>::new());
        assert_eq!(near("nobody", &["b", "no"]), Vec::<&str>::new());
    }

    #[test]
    fn a_name_given_twice_counts_once() {
        assert_eq!(unique(["a", "b", "a"].into_iter()), ["a", "b"]);
    }
}
