//! Claims, many in one transaction.
//!
//! The jobs that a node may have are the heads of a few classes: those without a backend, and those of each backend
//! the node serves. Each class is a range of one index that holds only jobs that can be had, in the order in which
//! they are handed out; so a claim reads a handful of entries, however many jobs of other classes wait. Somebody else
//! may be about to take the same ones: those are skipped, which is why a few more are looked at than are wanted. Only a
//! look that finds none at all is answered with nothing: a job that was submitted before the claim is never overlooked
//! because others were busy at the same moment.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use super::Shared;
use super::lane::Batch;
use super::news::News;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, job_columns, millis};
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::node::Credentials;
use crate::store::{Claim, StoreError};

/// Jobs whose pause is over can be had again. Nothing else about them changes; who waits for work is told.
const PROMOTE: &str = "
WITH due AS (
    SELECT of_class.id FROM unnest($2::text[]) AS class (backend)
    CROSS JOIN LATERAL (
        SELECT j.id FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
            AND j.available_at <= $3
        ORDER BY j.available_at LIMIT 10000
        FOR UPDATE SKIP LOCKED
    ) of_class
), promoted AS (
    UPDATE vmafx.jobs AS job SET ready = true WHERE job.id = ANY (ARRAY (SELECT id FROM due)) RETURNING job.backend
), classes AS (
    SELECT backend, count(*) AS jobs FROM promoted GROUP BY backend
)
SELECT backend, jobs FROM classes";

const CLAIM: &str = concat!(
    "
WITH live AS (
    SELECT w.n, s.id AS session, s.node_id, s.capability -> 'labels' AS labels,
        row_number() OVER (ORDER BY w.n) AS place
    FROM unnest($2::uuid[], $3::bytea[]) WITH ORDINALITY AS w (session, token, n)
    JOIN vmafx.node_sessions s
        ON s.id = w.session AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = w.token
), due AS MATERIALIZED (
    -- Jobs whose pause is over must be made ready first: one of them may be the first in line.
    SELECT EXISTS (
        SELECT FROM unnest($4::text[]) AS class (backend)
        CROSS JOIN LATERAL (
            SELECT FROM vmafx.jobs j
            WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
                AND j.available_at <= $6
            LIMIT 1
        ) of_class
    ) AS any_job
), heads AS MATERIALIZED (
    SELECT head.id FROM unnest($4::text[]) AS class (backend)
    CROSS JOIN LATERAL (
        SELECT j.id, j.priority, j.created_at FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.ready
        ORDER BY j.priority DESC, j.created_at, j.id LIMIT $5
    ) head
    WHERE NOT (SELECT any_job FROM due)
    ORDER BY head.priority DESC, head.created_at, head.id LIMIT $5
), locked AS (
    SELECT j.id, j.priority, j.created_at FROM vmafx.jobs j
    WHERE j.id = ANY (ARRAY (SELECT id FROM heads)) AND coalesce(j.ready, false)
    ORDER BY j.priority DESC, j.created_at, j.id
    LIMIT (SELECT count(*) FROM live)
    FOR UPDATE OF j SKIP LOCKED
), taken AS (
    SELECT id, row_number() OVER (ORDER BY priority DESC, created_at, id) AS place FROM locked
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'running', ready = false, available_at = NULL, attempt = job.attempt + 1, node = live.node_id,
        started_at = $6, updated_at = $6, lease_session = live.session, lease_expires_at = $7,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM taken JOIN live USING (place) WHERE job.id = taken.id
    RETURNING job.*, live.n, live.labels
), begun AS (
    INSERT INTO vmafx.job_attempts (job_id, attempt, tenant_id, session_id, node_id, node_labels, started_at)
    SELECT j.id, j.attempt, $1, j.lease_session, j.node, j.labels, $6 FROM j
)
SELECT live.n, (SELECT any_job FROM due), (SELECT count(*) FROM heads), ",
    job_columns!(),
    " FROM live LEFT JOIN j USING (n)"
);

/// When the next pause of these classes ends.
const NEXT: &str = "
SELECT min(pause.available_at) FROM unnest($2::text[]) AS class (backend)
CROSS JOIN LATERAL (
    SELECT j.available_at FROM vmafx.jobs j
    WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
    ORDER BY j.available_at LIMIT 1
) pause";

/// Looked at beyond twice what is wanted, at first: another controller may be about to take as many.
const SPARE: usize = 8;
/// At most.
const WIDEST: usize = 4096;
/// Rounds in which others were quicker, before the caller is told to ask again.
const MOST_LOST_RACES: u32 = 40;

/// The lane's work. The key is the tenant and the classes: the backends, sorted, and that of no backend.
pub(super) struct Claims(pub(super) Arc<Shared>);

/// What a node may have.
pub(super) type Classes = Arc<[String]>;

/// The classes of a node.
pub(super) fn classes(backends: &[String]) -> Classes {
    let mut classes: Vec<String> = backends.iter().map(|backend| super::row::text(backend)).collect();
    classes.push(String::new());
    classes.sort();
    classes.dedup();
    classes.into()
}

impl Batch for Claims {
    type Key = (TenantId, Classes);
    type Item = Credentials;
    type Answer = Claim;
    const MOST: usize = 64;

    async fn run(&self, key: &Self::Key, nodes: &[Credentials]) -> Result<Vec<Claim>, StoreError> {
        let (tenant, classes) = key;
        let mut answers: Vec<Option<Claim>> = vec![None; nodes.len()];
        let mut width = 2 * nodes.len() + SPARE;
        let mut lost_races = 0_u32;
        loop {
            let open: Vec<usize> = (0..nodes.len()).filter(|at| answers[*at].is_none()).collect();
            let asking: Vec<&Credentials> = open.iter().map(|at| &nodes[*at]).collect();
            let round = self.round(tenant, classes, &asking, width).await?;
            for (at, answer) in open.into_iter().zip(round.answers) {
                answers[at] = answer;
            }
            if answers.iter().all(Option::is_some) {
                return Ok(answers.into_iter().flatten().collect());
            }
            if round.due {
                self.promote(tenant, classes).await?;
            } else if round.seen <= round.taken {
                // Nothing at all was there: that is an answer.
                break;
            }
            // What was there was taken by others meanwhile, and there may be more by now.
            lost_races += 1;
            if lost_races > MOST_LOST_RACES {
                let now = Claim::Nothing { next: Some(self.0.clock.now()) };
                return Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| now.clone())).collect());
            }
            if round.seen >= width {
                width = (width * 4).min(WIDEST);
            }
            sleep(Duration::from_millis(u64::from(lost_races / 4))).await;
        }
        let nothing = Claim::Nothing { next: self.next(tenant, classes).await? };
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| nothing.clone())).collect())
    }
}

struct Round {
    /// `None`: there was nothing.
    answers: Vec<Option<Claim>>,
    /// There are jobs whose pause is over, and nothing was handed out before they stand in line.
    due: bool,
    /// Jobs that were there, and those that were had.
    seen: usize,
    taken: usize,
}

impl Claims {
    async fn round(
        &self,
        tenant: &TenantId,
        classes: &Classes,
        nodes: &[&Credentials],
        width: usize,
    ) -> Result<Round, StoreError> {
        let shared = &self.0;
        let now = shared.clock.now();
        let whose = tenant.as_str();
        let sessions: Vec<Uuid> = nodes.iter().map(|node| node.session.0).collect();
        let tokens: Vec<Vec<u8>> = nodes.iter().map(|node| node.token.digest().to_vec()).collect();
        let limit = i64::try_from(width).unwrap_or(i64::MAX);
        let until = now.0.saturating_add(millis(shared.policy.lease_ttl));
        let classes = &classes[..];
        let claim: [Value<'_>; 7] = [&whose, &sessions, &tokens, &classes, &limit, &now.0, &until];
        let rows = shared.connections.run(Scope::Of(tenant), Access::Write, CLAIM, &claim).await?;

        let mut news = News::default();
        let mut round =
            Round { answers: vec![Some(Claim::NoSession); nodes.len()], due: false, seen: 0, taken: 0 };
        for row in &rows {
            let mut reader = Reader::new(row);
            let number: usize = reader.count()?;
            round.due = reader.next()?;
            round.seen = reader.count()?;
            let job = if reader.is_null() { None } else { Some(reader.job()?) };
            news.changed |= job.is_some();
            round.taken += usize::from(job.is_some());
            if let Some(answer) = round.answers.get_mut(number.saturating_sub(1)) {
                *answer = job.map(|job| Claim::Job(Box::new(job)));
            }
        }
        shared.tell(tenant, news);
        Ok(round)
    }

    /// Lets jobs whose pause is over stand in line again.
    async fn promote(&self, tenant: &TenantId, classes: &Classes) -> Result<(), StoreError> {
        let (whose, classes, now) = (tenant.as_str(), &classes[..], self.0.clock.now().0);
        let values: [Value<'_>; 3] = [&whose, &classes, &now];
        let rows = self.0.connections.run(Scope::Of(tenant), Access::Write, PROMOTE, &values).await?;
        let mut news = News::default();
        for row in &rows {
            let mut reader = Reader::new(row);
            news.work(reader.next()?, reader.count()?);
        }
        self.0.tell(tenant, news);
        Ok(())
    }

    async fn next(&self, tenant: &TenantId, classes: &Classes) -> Result<Option<Timestamp>, StoreError> {
        let (whose, classes) = (tenant.as_str(), &classes[..]);
        let values: [Value<'_>; 2] = [&whose, &classes];
        let rows = self.0.connections.run(Scope::Of(tenant), Access::Read, NEXT, &values).await?;
        let next = rows.first().map(|row| Reader::new(row).next::<Option<i64>>()).transpose()?;
        Ok(next.flatten().map(Timestamp))
    }
}
