//! Sessions of nodes: registration and heartbeats.

use vmafx_queue::JobId;
use vmafx_queue::node::{self as queue, Credentials, SessionToken};

use super::request::{Heartbeat, NodeSession, RegisterNode};
use super::response::{HeartbeatReply, Registration};
use super::{Service, check};
use crate::identity::Identity;
use crate::refusal::Refusal;

impl Service {
    /// Opens a session for a node.
    pub async fn register(&self, who: &Identity, request: RegisterNode) -> Result<Registration, Refusal> {
        let node = check::register(request)?;
        let name = node.name.clone();
        let credentials = self.0.store.register(&who.tenant, node, &self.limits_of(who)).await;
        let credentials = credentials.map_err(|error| self.refused(error))?;
        tracing::info!(tenant = %who.tenant, node = name, session = %credentials.session, "node registered");
        let (lease_ttl, session_ttl) = (self.0.policy.lease_ttl, self.0.policy.session_ttl);
        Ok(Registration { credentials, lease_ttl, session_ttl })
    }

    /// Keeps a session and the leases of its jobs alive; `None` when the session has expired.
    pub async fn heartbeat(
        &self,
        who: &Identity,
        request: Heartbeat,
    ) -> Result<Option<HeartbeatReply>, Refusal> {
        check::heartbeat(&request)?;
        let Some(credentials) = credentials(&request.session) else { return Ok(None) };
        let parse = |id: &String| id.parse::<JobId>().ok();
        let running = request.running_job_ids.iter().filter_map(parse).collect();
        let progress: Vec<_> = request
            .progress
            .iter()
            .filter_map(|(id, attempt, progress)| Some((parse(id)?, *attempt, *progress)))
            .collect();
        let has_progress = !progress.is_empty();
        self.release_lost_pulls(who, &credentials, &check::lost_pulls(&request.lost_pull_ids)?).await?;
        let heartbeat = queue::Heartbeat { running, progress };
        let Some(reply) = self.0.store.heartbeat(&who.tenant, &credentials, heartbeat).await? else {
            return Ok(None);
        };
        if has_progress {
            self.0.subscriptions.progressed(&who.tenant);
        }
        // In the order and spelling of the node; a malformed id counts as lost.
        let lost = request
            .running_job_ids
            .iter()
            .filter(|id| parse(id).is_none_or(|job| reply.lost.contains(&job)))
            .cloned()
            .collect();
        let cancelled = reply.cancelled.iter().map(ToString::to_string).collect();
        Ok(Some(HeartbeatReply { cancelled, lost }))
    }
}

/// Parses the credentials of a session; `None` when the id is malformed.
pub(super) fn credentials(session: &NodeSession) -> Option<Credentials> {
    let session_id = session.node_id.parse().ok()?;
    Some(Credentials { session: session_id, token: SessionToken(session.token.0.clone()) })
}
