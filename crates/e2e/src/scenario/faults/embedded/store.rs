//! The controller's queue, read from its SQLite file while the controller runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rusqlite::{Connection, OpenFlags};

use super::super::verify::QueuedJob;
use crate::platform::STEP_TIMEOUT;

/// All jobs with their attempts. A score is stored as text that parses to the same bits.
const JOBS: &str = "
SELECT json_object(
    'id', lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21)),
    'uid', origin_uid, 'status', state, 'score', json(score),
    'attempts', json((
        SELECT json_group_array(json_object('number', attempt, 'node', node, 'outcome', outcome,
            'started_at', started_at, 'ended_at', ended_at))
        FROM (SELECT * FROM attempts WHERE job = number ORDER BY attempt)
    )))
FROM (SELECT *, hex(id) AS h FROM jobs)";

#[derive(Debug, Clone)]
pub(super) struct SqliteQueue {
    path: PathBuf,
}

impl SqliteQueue {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// All jobs of all tenants.
    pub(super) async fn jobs(&self) -> Result<Vec<QueuedJob>> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || read(&path)).await?
    }
}

fn read(path: &Path) -> Result<Vec<QueuedJob>> {
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", path.display()))?;
    store.busy_timeout(STEP_TIMEOUT)?;
    let mut query = store.prepare(JOBS)?;
    let rows = query.query_map([], |row| row.get::<_, String>(0))?;
    rows.map(|row| serde_json::from_str(&row?).context("cannot decode a job of the store")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns that are read, as the migrations of the queue define them.
    const SCHEMA: &str = "
CREATE TABLE jobs (number INTEGER PRIMARY KEY, id BLOB NOT NULL, state TEXT NOT NULL, score TEXT, origin_uid TEXT) STRICT;
CREATE TABLE attempts (job INTEGER NOT NULL, attempt INTEGER NOT NULL, node TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER, outcome TEXT, PRIMARY KEY (job, attempt)) STRICT, WITHOUT ROWID;
INSERT INTO jobs VALUES (1, x'0198f2a1000070008000000000000001', 'completed', '76.6689048582761', 'u1');
INSERT INTO jobs VALUES (2, x'0198f2a1000070008000000000000002', 'pending', NULL, 'u2');
INSERT INTO attempts VALUES (1, 2, 'pool-1', 30, 40, 'completed'), (1, 1, 'pool-0', 10, 20, 'expired');
";

    #[tokio::test]
    async fn jobs_are_read_with_their_scores_and_attempts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
        let jobs = SqliteQueue::new(path).jobs().await.unwrap();
        assert_eq!(jobs[0].id, "0198f2a1-0000-7000-8000-000000000001");
        assert_eq!((jobs[0].uid.as_deref(), jobs[0].status.as_str()), (Some("u1"), "completed"));
        assert_eq!(jobs[0].score, Some(76.668_904_858_276_1));
        let outcomes: Vec<_> =
            jobs[0].attempts.iter().map(|one| (one.number, one.outcome.as_deref())).collect();
        assert_eq!(outcomes, [(1, Some("expired")), (2, Some("completed"))]);
        assert_eq!((jobs[1].score, jobs[1].attempts.len()), (None, 0));
    }
}
