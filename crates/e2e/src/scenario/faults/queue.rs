//! The queue, as its database has it.

use anyhow::{Context as _, Result};
use tokio::time::timeout;
use tokio_postgres::NoTls;

use super::account::Queued;
use crate::platform::PATIENCE;

/// All jobs with their attempts. Numbers become texts that lead back to the same bits.
const JOBS: &str = "
SELECT coalesce(json_agg(job), '[]')::text FROM (
    SELECT j.id::text AS id, j.origin_uid AS uid, j.status, j.score,
        coalesce((
            SELECT json_agg(json_build_object('number', a.attempt, 'node', a.node_id, 'outcome', a.outcome)
                ORDER BY a.attempt)
            FROM vmafx.job_attempts a WHERE a.job_id = j.id
        ), '[]') AS attempts
    FROM vmafx.jobs j
) job";

/// A database with the tables of the controller.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    dsn: String,
}

impl Queue {
    pub(super) fn new(dsn: String) -> Self {
        Self { dsn }
    }

    /// Everything in it, of all tenants.
    pub(super) async fn jobs(&self) -> Result<Vec<Queued>> {
        timeout(PATIENCE, self.read()).await.context("the database does not answer")?
    }

    async fn read(&self) -> Result<Vec<Queued>> {
        let (client, connection) = tokio_postgres::connect(&self.dsn, NoTls).await.context("the database")?;
        let ask = async {
            client.batch_execute("SET vmafx.maintenance = 'on'").await?;
            client.query_one(JOBS, &[]).await
        };
        let row = tokio::select! {
            row = ask => row.context("the jobs in the database")?,
            ended = connection => {
                ended.context("the connection to the database")?;
                anyhow::bail!("the database has closed the connection");
            }
        };
        serde_json::from_str(row.get(0)).context("the jobs in the database")
    }
}

/// Jobs that run on a node.
pub(super) fn running_on(jobs: &[Queued], node: &str) -> Vec<String> {
    let last_is_open = |job: &&Queued| {
        let last = job.attempts.last();
        job.status == "running" && last.is_some_and(|last| last.node == node && last.outcome.is_none())
    };
    jobs.iter().filter(last_is_open).map(|job| job.id.clone()).collect()
}

/// Of these jobs, those that a node lost because nothing was heard of it.
pub(super) fn expired_on(jobs: &[Queued], node: &str, which: &[String]) -> Vec<String> {
    let lost = |job: &&Queued| {
        let expired = |outcome: Option<&str>| outcome == Some("expired");
        job.attempts.iter().any(|attempt| attempt.node == node && expired(attempt.outcome.as_deref()))
    };
    jobs.iter().filter(|job| which.contains(&job.id)).filter(lost).map(|job| job.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn jobs() -> Vec<Queued> {
        let attempt =
            |node: &str, outcome: Option<&str>| json!({ "number": 1, "node": node, "outcome": outcome });
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
