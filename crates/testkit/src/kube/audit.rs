//! The audit log of the API server.
//!
//! The API server writes an event before it responds, so a client that has its response finds the event in the log.

mod grants;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::control_plane::ControlPlane;
pub use grants::{Permission, never_used};

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("the control plane was started without an audit log")]
    Off,
    #[error("cannot read the audit log {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("a line of the audit log is not an event")]
    Line(#[from] serde_json::Error),
}

/// A request to the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    pub user: String,
    /// The RBAC verb.
    pub verb: String,
    pub uri: String,
    /// Empty for the core group.
    pub group: String,
    /// Empty for a request that is not about a resource.
    pub resource: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// Empty for all namespaces.
    pub namespace: String,
    /// Empty for all objects.
    pub name: String,
    /// The HTTP status; 0 for a watch that has no response yet.
    pub code: u16,
    pub allowed: bool,
}

/// All requests of a log, each once, in order.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(pub Vec<AuditEvent>);

impl AuditLog {
    pub fn of(control_plane: &ControlPlane) -> Result<Self, AuditError> {
        Self::read(control_plane.audit_log().ok_or(AuditError::Off)?)
    }

    pub fn read(path: &Path) -> Result<Self, AuditError> {
        let read = |source| AuditError::Read { path: path.to_owned(), source };
        Self::parse(&fs::read_to_string(path).map_err(read)?)
    }

    /// A last line without a newline is still being written, and is skipped.
    fn parse(text: &str) -> Result<Self, AuditError> {
        let mut ids = HashSet::new();
        let mut events = Vec::new();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let event: wire::Event = serde_json::from_str(line)?;
            // A watch has one event when it starts and one when it ends.
            if ids.insert(event.audit_id.clone()) {
                events.push(event.into());
            }
        }
        Ok(Self(events))
    }

    #[must_use]
    pub fn by(self, user: &str) -> Self {
        Self(self.0.into_iter().filter(|event| event.user == user).collect())
    }

    pub fn denied(&self) -> Vec<&AuditEvent> {
        self.0.iter().filter(|event| !event.allowed).collect()
    }
}

impl From<wire::Event> for AuditEvent {
    fn from(event: wire::Event) -> Self {
        let object = event.object_ref.unwrap_or_default();
        Self {
            user: event.user.username,
            verb: event.verb,
            uri: event.request_uri,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: event.response_status.map_or(0, |status| status.code),
            allowed: event.annotations.decision.as_deref() != Some("forbid"),
        }
    }
}

/// The relevant parts of the audit log's format.
mod wire {
    use super::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Event {
        #[serde(rename = "auditID")]
        pub(super) audit_id: String,
        pub(super) verb: String,
        #[serde(rename = "requestURI")]
        pub(super) request_uri: String,
        pub(super) user: User,
        pub(super) object_ref: Option<Object>,
        pub(super) response_status: Option<Status>,
        #[serde(default)]
        pub(super) annotations: Annotations,
    }

    #[derive(Deserialize)]
    pub(super) struct User {
        #[serde(default)]
        pub(super) username: String,
    }

    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    pub(super) struct Object {
        pub(super) api_group: String,
        pub(super) resource: String,
        pub(super) subresource: String,
        pub(super) namespace: String,
        pub(super) name: String,
    }

    #[derive(Deserialize)]
    pub(super) struct Status {
        #[serde(default)]
        pub(super) code: u16,
    }

    #[derive(Deserialize, Default)]
    pub(super) struct Annotations {
        #[serde(rename = "authorization.k8s.io/decision")]
        pub(super) decision: Option<String>,
    }
}
