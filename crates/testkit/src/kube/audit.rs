//! What the API server's audit log says: who asked for what, and whether it was allowed.
//!
//! The log has a request before its answer arrives, so whoever has been answered can look at once.

mod grants;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::control_plane::ControlPlane;
pub use grants::{Permission, never_used};

/// Why the log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The control plane keeps none.
    #[error("the control plane was started without an audit log")]
    Off,
    /// The file.
    #[error("the audit log {} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A line of it.
    #[error("a line of the audit log is no event")]
    Line(#[from] serde_json::Error),
}

/// A request, as the API server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// Who asked.
    pub user: String,
    /// What for, in the words of RBAC.
    pub verb: String,
    /// The path and query.
    pub uri: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource; empty when it was about none.
    pub resource: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// The name; empty for all of them.
    pub name: String,
    /// The answer's code; 0 while a watch has not been answered.
    pub code: u16,
    /// Whether it was allowed.
    pub allowed: bool,
}

/// All requests of a log, each once, in order.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(pub Vec<AuditEvent>);

impl AuditLog {
    /// Reads the log of a control plane.
    pub fn of(control_plane: &ControlPlane) -> Result<Self, AuditError> {
        Self::read(control_plane.audit_log().ok_or(AuditError::Off)?)
    }

    /// Reads a log.
    pub fn read(path: &Path) -> Result<Self, AuditError> {
        let read = |source| AuditError::Read { path: path.to_owned(), source };
        Self::parse(&fs::read_to_string(path).map_err(read)?)
    }

    /// A last line without an end is still being written.
    fn parse(text: &str) -> Result<Self, AuditError> {
        let mut seen = HashSet::new();
        let mut events = Vec::new();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let event: wire::Event = serde_json::from_str(line)?;
            // A watch has an event when it begins and one when it ends.
            if seen.insert(event.audit_id.clone()) {
                events.push(event.into());
            }
        }
        Ok(Self(events))
    }

    /// Those of one user.
    #[must_use]
    pub fn by(self, user: &str) -> Self {
        Self(self.0.into_iter().filter(|event| event.user == user).collect())
    }

    /// Those that were not allowed.
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

/// The parts of the log's own format that matter.
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
