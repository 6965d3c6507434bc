//! Failures of nodes, and claims of nodes that are quarantined.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use super::Shared;
use super::claim::{ClaimCaller, ClaimableBackends, Claims};
use super::error::unavailable;
use super::nodes::NODES_OF_TENANT;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, text};
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::node::Node;
use crate::quarantine::{Admission, NodeFaults, has_stand_in};
use crate::store::{Claim, StoreResult};
use crate::verdict::{Blame, ReportedFailure};

const OF_SESSION: &str = "
SELECT s.node_id, f.failures, f.tried_at, f.reason, f.error
FROM vmafx.node_sessions s
LEFT JOIN vmafx.node_faults f ON f.tenant_id = $1 AND f.node_id = s.node_id
WHERE s.id = $2 AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = $3";

const FAULTS: &str = "
SELECT f.failures, f.tried_at, f.reason, f.error FROM vmafx.node_faults f
WHERE f.tenant_id = $1 AND f.node_id = $2 FOR UPDATE";

const SET: &str = "
INSERT INTO vmafx.node_faults (tenant_id, node_id, failures, tried_at, reason, error)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, node_id) DO UPDATE SET
    failures = excluded.failures, tried_at = excluded.tried_at, reason = excluded.reason, error = excluded.error";

const REMOVE: &str = "DELETE FROM vmafx.node_faults WHERE tenant_id = $1 AND node_id = $2";

/// Moves the start of the pause. Of two slots of a node only one succeeds.
const TRY: &str = "
UPDATE vmafx.node_faults SET tried_at = $4 WHERE tenant_id = $1 AND node_id = $2 AND tried_at = $3 RETURNING 1";

impl Claims {
    /// Claims for a node that has failed several attempts in a row.
    pub(super) async fn claim_on_trial(
        &self,
        tenant: &TenantId,
        backends: &ClaimableBackends,
        node: &ClaimCaller,
    ) -> StoreResult<Claim> {
        let shared = &self.0;
        let digest = node.node.token.digest();
        let session: [Value<'_>; 3] = [&tenant.as_str(), &node.node.session.0, &digest.as_slice()];
        let of_tenant: [Value<'_>; 1] = [&tenant.as_str()];
        let calls = [(OF_SESSION, &session[..]), (NODES_OF_TENANT, &of_tenant[..])];
        let answers = shared.connections.run_all(Scope::Tenant(tenant), Access::Read, &calls).await?;
        let [sessions, nodes] = answers.as_slice() else { return Ok(Claim::NoSession) };
        let Some(row) = sessions.first() else { return Ok(Claim::NoSession) };
        let mut reader = Reader::new(row);
        let name: String = reader.next()?;
        let Some(faults) = reader.faults()? else { return self.claim_alone(tenant, backends, node).await };
        let nodes = nodes_of(nodes, shared)?;
        let served: Vec<&str> = backends.iter().map(String::as_str).collect();
        let now = shared.clock.now();
        match faults.admission(has_stand_in(&nodes, &name, &served), now, &shared.policy) {
            Admission::Open => self.claim_alone(tenant, backends, node).await,
            Admission::Closed { until } => Ok(Claim::Quarantined { until }),
            Admission::Trial => {
                if !self.start_trial(tenant, &name, (faults.tried_at, now)).await? {
                    return Ok(Claim::Quarantined { until: now + shared.policy.lone_trial_interval });
                }
                let claim = self.claim_alone(tenant, backends, node).await;
                if !matches!(claim, Ok(Claim::Job(_))) {
                    // Nothing was tried, so the pause does not start again.
                    self.start_trial(tenant, &name, (now, faults.tried_at)).await?;
                }
                claim
            }
        }
    }

    async fn start_trial(
        &self,
        tenant: &TenantId,
        node: &str,
        (from, to): (Timestamp, Timestamp),
    ) -> StoreResult<bool> {
        let values: [Value<'_>; 4] = [&tenant.as_str(), &node, &from.0, &to.0];
        let rows = self.0.connections.run(Scope::Tenant(tenant), Access::Write, TRY, &values).await?;
        Ok(!rows.is_empty())
    }
}

pub(super) fn nodes_of(rows: &[Row], shared: &Shared) -> StoreResult<Vec<Node>> {
    rows.iter().map(|row| Reader::new(row).node(&shared.policy)).collect()
}

/// Records what a reported failure says about nodes.
pub(super) async fn blame(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    reported: ReportedFailure<'_>,
    blame: &Blame,
    now: Timestamp,
) -> StoreResult<()> {
    let node = match blame {
        Blame::Nobody => return Ok(()),
        Blame::Reporter => reported.node,
        Blame::Withdrawn { node, .. } => node,
    };
    let key: [Value<'_>; 2] = [&tenant.as_str(), &node];
    let rows = query(transaction, FAULTS, &key).await?;
    let before = rows.first().map(|row| Reader::new(row).faults()).transpose()?.flatten();
    let after = match (blame, &before) {
        (Blame::Withdrawn { failures, .. }, Some(before)) => before.after_withdrawal(*failures),
        (Blame::Withdrawn { .. } | Blame::Nobody, _) => return Ok(()),
        (Blame::Reporter, before) => {
            Some(NodeFaults::after_failure(before.as_ref(), reported.reason, &text(reported.message), now))
        }
    };
    match after {
        Some(NodeFaults { failures, tried_at, reason, error }) => {
            let values: [Value<'_>; 6] =
                [&tenant.as_str(), &node, &i64::from(failures), &tried_at.0, &reason.number(), &error];
            query(transaction, SET, &values).await?;
        }
        None => drop(query(transaction, REMOVE, &key).await?),
    }
    Ok(())
}

pub(super) async fn query(
    transaction: &Transaction<'_>,
    statement: &'static str,
    values: &[Value<'_>],
) -> StoreResult<Vec<Row>> {
    let prepared = transaction.prepare_cached(statement).await.map_err(unavailable)?;
    transaction.query(&prepared, values).await.map_err(unavailable)
}
