//! Handing out jobs.
//!
//! Waiting jobs of a tenant stand in one line per backend, the first one first, in an index that holds nothing else. A
//! claim looks at the heads of the lines that its node serves, so neither the length of a line nor the lines of others
//! cost anything. Jobs that pause stand elsewhere, by the end of their pause, and join their line when it is due.

use rusqlite::{OptionalExtension as _, params};
use std::cmp::Reverse;

use super::attempts;
use super::live::{Lease, Seal};
use super::rows::{self, Row, StoredLease};
use super::unit::Unit;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::policy::MOST_BACKENDS;
use crate::transition::Event;

/// What came of a claim; the job is made readable by whoever gets it.
pub(super) enum Claimed {
    NoSession,
    Nothing { next: Option<Timestamp> },
    Row(Box<Row>),
}

/// Hands out the first job that fits.
pub(super) fn claim(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    seal: &Seal,
    backends: &[String],
) -> Result<Claimed, StoreError> {
    let Some(session) = unit.live.session(tenant, seal) else { return Ok(Claimed::NoSession) };
    let node = session.facts.clone();
    let lines = lines(backends);
    end_pauses(unit, tenant)?;
    let Some(mut row) = first(unit, tenant, &lines)? else {
        return Ok(Claimed::Nothing { next: next_due(unit, tenant, &lines)? });
    };
    if row.leads(Event::Claim).is_none() {
        return Err(super::error::corrupt(format!("job {} can be claimed, and is {:?}", row.id, row.state)));
    }
    let lease = StoredLease { session: seal.session, expires_at: unit.now + unit.policy.lease_ttl };
    row.hand_out(&node.name, lease, unit.now);
    unit.store(&mut row)?;
    attempts::begin(unit.connection, &row, seal.session, &node, unit.now)?;
    let attempt = row.attempt;
    let held = Lease {
        number: row.number,
        session: seal.session,
        attempt,
        expires_at: lease.expires_at,
        progress: None,
    };
    unit.live.put_lease(row.id, held);
    Ok(Claimed::Row(Box::new(row)))
}

/// The lines a node serves: that of jobs for anybody, and those of its backends, each once.
fn lines(backends: &[String]) -> Vec<&str> {
    let mut lines = vec![""];
    for backend in backends {
        if lines.len() <= MOST_BACKENDS && !lines.contains(&backend.as_str()) {
            lines.push(backend);
        }
    }
    lines
}

const HEAD: &str = "SELECT number, priority, created_at, id FROM jobs INDEXED BY jobs_claim \
                    WHERE tenant = ?1 AND backend = ?2 AND ready = 1 \
                    ORDER BY priority DESC, created_at, id LIMIT 1";

/// The first of the heads.
fn first(unit: &mut Unit<'_>, tenant: &TenantId, lines: &[&str]) -> Result<Option<Row>, StoreError> {
    while let Some(number) = first_in_line(unit, tenant, lines)? {
        let row = rows::by_number(unit.connection, number)?;
        let Some(due) = row.available_at.filter(|due| *due > unit.now) else { return Ok(Some(row)) };
        // Its pause was over, and the clock went back.
        unit.book.counters.pause(due);
        unit.connection.prepare_cached("UPDATE jobs SET ready = 0 WHERE number = ?1")?.execute([number])?;
    }
    Ok(None)
}

/// What is compared: the smallest goes first.
type Place = (Reverse<i32>, i64, [u8; 16]);

fn first_in_line(unit: &Unit<'_>, tenant: &TenantId, lines: &[&str]) -> rusqlite::Result<Option<i64>> {
    let mut best: Option<(Place, i64)> = None;
    let mut head = unit.connection.prepare_cached(HEAD)?;
    for line in lines {
        let found = head
            .query_row([tenant.as_str(), line], |row| {
                Ok(((Reverse(row.get(1)?), row.get(2)?, row.get(3)?), row.get(0)?))
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

/// Lets the tenant's jobs whose pause is over join their lines. Nobody but claims sees a difference.
fn end_pauses(unit: &mut Unit<'_>, tenant: &TenantId) -> Result<(), StoreError> {
    if !unit.book.counters.is_pause_over(unit.now) {
        return Ok(());
    }
    let due = unit
        .connection
        .prepare_cached(DUE)?
        .query_map(params![tenant.as_str(), unit.now.0], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(i64, String)>>>()?;
    for (number, backend) in due {
        unit.connection.prepare_cached("UPDATE jobs SET ready = 1 WHERE number = ?1")?.execute([number])?;
        unit.book.news.work(tenant, &backend);
    }
    Ok(())
}

/// Lets the jobs of all tenants join their lines, so that waiting nodes hear of them.
pub(super) fn end_all_pauses(unit: &mut Unit<'_>) -> Result<(), StoreError> {
    let mut due = unit.connection.prepare_cached(
        "SELECT DISTINCT tenant FROM jobs INDEXED BY jobs_pause \
         WHERE state = 'pending' AND ready = 0 AND available_at <= ?1",
    )?;
    let tenants = due
        .query_map([unit.now.0], |row| rows::tenant_in(row, 0))?
        .collect::<rusqlite::Result<Vec<TenantId>>>()?;
    tenants.iter().try_for_each(|tenant| end_pauses(unit, tenant))?;
    let mut first = unit.connection.prepare_cached(FIRST)?;
    unit.book.counters.next_pause = first.query_row([], |row| row.get::<_, Option<i64>>(0))?.map(Timestamp);
    Ok(())
}

const FIRST: &str = "SELECT min(available_at) FROM jobs INDEXED BY jobs_pause \
                     WHERE state = 'pending' AND ready = 0";

const NEXT: &str = "SELECT available_at, backend FROM jobs INDEXED BY jobs_pause \
                    WHERE tenant = ?1 AND state = 'pending' AND ready = 0 ORDER BY available_at";

/// When the next pause ends in one of these lines.
fn next_due(unit: &Unit<'_>, tenant: &TenantId, lines: &[&str]) -> Result<Option<Timestamp>, StoreError> {
    if unit.book.counters.next_pause.is_none() {
        return Ok(None);
    }
    let mut next = unit.connection.prepare_cached(NEXT)?;
    let mut rows = next.query([tenant.as_str()])?;
    while let Some(row) = rows.next()? {
        if lines.contains(&row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?) {
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
    fn the_head_of_another_line_is_found_by_the_same_plan() {
        let directory = tempfile::tempdir().unwrap();
        let opened = open::open(&directory.path().join("queue.db")).unwrap();
        let head = || opened.connection.prepare_cached(HEAD).unwrap();
        for line in ["", "cpu", "cuda", ""] {
            assert_eq!(head().query_row(["acme", line], |_| Ok(())).optional().unwrap(), None);
        }
        assert_eq!(head().get_status(rusqlite::StatementStatus::RePrepare), 0);
    }

    #[test]
    fn a_line_is_looked_at_once() {
        let backends = ["cpu", "", "cpu", "cuda"].map(str::to_owned);
        assert_eq!(lines(&backends), ["", "cpu", "cuda"]);
        let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        assert_eq!(lines(&many).len(), 1 + MOST_BACKENDS);
    }
}
