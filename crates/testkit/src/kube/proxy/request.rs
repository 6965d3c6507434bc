//! A request to the API server, read as the API server reads it.

use std::fmt;

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use serde_json::Value;

/// What a request asks for, in the words of RBAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// One object.
    Get,
    /// All objects.
    List,
    /// All changes.
    Watch,
    /// A new object.
    Create,
    /// Another content for an object.
    Update,
    /// A change of an object.
    Patch,
    /// The end of an object.
    Delete,
    /// The end of many objects.
    DeleteCollection,
}

impl Verb {
    /// As it is written in a role.
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

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request. What is not about a resource, such as `/version`, has an empty `resource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// What is asked for.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, such as `statefulsets`.
    pub resource: String,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// The name: of the path, or that of the object to be made. Empty where there is none.
    pub name: String,
    /// The body.
    pub body: Bytes,
}

impl ApiRequest {
    pub(super) fn read(head: &Parts, body: Bytes) -> Self {
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().unwrap_or_default().to_owned());
        let mut target = Target::of(&path);
        if head.method == Method::POST && target.name.is_empty() {
            let name = serde_json::from_slice::<Value>(&body).ok();
            let name = name.as_ref().and_then(|body| body["metadata"]["name"].as_str());
            name.unwrap_or_default().clone_into(&mut target.name);
        }
        let watches = query.split('&').any(|pair| matches!(pair, "watch" | "watch=true" | "watch=1"));
        let verb = match head.method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if target.name.is_empty() => Verb::DeleteCollection,
            Method::DELETE => Verb::Delete,
            _ if watches => Verb::Watch,
            _ if target.name.is_empty() && !target.resource.is_empty() => Verb::List,
            _ => Verb::Get,
        };
        let Target { group, resource, subresource, namespace, name } = target;
        let method = head.method.clone();
        Self { method, path, query, verb, group, resource, subresource, namespace, name, body }
    }

    /// Whether it changes what is stored. A dry run does not, and neither does a review of somebody's rights.
    pub fn is_write(&self) -> bool {
        let reads = matches!(self.verb, Verb::Get | Verb::List | Verb::Watch);
        let reviews = matches!(self.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io");
        let dry = self.query.split('&').any(|pair| pair.starts_with("dryRun="));
        !reads && !reviews && !dry
    }

    /// The body as JSON; null where it is none.
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

/// What a path names.
#[derive(Default)]
struct Target {
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl Target {
    fn of(path: &str) -> Self {
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => return Self::default(),
        };
        // A namespace's own subresources look like resources in it.
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
        ApiRequest::read(&head, Bytes::from_static(body.as_bytes()))
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
    fn is_read_as_the_api_server_reads_it(
        #[case] method: Method,
        #[case] uri: &str,
        #[case] said: &str,
        #[case] write: bool,
    ) {
        let request = read(method, uri, r#"{"metadata": {"name": "new"}}"#);
        assert_eq!(request.to_string(), said);
        assert_eq!(request.is_write(), write);
    }

    #[test]
    fn the_group_and_the_namespace_are_those_of_the_path() {
        let request = read(Method::GET, "/apis/apps/v1/namespaces/video/statefulsets/a", "");
        assert_eq!((request.group.as_str(), request.namespace.as_str()), ("apps", "video"));
    }
}
