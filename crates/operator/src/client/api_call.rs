//! Verb and resource of a request to the API server, from its method and URL.

use std::fmt;

use http::{Method, Request};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::MetricLabel;

closed_label! {
    pub enum ApiVerb: "verb" {
        Get = "get",
        List = "list",
        Watch = "watch",
        Create = "create",
        Update = "update",
        Patch = "patch",
        Delete = "delete",
        DeleteCollection = "deletecollection",
        Other = "other",
    }
}

/// The resources that the operator reads or writes. The status subresource is counted on its own.
const RESOURCES: [&str; 19] = [
    "vmafxnodes",
    "vmafxnodes/status",
    "vmafxjobs",
    "vmafxjobs/status",
    "vmafxmodeltrainings",
    "vmafxmodeltrainings/status",
    "statefulsets",
    "serviceaccounts",
    "services",
    "poddisruptionbudgets",
    "pods",
    "jobs",
    "configmaps",
    "secrets",
    "subjectaccessreviews",
    "events",
    "leases",
    "customresourcedefinitions",
    "validatingwebhookconfigurations",
];

/// One of `RESOURCES`, or `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceLabel(&'static str);

impl MetricLabel for ResourceLabel {
    const NAME: &'static str = "kind";

    fn value(&self) -> &'static str {
        self.0
    }

    /// Empty: with all verbs and status codes there would be thousands of series, most of them impossible.
    fn all() -> Vec<Self> {
        Vec::new()
    }
}

/// A request as error messages and metrics show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    pub verb: ApiVerb,
    pub resource: ResourceLabel,
    pub path: String,
}

impl fmt::Display for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb.value(), self.path)
    }
}

impl ApiCall {
    pub fn of<B>(request: &Request<B>) -> Self {
        let path = request.uri().path();
        let resource = ResourcePath::of(path);
        let watch = request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")));
        let verb = match *request.method() {
            Method::GET if watch => ApiVerb::Watch,
            Method::GET if resource.is_collection => ApiVerb::List,
            Method::GET => ApiVerb::Get,
            Method::POST => ApiVerb::Create,
            Method::PUT => ApiVerb::Update,
            Method::PATCH => ApiVerb::Patch,
            Method::DELETE if resource.is_collection => ApiVerb::DeleteCollection,
            Method::DELETE => ApiVerb::Delete,
            _ => ApiVerb::Other,
        };
        Self { verb, resource: resource.label, path: path.to_owned() }
    }
}

struct ResourcePath {
    label: ResourceLabel,
    is_collection: bool,
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
        // A path below a namespace names another resource, unless it is a subresource of the namespace itself.
        let rest = match rest.as_slice() {
            ["namespaces", _, below, ..] if !matches!(*below, "status" | "finalize") => &rest[2..],
            all => all,
        };
        let (label, is_collection) = match rest {
            [plural] => (known(|resource| resource == *plural), true),
            [plural, _, "status"] => {
                (known(|resource| resource.strip_suffix("/status") == Some(*plural)), false)
            }
            [plural, _] => (known(|resource| resource == *plural), false),
            _ => ("other", false),
        };
        Self { label: ResourceLabel(label), is_collection }
    }
}

fn known(is: impl Fn(&str) -> bool) -> &'static str {
    RESOURCES.into_iter().find(|resource| is(resource)).unwrap_or("other")
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
    fn verb_and_resource_are_parsed_from_the_request(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] verb: &str,
        #[case] resource: &str,
    ) {
        let call = ApiCall::of(&Request::builder().method(method).uri(uri).body(()).unwrap());
        assert_eq!((call.verb.value(), call.resource.value()), (verb, resource));
    }
}
