//! A finished result as it is written to the outbox.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use vmafx_job::{Failure, ScoreResult};

/// Version of the file format. A file of a later version is not read.
const VERSION: u32 = 1;

/// The final report of an attempt, with the credentials of the session that held it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::agent) struct StoredReport {
    pub(in crate::agent) node_id: String,
    pub(in crate::agent) session_token: String,
    pub(in crate::agent) job_id: String,
    /// The tenant of the job; empty: that of the node.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::agent) tenant: String,
    pub(in crate::agent) attempt: u32,
    pub(in crate::agent) result: Result<ScoreResult, Failure>,
}

/// Without the token, which is a secret.
impl fmt::Debug for StoredReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredReport")
            .field("job_id", &self.job_id)
            .field("attempt", &self.attempt)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    report: T,
}

#[derive(Debug, thiserror::Error)]
pub(in crate::agent) enum StoredReportError {
    #[error("it is damaged")]
    Damaged(#[source] serde_json::Error),
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Newer(u32),
}

impl StoredReport {
    /// Unique for each attempt, and without characters that have a meaning in a path.
    pub(super) fn file_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let job: String = self.job_id.chars().take(100).map(plain).collect();
        format!("{job}.{}", self.attempt)
    }

    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(&Versioned { version: VERSION, report: self })?)
    }

    pub(super) fn from_bytes(text: &[u8]) -> Result<Self, StoredReportError> {
        let versioned: Versioned<serde_json::Value> =
            serde_json::from_slice(text).map_err(StoredReportError::Damaged)?;
        if versioned.version != VERSION {
            return Err(StoredReportError::Newer(versioned.version));
        }
        serde_json::from_value(versioned.report).map_err(StoredReportError::Damaged)
    }
}
