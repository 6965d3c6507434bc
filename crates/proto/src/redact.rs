//! `Debug` for the messages that carry a session's secret.
//!
//! Whoever has the secret and a node's bearer token can report a score in that node's name. Requests end up in
//! logs and in test failures through `{:?}`, so the derived implementation would publish it.

use std::fmt;

use crate::controller::v1::{
    HeartbeatRequest, PullWorkRequest, RegisterNodeResponse, ReleaseJobRequest, ReportResultRequest,
};

/// Stands for a secret: tells whether there is one, which is what a reader of a log needs to know.
struct Redacted<'a>(&'a str);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(redacted)" })
    }
}

/// Takes the message apart without `..`, so that a field added to the contract does not go missing here unseen.
macro_rules! debug_without_secret {
    ($message:ident { $($field:ident),* }) => {
        impl fmt::Debug for $message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self { session_token, $($field),* } = self;
                f.debug_struct(stringify!($message))
                    .field("session_token", &Redacted(session_token))
                    $(.field(stringify!($field), $field))*
                    .finish()
            }
        }
    };
}

debug_without_secret!(RegisterNodeResponse { node_id, lease_ttl_ms, session_ttl_ms });
debug_without_secret!(HeartbeatRequest { node_id, jobs_running, running_job_ids, progress });
debug_without_secret!(PullWorkRequest { node_id, capability, wait_ms });
debug_without_secret!(ReportResultRequest {
    node_id,
    job_id,
    r#final,
    score,
    features,
    partial_scores,
    error,
    attempt,
    result,
    failure_reason
});
debug_without_secret!(ReleaseJobRequest { node_id, job_id, attempt, reason });
