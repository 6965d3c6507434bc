//! What runs, how far it is, and how to end it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vmafx_proto::controller::v1::{JobProgress, Progress};

/// Why a job is ended before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Somebody does not want it any more.
    Cancelled,
    /// Another node has it, or nobody wants our result.
    Lost,
    /// This node leaves.
    Leaving,
}

/// The jobs of this process. Clones are the same board.
#[derive(Clone, Debug, Default)]
pub(super) struct Board(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    running: Mutex<BTreeMap<String, Running>>,
    moved: watch::Sender<()>,
}

#[derive(Debug)]
struct Running {
    attempt: u32,
    session: String,
    progress: Progress,
    told: Progress,
    ended: Option<Ended>,
    cancel: CancellationToken,
}

/// A job on the board; it is taken down when this is dropped.
#[derive(Debug)]
pub(super) struct Pinned {
    board: Board,
    job: String,
    pub(super) cancel: CancellationToken,
}

impl Board {
    /// Puts a job up. One that is up already, under an older attempt, is replaced and ended.
    pub(super) fn pin(&self, job: &str, attempt: u32, session: &str) -> Pinned {
        let cancel = CancellationToken::new();
        let running = Running {
            attempt,
            session: session.to_owned(),
            progress: Progress::default(),
            told: Progress::default(),
            ended: None,
            cancel: cancel.clone(),
        };
        if let Some(older) = self.running().insert(job.to_owned(), running) {
            older.cancel.cancel();
        }
        Pinned { board: self.clone(), job: job.to_owned(), cancel }
    }

    /// The jobs of a session, and how far those are that moved since the last time this was asked.
    pub(super) fn beat(&self, session: &str) -> (Vec<String>, Vec<JobProgress>) {
        let mut running = self.running();
        let mut moved = Vec::new();
        for (job, state) in running.iter_mut().filter(|(_, state)| state.session == session) {
            if state.progress != state.told {
                state.told = state.progress;
                moved.push(JobProgress {
                    job_id: job.clone(),
                    attempt: state.attempt,
                    progress: Some(state.progress),
                });
            }
        }
        let of_session = running.iter().filter(|(_, state)| state.session == session);
        (of_session.map(|(job, _)| job.clone()).collect(), moved)
    }

    /// Ends some jobs.
    pub(super) fn end<'a>(&self, jobs: impl IntoIterator<Item = &'a String>, why: Ended) {
        let mut running = self.running();
        for job in jobs {
            if let Some(state) = running.get_mut(job) {
                state.ended.get_or_insert(why);
                state.cancel.cancel();
            }
        }
    }

    /// Ends all jobs of a session that is over.
    pub(super) fn end_session(&self, session: &str) {
        let mut running = self.running();
        for state in running.values_mut().filter(|state| state.session == session) {
            state.ended.get_or_insert(Ended::Lost);
            state.cancel.cancel();
        }
    }

    /// Hears when some job has moved.
    pub(super) fn moved(&self) -> watch::Receiver<()> {
        self.0.moved.subscribe()
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        // Every change is one assignment, so the map is whole whatever its last holder was doing.
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pinned {
    /// Says how far the job is.
    pub(super) fn progress(&self, done: u64, total: u64) {
        if let Some(state) = self.board.running().get_mut(&self.job) {
            state.progress = Progress { frames_done: done, frames_total: total };
        }
        self.board.0.moved.send_replace(());
    }

    /// Ends it because this node leaves, unless something else ended it before.
    pub(super) fn leave(&self) {
        self.board.end([&self.job], Ended::Leaving);
    }

    /// Why it was ended, if it was.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.board.running().get(&self.job).and_then(|state| state.ended)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.board.running().remove(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_names_the_jobs_of_its_session_and_progress_once() {
        let board = Board::default();
        let one = board.pin("a", 1, "s");
        let _two = board.pin("b", 2, "s");
        let _other = board.pin("c", 1, "older");
        one.progress(5, 10);
        let (jobs, progress) = board.beat("s");
        assert_eq!(jobs, ["a", "b"]);
        assert_eq!(progress.len(), 1);
        assert_eq!((progress[0].job_id.as_str(), progress[0].attempt), ("a", 1));
        assert_eq!(board.beat("s").1, []);
    }

    #[test]
    fn the_first_reason_stays() {
        let board = Board::default();
        let job = board.pin("a", 1, "s");
        board.end([&"a".to_owned(), &"unknown".to_owned()], Ended::Cancelled);
        job.leave();
        assert!(job.cancel.is_cancelled());
        assert_eq!(job.ended(), Some(Ended::Cancelled));
    }

    #[test]
    fn a_session_that_is_over_takes_its_own_jobs_along() {
        let board = Board::default();
        let (ours, theirs) = (board.pin("a", 1, "s"), board.pin("b", 1, "t"));
        board.end_session("s");
        assert_eq!((ours.ended(), theirs.ended()), (Some(Ended::Lost), None));
        drop(ours);
        assert_eq!((board.beat("s").0, board.beat("t").0), (vec![], vec!["b".to_owned()]));
    }
}
