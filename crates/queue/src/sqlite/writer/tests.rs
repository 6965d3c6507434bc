//! Operations that share a transaction.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{BatchPacing, Handle, Writer};
use crate::StoreResult;
use crate::clock::{Clock as _, SystemClock};
use crate::ids::TenantId;
use crate::job::NewJob;
use crate::notification::{Notification, Notifier};
use crate::policy::Policy;
use crate::sqlite::space::Reserve;
use crate::sqlite::submit::SubmitOutcome;
use crate::sqlite::unit_of_work::{UnitOfWork, WriterState};
use crate::sqlite::usage::UsageLedger;
use crate::sqlite::{open, startup, submit};
use crate::store::Submitted;
use vmafx_job::TenantLimits;

struct Fixture {
    _directory: TempDir,
    writer: Arc<Handle>,
    notifier: Notifier,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let opened = open::open(&directory.path().join("queue.db")).unwrap();
    let clock = Arc::new(SystemClock::default());
    let counters = startup::counters(&opened.connection, clock.reading()).unwrap();
    let notifier = Notifier::default();
    let writer = Handle::start(Writer {
        connection: opened.connection,
        live: Arc::new(Mutex::default()),
        state: WriterState::new(counters, UsageLedger::default()),
        pacing: BatchPacing::default(),
        policy: Policy::default(),
        clock,
        notifier: notifier.clone(),
        reserve: Reserve::hold(&opened.path, 4096),
        path: opened.path,
        lock: opened.lock,
    });
    Fixture { _directory: directory, writer: Arc::new(writer.unwrap()), notifier }
}

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

/// A submission. A limit of 0 violates a CHECK of the jobs table.
fn submission(limit: u32) -> impl FnMut(&mut UnitOfWork<'_>) -> StoreResult<Submitted> + Send + 'static {
    let job = NewJob { max_lost_attempts: Some(limit), ..NewJob::default() };
    move |tx| match submit::submit(tx, &tenant(), &job, "{}", &TenantLimits::default())? {
        SubmitOutcome::Submitted(submitted) => Ok(submitted),
        SubmitOutcome::Refused(refused) => Err(refused),
    }
}

/// An operation that blocks the writer thread until the gate is opened, so that further operations share the next
/// transaction.
fn gate() -> (Gate, impl FnMut(&mut UnitOfWork<'_>) -> StoreResult<()> + Send + 'static) {
    let (open, wait): (Sender<()>, Receiver<()>) = channel();
    let (holds, held) = oneshot::channel();
    let mut once = Some((holds, wait));
    (Gate { held, open }, move |_| {
        // The operation may be run again after a rollback.
        if let Some((holds, wait)) = once.take() {
            holds.send(()).unwrap();
            wait.recv().unwrap();
        }
        Ok(())
    })
}

/// The test's side of the blocking operation.
struct Gate {
    held: oneshot::Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    /// Polls these operations while the thread is blocked, and opens the gate when each of them has been enqueued.
    async fn together<F: Future>(self, waiting: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        self.held.await.unwrap();
        let waiting: Vec<F> = waiting.into_iter().collect();
        let count = waiting.len();
        let (answers, ()) = tokio::join!(join_all(waiting), async {
            // `join_all` polls them a few at a time.
            for _ in 0..count {
                tokio::task::yield_now().await;
            }
            self.open.send(()).unwrap();
        });
        answers
    }
}

async fn stored(writer: &Handle) -> (i64, i64) {
    writer
        .run_in_memory(|tx| {
            let jobs = tx.connection.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0))?;
            let seq = tx.connection.query_row("SELECT job_seq FROM store", [], |row| row.get(0))?;
            Ok((jobs, seq))
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn one_bad_operation_fails_alone() {
    let fixture = fixture();
    let mut notifications = fixture.notifier.subscribe();
    let (gate, operation) = gate();
    let limits = [3, 3, 0, 3, 3];
    let (first, answers) = tokio::join!(
        fixture.writer.write(operation),
        gate.together(limits.map(|limit| fixture.writer.write(submission(limit)))),
    );
    first.unwrap();
    let good: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, true, false, true, true]);
    assert_eq!(answers[2].as_ref().unwrap_err().reason(), "Unavailable");
    assert_eq!(stored(&fixture.writer).await, (4, 4), "four jobs, and the failed one used up no number");
    let jobs: u32 = std::iter::from_fn(|| notifications.try_recv().ok())
        .map(|notification| if let Notification::Work { jobs, .. } = notification { jobs } else { 0 })
        .sum();
    assert_eq!(jobs, 4, "the failed submission sends no notification");
}

#[tokio::test]
async fn operations_that_wait_together_are_stored_together() {
    let fixture = fixture();
    let mut notifications = fixture.notifier.subscribe();
    let (gate, operation) = gate();
    let (_, answers) = tokio::join!(
        fixture.writer.write(operation),
        gate.together([3; 50].map(|limit| fixture.writer.write(submission(limit)))),
    );
    assert!(answers.iter().all(Result::is_ok));
    // One transaction sends one notification for all its jobs.
    assert!(matches!(notifications.try_recv(), Ok(Notification::Work { jobs: 50, .. })));
}

#[tokio::test]
async fn when_the_thread_panics_every_caller_gets_an_error() {
    let fixture = fixture();
    let (Gate { held, open }, operation) = gate();
    let (first, answers, ()) = tokio::join!(
        fixture.writer.write(operation),
        join_all([3, 3].map(|limit| fixture.writer.write(submission(limit)))),
        async {
            held.await.unwrap();
            // Dropping the sender makes the blocked operation panic, which ends the thread.
            drop(open);
        },
    );
    assert_eq!(first.unwrap_err().reason(), "Unavailable");
    for answer in answers {
        assert_eq!(answer.unwrap_err().reason(), "Unavailable");
    }
    assert_eq!(fixture.writer.write(submission(3)).await.unwrap_err().reason(), "Unavailable");
    fixture.writer.close().await;
}
