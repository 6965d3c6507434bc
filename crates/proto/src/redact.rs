//! `Debug` for the messages that carry a session's secret.
//!
//! The secret, together with the bearer token of a node, is enough to report a score in the name of that node. Requests
//! are printed with `{:?}` in logs and test failures, so the derived implementation would publish it.

use std::fmt;

use crate::controller::v1::{
    HeartbeatRequest, PullWorkRequest, RegisterNodeResponse, ReleaseJobRequest, ReportResultRequest,
};

/// Prints only whether there is a secret.
struct Redacted<'a>(&'a str);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(redacted)" })
    }
}

/// Destructures the message without `..`, so that a field that is added to the contract does not compile until it is
/// listed here.
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
debug_without_secret!(HeartbeatRequest {
    node_id,
    jobs_running,
    running_job_ids,
    progress,
    lost_pull_ids,
    job_tenants,
    serves
});
debug_without_secret!(PullWorkRequest { node_id, capability, wait_ms, pull_id, lost_pull_ids, serves });
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
    failure_reason,
    tenant
});
debug_without_secret!(ReleaseJobRequest { node_id, job_id, attempt, reason, tenant });
