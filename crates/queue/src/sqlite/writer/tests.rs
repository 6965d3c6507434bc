//! What happens to operations that share a transaction.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{Handle, Pace, Writer};
use crate::StoreError;
use crate::clock::SteadyClock;
use crate::ids::TenantId;
use crate::job::NewJob;
use crate::notice::{Notice, Notices};
use crate::policy::Policy;
use crate::sqlite::unit::{Book, Unit};
use crate::sqlite::{open, recall, submit};
use crate::store::Submitted;

struct Desk {
    _directory: TempDir,
    writer: Arc<Handle>,
    notices: Notices,
}

fn desk() -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let opened = open::open(&directory.path().join("queue.db")).unwrap();
    let (_, counters) = recall::identity(&opened.connection).unwrap();
    let notices = Notices::default();
    let writer = Handle::start(Writer {
        connection: opened.connection,
        live: Arc::new(Mutex::default()),
        book: Book::new(counters),
        pace: Pace::default(),
        policy: Policy::default(),
        clock: Arc::new(SteadyClock::start()),
        notices: notices.clone(),
        path: opened.path,
        lock: opened.lock,
    });
    Desk { _directory: directory, writer: Arc::new(writer.unwrap()), notices }
}

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

/// A submission; a limit of 0 is against the rules of the table.
fn submission(limit: u32) -> impl FnMut(&mut Unit<'_>) -> Result<Submitted, StoreError> + Send + 'static {
    let job = NewJob { max_lost_attempts: Some(limit), ..NewJob::default() };
    move |unit| submit::submit(unit, &tenant(), &job, "{}")
}

/// An operation that holds the thread until it is told to go on, so that others have to share the next transaction.
fn gate() -> (Gate, impl FnMut(&mut Unit<'_>) -> Result<(), StoreError> + Send + 'static) {
    let (open, wait): (Sender<()>, Receiver<()>) = channel();
    let (holds, held) = oneshot::channel();
    let mut once = Some((holds, wait));
    (Gate { held, open }, move |_| {
        // It may be run again.
        if let Some((holds, wait)) = once.take() {
            holds.send(()).unwrap();
            wait.recv().unwrap();
        }
        Ok(())
    })
}

/// The other end of the operation that holds the thread.
struct Gate {
    held: oneshot::Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    /// Runs these while the thread is held, and lets it go on when each of them was asked to send.
    async fn together<F: Future>(self, waiting: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        self.held.await.unwrap();
        let waiting: Vec<F> = waiting.into_iter().collect();
        let count = waiting.len();
        let (answers, ()) = tokio::join!(join_all(waiting), async {
            // They are asked a few at a time.
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
        .remember(|unit| {
            let jobs = unit.connection.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0))?;
            let seq = unit.connection.query_row("SELECT job_seq FROM store", [], |row| row.get(0))?;
            Ok((jobs, seq))
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn one_bad_operation_fails_alone() {
    let desk = desk();
    let mut heard = desk.notices.listen();
    let (gate, operation) = gate();
    let limits = [3, 3, 0, 3, 3];
    let (first, answers) = tokio::join!(
        desk.writer.write(operation),
        gate.together(limits.map(|limit| desk.writer.write(submission(limit)))),
    );
    first.unwrap();
    let good: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, true, false, true, true]);
    assert_eq!(answers[2].as_ref().unwrap_err().reason(), "Unavailable");
    assert_eq!(stored(&desk.writer).await, (4, 4), "four jobs, and no number was used up");
    let jobs: u32 = std::iter::from_fn(|| heard.try_recv().ok())
        .map(|notice| if let Notice::Work { jobs, .. } = notice { jobs } else { 0 })
        .sum();
    assert_eq!(jobs, 4, "nothing is told that is not so");
}

#[tokio::test]
async fn operations_that_wait_together_are_stored_together() {
    let desk = desk();
    let mut heard = desk.notices.listen();
    let (gate, operation) = gate();
    let (_, answers) = tokio::join!(
        desk.writer.write(operation),
        gate.together([3; 50].map(|limit| desk.writer.write(submission(limit)))),
    );
    assert!(answers.iter().all(Result::is_ok));
    // One transaction tells of all its jobs at once.
    assert!(matches!(heard.try_recv(), Ok(Notice::Work { jobs: 50, .. })));
}

#[tokio::test]
async fn when_the_thread_dies_everybody_hears_of_it() {
    let desk = desk();
    let (Gate { held, open }, operation) = gate();
    let (first, answers, ()) = tokio::join!(
        desk.writer.write(operation),
        join_all([3, 3].map(|limit| desk.writer.write(submission(limit)))),
        async {
            held.await.unwrap();
            // Without its other end the gate breaks, and the thread with it.
            drop(open);
        },
    );
    assert_eq!(first.unwrap_err().reason(), "Unavailable");
    for answer in answers {
        assert_eq!(answer.unwrap_err().reason(), "Unavailable");
    }
    assert_eq!(desk.writer.write(submission(3)).await.unwrap_err().reason(), "Unavailable");
    desk.writer.close().await;
}
