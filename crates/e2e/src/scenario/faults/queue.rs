//! The controller's queue, read from its database.

use anyhow::{Context as _, Result};
use tokio::time::timeout;
use tokio_postgres::NoTls;

use super::verify::QueuedJob;
use crate::platform::STEP_TIMEOUT;

/// All jobs with their attempts. Scores are converted to text that parses to the same bits.
const JOBS: &str = "
SELECT coalesce(json_agg(job), '[]')::text FROM (
    SELECT j.id::text AS id, j.origin_uid AS uid, j.status, j.score,
        coalesce((
            SELECT json_agg(json_build_object('number', a.attempt, 'node', a.node_id, 'outcome', a.outcome,
                'started_at', a.started_at, 'ended_at', a.ended_at)
                ORDER BY a.attempt)
            FROM vmafx.job_attempts a WHERE a.job_id = j.id
        ), '[]') AS attempts
    FROM vmafx.jobs j
) job";

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text";

#[derive(Debug, Clone)]
pub(super) struct QueueDatabase {
    dsn: String,
}

impl QueueDatabase {
    pub(super) fn new(dsn: String) -> Self {
        Self { dsn }
    }

    /// All jobs of all tenants.
    pub(super) async fn jobs(&self) -> Result<Vec<QueuedJob>> {
        let read = self.read(JOBS);
        let text = timeout(STEP_TIMEOUT, read).await.context("the database did not answer in time")??;
        serde_json::from_str(&text).context("cannot decode the jobs of the database")
    }

    /// The time of the database, in milliseconds since the Unix epoch.
    pub(super) async fn now(&self) -> Result<i64> {
        let read = self.read(NOW);
        let text = timeout(STEP_TIMEOUT, read).await.context("the database did not answer in time")??;
        text.parse().context("cannot decode the time of the database")
    }

    /// The text in the first column of the first row.
    async fn read(&self, query: &str) -> Result<String> {
        let (client, connection) =
            tokio_postgres::connect(&self.dsn, NoTls).await.context("cannot connect to the database")?;
        let query = async {
            client.batch_execute("SET vmafx.maintenance = 'on'").await?;
            client.query_one(query, &[]).await
        };
        tokio::select! {
            row = query => Ok(row.context("cannot read from the database")?.get(0)),
            ended = connection => {
                ended.context("the connection to the database failed")?;
                anyhow::bail!("the database closed the connection");
            }
        }
    }
}

pub(super) fn running_on(jobs: &[QueuedJob], node: &str) -> Vec<String> {
    let last_is_open = |job: &&QueuedJob| {
        let last = job.attempts.last();
        job.status == "running" && last.is_some_and(|last| last.node == node && last.outcome.is_none())
    };
    jobs.iter().filter(last_is_open).map(|job| job.id.clone()).collect()
}

/// Those of `which` whose lease on a node expired.
pub(super) fn expired_on(jobs: &[QueuedJob], node: &str, which: &[String]) -> Vec<String> {
    let lost = |job: &&QueuedJob| {
        let expired = |outcome: Option<&str>| outcome == Some("expired");
        job.attempts.iter().any(|attempt| attempt.node == node && expired(attempt.outcome.as_deref()))
    };
    jobs.iter().filter(|job| which.contains(&job.id)).filter(lost).map(|job| job.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn jobs() -> Vec<QueuedJob> {
        let attempt = |node: &str, outcome: Option<&str>| json!({ "number": 1, "node": node, "outcome": outcome, "started_at": 1, "ended_at": null });
        let job = |id: &str, status: &str, attempts: &[serde_json::Value]| json!({ "id": id, "uid": "u", "status": status, "score": null, "attempts": attempts });
        serde_json::from_value(json!([
            job("a", "running", &[attempt("n0", None)]),
            job("b", "running", &[attempt("n0", Some("expired")), attempt("n1", None)]),
            job("c", "completed", &[attempt("n0", Some("completed"))]),
            job("d", "pending", &[attempt("n0", Some("expired"))]),
            job("e", "pending", &[]),
        ]))
        .unwrap()
    }

    #[test]
    fn a_job_runs_where_its_last_attempt_is_open() {
        assert_eq!(running_on(&jobs(), "n0"), ["a"]);
        assert_eq!(running_on(&jobs(), "n1"), ["b"]);
    }

    #[test]
    fn a_lost_job_is_one_whose_attempt_there_expired() {
        let which = ["b", "c", "d"].map(str::to_owned);
        assert_eq!(expired_on(&jobs(), "n0", &which), ["b", "d"]);
        assert_eq!(expired_on(&jobs(), "n0", &which[..1]), ["b"]);
        assert_eq!(expired_on(&jobs(), "n1", &which), [""; 0]);
    }
}
