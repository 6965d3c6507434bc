//! Claims.
//!
//! The index `jobs_claim` holds only claimable jobs, ordered within each tenant and backend. A claim reads the head
//! of each backend that its node serves, so its cost depends neither on the length of the queue nor on other
//! backends. A job that is kept from the node is passed over in the index; there are at most
//! [`crate::policy::MAX_AVOIDING_JOBS`] of them. The index `jobs_pause` holds the jobs in back-off by the end of their back-off; they become claimable
//! when it ends.

use rusqlite::{OptionalExtension as _, params};

use super::live::{CredentialsDigest, Lease};
use super::rows::{self, JobRow, StoredLease};
use super::unit_of_work::UnitOfWork;
use super::{attempts, faults};
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::{PullId, TenantId};
use crate::policy::MAX_BACKENDS;
use crate::quarantine::Admission;
use crate::transition::JobEvent;
use vmafx_job::TenantLimits;

/// The row is converted to a job on the caller's side.
pub(super) enum ClaimOutcome {
    NoSession,
    Nothing { next: Option<Timestamp> },
    PassedOver { next: Timestamp },
    Quarantined { until: Timestamp },
    NoFreeSlot,
    LimitReached,
    Row(Box<JobRow>),
}

/// Hands out the first matching job.
pub(super) fn claim(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    backends: &[String],
    pull: Option<PullId>,
    limits: &TenantLimits,
) -> StoreResult<ClaimOutcome> {
    let Some(session) = tx.live.session(tenant, credentials) else { return Ok(ClaimOutcome::NoSession) };
    let node = session.registration.clone();
    let served = served_backends(backends);
    let admission = admission(tx, tenant, &node.name, &served);
    if let Admission::Closed { until } = admission {
        return Ok(ClaimOutcome::Quarantined { until });
    }
    if tx.live.held_by(credentials.session) >= node.capability.max_jobs() {
        return Ok(ClaimOutcome::NoFreeSlot);
    }
    if tx.live.running_of(tenant) >= limits.running_jobs {
        return Ok(ClaimOutcome::LimitReached);
    }
    end_backoffs(tx, tenant)?;
    let Some(mut row) = claim_head(tx, tenant, &node.name, &served)? else {
        let due = next_due(tx, tenant, &served)?;
        return Ok(match next_kept(tx, tenant, &node.name, &served)? {
            Some(kept) => ClaimOutcome::PassedOver { next: due.map_or(kept, |due| due.min(kept)) },
            None => ClaimOutcome::Nothing { next: due },
        });
    };
    if admission == Admission::Trial {
        faults::tried(tx, tenant, &node.name)?;
    }
    if row.next_state(JobEvent::Claim).is_none() {
        return Err(super::error::corrupt(format!(
            "job {} is marked as ready and is {:?}",
            row.id, row.state
        )));
    }
    let lease = StoredLease { session: credentials.session, expires_at: tx.now + tx.policy.lease_ttl, pull };
    row.hand_out(&node.name, lease, tx.now);
    tx.store(&mut row)?;
    attempts::begin(tx.connection, &row, credentials.session, &node, tx.now)?;
    let held = Lease {
        number: row.number,
        tenant: tenant.clone(),
        session: credentials.session,
        pull,
        attempt: row.attempt,
        expires_at: lease.expires_at,
        progress: None,
    };
    tx.live.put_lease(row.id, held);
    Ok(ClaimOutcome::Row(Box::new(row)))
}

fn admission(tx: &UnitOfWork<'_>, tenant: &TenantId, node: &str, served: &[&str]) -> Admission {
    let Some(faults) = tx.live.faults(tenant, node) else { return Admission::Open };
    faults.admission(tx.live.has_stand_in(tenant, node, served, tx.policy), tx.now, tx.policy)
}

/// The backends to look at, each once: the empty one, which any node may serve, and those of the node.
fn served_backends(backends: &[String]) -> Vec<&str> {
    let mut served = vec![""];
    for backend in backends {
        if served.len() <= MAX_BACKENDS && !served.contains(&backend.as_str()) {
            served.push(backend);
        }
    }
    served
}

const HEAD: &str = "SELECT number, claim_rank, id FROM jobs INDEXED BY jobs_claim \
                    WHERE tenant = ?1 AND backend = ?2 AND ready = 1 \
                    AND NOT (avoid_node IS ?3 AND avoid_until > ?4) \
                    ORDER BY claim_rank, id LIMIT 1";

/// The first job of these backends that the node can claim.
fn claim_head(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    node: &str,
    backends: &[&str],
) -> StoreResult<Option<JobRow>> {
    while let Some(number) = first_claimable(tx, tenant, node, backends)? {
        let row = rows::by_number(tx.connection, number)?;
        let Some(due) = row.available_at.filter(|due| *due > tx.now) else { return Ok(Some(row)) };
        // The back-off had ended, and then the clock was set back.
        tx.state.counters.note_backoff(due);
        tx.connection.prepare_cached("UPDATE jobs SET ready = 0 WHERE number = ?1")?.execute([number])?;
    }
    Ok(None)
}

/// The order of claims: the smallest is handed out first.
type ClaimOrder = (i64, [u8; 16]);

fn first_claimable(
    tx: &UnitOfWork<'_>,
    tenant: &TenantId,
    node: &str,
    backends: &[&str],
) -> rusqlite::Result<Option<i64>> {
    let mut best: Option<(ClaimOrder, i64)> = None;
    let mut head = tx.connection.prepare_cached(HEAD)?;
    for backend in backends {
        let found = head
            .query_row(params![tenant.as_str(), backend, node, tx.now.0], |row| {
                Ok(((row.get(1)?, row.get(2)?), row.get(0)?))
            })
            .optional()?;
        best = match (best, found) {
            (Some(best), Some(found)) => Some(best.min(found)),
            (best, found) => best.or(found),
        };
    }
    Ok(best.map(|(_, number)| number))
}

const DUE: &str = "SELECT number, backend FROM jobs INDEXED BY jobs_pause \
                   WHERE tenant = ?1 AND state = 'pending' AND ready = 0 AND available_at <= ?2";

/// Makes the tenant's jobs claimable whose back-off has ended. The change is invisible outside of claims.
fn end_backoffs(tx: &mut UnitOfWork<'_>, tenant: &TenantId) -> StoreResult<()> {
    if !tx.state.counters.is_backoff_over(tx.now) {
        return Ok(());
    }
    let due = tx
        .connection
        .prepare_cached(DUE)?
        .query_map(params![tenant.as_str(), tx.now.0], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(i64, String)>>>()?;
    for (number, backend) in due {
        tx.connection.prepare_cached("UPDATE jobs SET ready = 1 WHERE number = ?1")?.execute([number])?;
        tx.state.pending.work(tenant, &backend);
    }
    Ok(())
}

/// Ends the due back-offs of all tenants, so that waiting nodes are notified of the jobs.
pub(super) fn end_all_backoffs(tx: &mut UnitOfWork<'_>) -> StoreResult<()> {
    let mut due = tx.connection.prepare_cached(
        "SELECT DISTINCT tenant FROM jobs INDEXED BY jobs_pause \
         WHERE state = 'pending' AND ready = 0 AND available_at <= ?1",
    )?;
    let tenants = due
        .query_map([tx.now.0], |row| rows::tenant_in(row, 0))?
        .collect::<rusqlite::Result<Vec<TenantId>>>()?;
    tenants.iter().try_for_each(|tenant| end_backoffs(tx, tenant))?;
    let mut first = tx.connection.prepare_cached(NEXT_BACKOFF_END)?;
    tx.state.counters.next_backoff_end =
        first.query_row([], |row| row.get::<_, Option<i64>>(0))?.map(Timestamp);
    Ok(())
}

/// Bounds every back-off from now on, because the clock may have been set back while it lasted.
pub(super) fn shorten_backoffs(tx: &mut UnitOfWork<'_>) -> StoreResult<()> {
    let until = tx.now + tx.policy.backoff_max;
    let shortened = tx
        .connection
        .prepare_cached(
            "UPDATE jobs SET available_at = ?1 WHERE state = 'pending' AND ready = 0 AND available_at > ?1",
        )?
        .execute([until.0])?;
    if shortened > 0 {
        tx.state.counters.note_backoff(until);
    }
    Ok(())
}

const NEXT_BACKOFF_END: &str = "SELECT min(available_at) FROM jobs INDEXED BY jobs_pause \
                     WHERE state = 'pending' AND ready = 0";

const NEXT: &str = "SELECT available_at, backend FROM jobs INDEXED BY jobs_pause \
                    WHERE tenant = ?1 AND state = 'pending' AND ready = 0 ORDER BY available_at";

/// The earliest end of a back-off among these backends.
fn next_due(tx: &UnitOfWork<'_>, tenant: &TenantId, backends: &[&str]) -> StoreResult<Option<Timestamp>> {
    if tx.state.counters.next_backoff_end.is_none() {
        return Ok(None);
    }
    let mut next = tx.connection.prepare_cached(NEXT)?;
    let mut rows = next.query([tenant.as_str()])?;
    while let Some(row) = rows.next()? {
        if backends.contains(&row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?) {
            return Ok(Some(Timestamp(row.get(0)?)));
        }
    }
    Ok(None)
}

const KEPT: &str = "SELECT avoid_until, backend FROM jobs INDEXED BY jobs_avoid \
                    WHERE tenant = ?1 AND avoid_node = ?2 AND avoid_until > ?3 AND ready = 1 ORDER BY avoid_until";

/// When the first of the claimable jobs that are kept from this node may go to it.
fn next_kept(
    tx: &UnitOfWork<'_>,
    tenant: &TenantId,
    node: &str,
    backends: &[&str],
) -> StoreResult<Option<Timestamp>> {
    let mut kept = tx.connection.prepare_cached(KEPT)?;
    let mut rows = kept.query(params![tenant.as_str(), node, tx.now.0])?;
    while let Some(row) = rows.next()? {
        if backends.contains(&row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?) {
            return Ok(Some(Timestamp(row.get(0)?)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rusqlite::Connection;

    use super::super::migrate::migrate;
    use super::super::open;
    use super::*;

    #[rstest]
    #[case::head(HEAD, "jobs_claim (tenant=? AND backend=?)")]
    #[case::due(DUE, "jobs_pause (tenant=? AND available_at<?)")]
    #[case::next(NEXT, "jobs_pause (tenant=?)")]
    #[case::kept(KEPT, "jobs_avoid (tenant=? AND avoid_node=? AND avoid_until>?)")]
    fn a_claim_reads_indexes_in_their_order(#[case] statement: &str, #[case] index: &str) {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let count = explain.parameter_count();
        let plan: Vec<String> = explain
            .query_map(rusqlite::params_from_iter(vec![0; count]), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let [line] = plan.as_slice() else { panic!("{plan:?}") };
        assert!(line.starts_with("SEARCH jobs USING") && line.ends_with(index), "{line}");
    }

    #[test]
    fn the_head_of_another_backend_is_found_by_the_same_plan() {
        let directory = tempfile::tempdir().unwrap();
        let opened = open::open(&directory.path().join("queue.db")).unwrap();
        let head = || opened.connection.prepare_cached(HEAD).unwrap();
        for backend in ["", "cpu", "cuda", ""] {
            let found = head().query_row(params!["acme", backend, "node", 0], |_| Ok(())).optional();
            assert_eq!(found.unwrap(), None);
        }
        assert_eq!(head().get_status(rusqlite::StatementStatus::RePrepare), 0);
    }

    #[test]
    fn a_backend_is_looked_at_once() {
        let backends = ["cpu", "", "cpu", "cuda"].map(str::to_owned);
        assert_eq!(served_backends(&backends), ["", "cpu", "cuda"]);
        let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        assert_eq!(served_backends(&many).len(), 1 + MAX_BACKENDS);
    }
}
