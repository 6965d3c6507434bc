//! Nodes that come and stay.

use vmafx_queue::JobId;
use vmafx_queue::node::{self as queue, Credentials, SessionToken};

use super::answer::{Pulse, Registered};
use super::request::{Heartbeat, Register, Session};
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Opens a session for a node.
    pub async fn register(&self, who: &Identity, request: Register) -> Result<Registered, Refusal> {
        let node = check::register(request)?;
        let name = node.name.clone();
        let credentials = self.0.store.register(&who.tenant, node).await?;
        tracing::info!(tenant = %who.tenant, node = name, session = %credentials.session, "node registered");
        let (lease_ttl, session_ttl) = (self.0.policy.lease_ttl, self.0.policy.session_ttl);
        Ok(Registered { credentials, lease_ttl, session_ttl })
    }

    /// Keeps a session and the leases of its jobs alive; `None` when the session is over.
    pub async fn heartbeat(&self, who: &Identity, request: Heartbeat) -> Result<Option<Pulse>, Refusal> {
        check::heartbeat(&request)?;
        let Some(credentials) = credentials(&request.session) else { return Ok(None) };
        let parse = |id: &String| id.parse::<JobId>().ok();
        let running = request.running_job_ids.iter().filter_map(parse).collect();
        let progress: Vec<_> = request
            .progress
            .iter()
            .filter_map(|(id, attempt, progress)| Some((parse(id)?, *attempt, *progress)))
            .collect();
        let moved_on = !progress.is_empty();
        let beat = queue::Heartbeat { running, progress };
        let Some(pulse) = self.0.store.heartbeat(&who.tenant, &credentials, beat).await? else {
            return Ok(None);
        };
        if moved_on {
            self.0.live.progressed(&who.tenant);
        }
        // In the order and in the words of the node; what is no id is nobody's job.
        let lost = request
            .running_job_ids
            .iter()
            .filter(|id| parse(id).is_none_or(|job| pulse.lost.contains(&job)))
            .cloned()
            .collect();
        let cancelled = pulse.cancelled.iter().map(ToString::to_string).collect();
        Ok(Some(Pulse { cancelled, lost }))
    }
}

/// The session as the store knows it; `None` when its name is no name of a session.
pub(super) fn credentials(session: &Session) -> Option<Credentials> {
    let session_id = session.node_id.parse().ok()?;
    Some(Credentials { session: session_id, token: SessionToken(session.token.0.clone()) })
}
