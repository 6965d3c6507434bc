//! What a request asks for, as far as its address tells.

use std::fmt;

use http::{Method, Request};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::MetricLabel;

closed_label! {
    /// What is to be done, in the API server's words.
    pub enum Verb: "verb" {
        /// Read one.
        Get = "get",
        /// Read many.
        List = "list",
        /// Hear of changes.
        Watch = "watch",
        /// Make one.
        Create = "create",
        /// Replace one.
        Update = "update",
        /// Change one.
        Patch = "patch",
        /// Remove one.
        Delete = "delete",
        /// Remove many.
        DeleteCollection = "deletecollection",
        /// Anything else.
        Other = "other",
    }
}

/// The resources that the operator has to do with. A status is a resource of its own: it has other writers.
const KINDS: [&str; 17] = [
    "vmafxnodes",
    "vmafxnodes/status",
    "vmafxjobs",
    "vmafxjobs/status",
    "vmafxmodeltrainings",
    "vmafxmodeltrainings/status",
    "statefulsets",
    "services",
    "poddisruptionbudgets",
    "pods",
    "jobs",
    "configmaps",
    "secrets",
    "events",
    "leases",
    "customresourcedefinitions",
    "validatingwebhookconfigurations",
];

/// What it is done to: one of the resources that the operator has to do with, or `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceLabel(&'static str);

impl MetricLabel for ResourceLabel {
    const NAME: &'static str = "kind";

    fn value(&self) -> &'static str {
        self.0
    }

    /// Not told: with all verbs and codes they would make thousands of series, most of them impossible.
    fn all() -> Vec<Self> {
        Vec::new()
    }
}

/// A request, for texts and counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    /// What is to be done.
    pub verb: Verb,
    /// To what.
    pub kind: ResourceLabel,
    /// Where.
    pub path: String,
}

impl fmt::Display for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb.value(), self.path)
    }
}

impl ApiCall {
    /// Reads a request.
    pub fn of<B>(request: &Request<B>) -> Self {
        let path = request.uri().path();
        let place = ResourcePath::of(path);
        let watch = request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")));
        let verb = match *request.method() {
            Method::GET if watch => Verb::Watch,
            Method::GET if place.many => Verb::List,
            Method::GET => Verb::Get,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if place.many => Verb::DeleteCollection,
            Method::DELETE => Verb::Delete,
            _ => Verb::Other,
        };
        Self { verb, kind: place.kind, path: path.to_owned() }
    }
}

struct ResourcePath {
    kind: ResourceLabel,
    /// Whether it is all of a kind and not one.
    many: bool,
}

impl ResourcePath {
    fn of(path: &str) -> Self {
        let mut parts = path.split('/').skip(1);
        let rooted = match parts.next() {
            Some("api") => parts.next().is_some(),
            Some("apis") => parts.next().is_some() && parts.next().is_some(),
            _ => false,
        };
        let rest: Vec<&str> = if rooted { parts.collect() } else { Vec::new() };
        // A namespace is both a place and an object: only what follows its name tells.
        let rest = match rest.as_slice() {
            ["namespaces", _, below, ..] if !matches!(*below, "status" | "finalize") => &rest[2..],
            all => all,
        };
        let (kind, many) = match rest {
            [plural] => (known(|kind| kind == *plural), true),
            [plural, _, "status"] => (known(|kind| kind.strip_suffix("/status") == Some(*plural)), false),
            [plural, _] => (known(|kind| kind == *plural), false),
            _ => ("other", false),
        };
        Self { kind: ResourceLabel(kind), many }
    }
}

fn known(is: impl Fn(&str) -> bool) -> &'static str {
    KINDS.into_iter().find(|kind| is(kind)).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GET", "/apis/vmafx.dev/v1/vmafxnodes?&limit=500", "list", "vmafxnodes")]
    #[case("GET", "/apis/vmafx.dev/v1/vmafxnodes?&watch=true&timeoutSeconds=290", "watch", "vmafxnodes")]
    #[case("GET", "/apis/vmafx.dev/v1/namespaces/a/vmafxnodes", "list", "vmafxnodes")]
    #[case("GET", "/apis/vmafx.dev/v1/namespaces/a/vmafxnodes/b", "get", "vmafxnodes")]
    #[case("PATCH", "/apis/vmafx.dev/v1/namespaces/a/vmafxnodes/b/status?x=y", "patch", "vmafxnodes/status")]
    #[case("PATCH", "/apis/vmafx.dev/v1/namespaces/a/vmafxnodes/b/scale", "patch", "other")]
    #[case("POST", "/api/v1/namespaces/a/services", "create", "services")]
    #[case("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "update", "leases")]
    #[case("DELETE", "/apis/apps/v1/namespaces/a/statefulsets/s", "delete", "statefulsets")]
    #[case("DELETE", "/apis/apps/v1/namespaces/a/statefulsets", "deletecollection", "statefulsets")]
    #[case("PATCH", "/apis/apps/v1/namespaces/a/statefulsets/s/status", "patch", "other")]
    #[case("GET", "/api/v1/namespaces", "list", "other")]
    #[case("GET", "/api/v1/namespaces/services", "get", "other")]
    #[case("GET", "/version", "get", "other")]
    #[case("GET", "/apis", "get", "other")]
    #[case("OPTIONS", "/", "other", "other")]
    fn verb_and_kind_are_read_from_the_request(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] verb: &str,
        #[case] kind: &str,
    ) {
        let call = ApiCall::of(&Request::builder().method(method).uri(uri).body(()).unwrap());
        assert_eq!((call.verb.value(), call.kind.value()), (verb, kind));
    }
}
