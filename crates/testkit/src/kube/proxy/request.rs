//! Requests to the API server, parsed as the API server parses them.

use std::fmt;

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RbacVerb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl RbacVerb {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

impl fmt::Display for RbacVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request. `resource` is empty for paths such as `/version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    pub method: Method,
    pub path: String,
    /// Without the question mark.
    pub query: String,
    pub verb: RbacVerb,
    /// Empty for the core group.
    pub group: String,
    /// As in `statefulsets`.
    pub resource: String,
    /// As in `status`; empty for the object itself.
    pub subresource: String,
    /// Empty for all namespaces.
    pub namespace: String,
    /// From the path, or of the object to be created; may be empty.
    pub name: String,
    pub body: Bytes,
}

impl ApiRequest {
    pub(super) fn parse(head: &Parts, body: Bytes) -> Self {
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().unwrap_or_default().to_owned());
        let mut target = RequestTarget::of(&path);
        if head.method == Method::POST && target.name.is_empty() {
            let name = serde_json::from_slice::<Value>(&body).ok();
            let name = name.as_ref().and_then(|body| body["metadata"]["name"].as_str());
            name.unwrap_or_default().clone_into(&mut target.name);
        }
        let is_watch = query.split('&').any(|pair| matches!(pair, "watch" | "watch=true" | "watch=1"));
        let verb = match head.method {
            Method::POST => RbacVerb::Create,
            Method::PUT => RbacVerb::Update,
            Method::PATCH => RbacVerb::Patch,
            Method::DELETE if target.name.is_empty() => RbacVerb::DeleteCollection,
            Method::DELETE => RbacVerb::Delete,
            _ if is_watch => RbacVerb::Watch,
            _ if target.name.is_empty() && !target.resource.is_empty() => RbacVerb::List,
            _ => RbacVerb::Get,
        };
        let RequestTarget { group, resource, subresource, namespace, name } = target;
        let method = head.method.clone();
        Self { method, path, query, verb, group, resource, subresource, namespace, name, body }
    }

    /// Whether it changes stored objects. Dry runs and access reviews do not.
    pub fn is_write(&self) -> bool {
        let is_read = matches!(self.verb, RbacVerb::Get | RbacVerb::List | RbacVerb::Watch);
        let is_review = matches!(self.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io");
        let is_dry_run = self.query.split('&').any(|pair| pair.starts_with("dryRun="));
        !is_read && !is_review && !is_dry_run
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.resource.is_empty() {
            return write!(f, "{} {}", self.verb, self.path);
        }
        write!(f, "{} {}", self.verb, self.resource)?;
        for part in [&self.subresource, &self.name].into_iter().filter(|part| !part.is_empty()) {
            write!(f, "/{part}")?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct RequestTarget {
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl RequestTarget {
    fn of(path: &str) -> Self {
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => return Self::default(),
        };
        // The subresources of a namespace look like resources in it.
        let (namespace, rest) = match rest {
            ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        Self {
            group: group.to_owned(),
            namespace: namespace.to_owned(),
            resource: part(0),
            name: part(1),
            subresource: part(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use rstest::rstest;

    use super::*;

    fn read(method: Method, uri: &str, body: &'static str) -> ApiRequest {
        let (head, ()) = Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        ApiRequest::parse(&head, Bytes::from_static(body.as_bytes()))
    }

    #[rstest]
    #[case(Method::GET, "/version", "get /version", false)]
    #[case(Method::GET, "/api/v1/namespaces", "list namespaces", false)]
    #[case(Method::GET, "/api/v1/namespaces/video", "get namespaces/video", false)]
    #[case(Method::PUT, "/api/v1/namespaces/video/status", "update namespaces/status/video", true)]
    #[case(Method::GET, "/api/v1/namespaces/video/services", "list services", false)]
    #[case(Method::GET, "/apis/apps/v1/statefulsets?watch=true&a=b", "watch statefulsets", false)]
    #[case(Method::POST, "/apis/apps/v1/namespaces/video/statefulsets", "create statefulsets/new", true)]
    #[case(Method::PATCH, "/apis/apps/v1/namespaces/v/statefulsets/a", "patch statefulsets/a", true)]
    #[case(Method::PATCH, "/apis/x/v1/namespaces/v/ns/a/status?force=true", "patch ns/status/a", true)]
    #[case(Method::PATCH, "/apis/x/v1/namespaces/v/ns/a?dryRun=All", "patch ns/a", false)]
    #[case(Method::DELETE, "/apis/x/v1/namespaces/v/ns/a", "delete ns/a", true)]
    #[case(Method::DELETE, "/apis/x/v1/namespaces/v/ns", "deletecollection ns", true)]
    #[case(
        Method::POST,
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "create selfsubjectaccessreviews/new",
        false
    )]
    fn is_parsed_as_by_the_api_server(
        #[case] method: Method,
        #[case] uri: &str,
        #[case] expected: &str,
        #[case] write: bool,
    ) {
        let request = read(method, uri, r#"{"metadata": {"name": "new"}}"#);
        assert_eq!(request.to_string(), expected);
        assert_eq!(request.is_write(), write);
    }

    #[test]
    fn the_group_and_the_namespace_are_those_of_the_path() {
        let request = read(Method::GET, "/apis/apps/v1/namespaces/video/statefulsets/a", "");
        assert_eq!((request.group.as_str(), request.namespace.as_str()), ("apps", "video"));
    }
}
