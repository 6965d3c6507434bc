//! Registers, sends heartbeats, registers again when the controller has forgotten us.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::{Code, Status};
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, Shutdown};
use vmafx_proto::controller::v1::{HeartbeatRequest, RegisterNodeRequest};

use super::board::{Board, Ended};
use super::calls::Controller;
use super::{Patience, Who};

/// Heartbeats that only tell progress come no more often than this.
const PROGRESS: Duration = Duration::from_secs(2);

/// A session as the controller opened it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) node_id: String,
    pub(super) token: String,
    /// Between two heartbeats, at most.
    interval: Duration,
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered").field("node_id", &self.node_id).finish_non_exhaustive()
    }
}

/// Keeps a session.
pub(super) struct Keeper {
    pub(super) controller: Controller,
    pub(super) who: Who,
    pub(super) patience: Patience,
    pub(super) board: Board,
    pub(super) session: watch::Sender<Option<Registered>>,
    pub(super) registered: ReadinessGate,
}

impl Keeper {
    /// Works until the last slot has ended.
    pub(super) async fn run(self, last: Shutdown) -> Result<(), BoxError> {
        while let Some(session) = last.run_until_begun(self.register()).await {
            self.session.send_replace(Some(session.clone()));
            self.registered.open();
            tracing::info!(node_id = session.node_id, interval = ?session.interval, "registered");
            let over = last.run_until_begun(self.beat(&session)).await;
            self.session.send_replace(None);
            if over.is_none() {
                break;
            }
            self.registered.close("the controller ended the session; registering again");
            self.board.end_session(&session.node_id);
        }
        Ok(())
    }

    /// Asks until there is a session.
    async fn register(&self) -> Registered {
        let mut pauses = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30))
            .without_max_times()
            .build();
        loop {
            let asked = RegisterNodeRequest {
                name: self.who.name.clone(),
                capability: Some(self.who.capability.clone()),
                resource: self.who.resource.clone(),
            };
            match self.controller.register(asked).await {
                Ok(answer) => {
                    let shortest =
                        [answer.lease_ttl_ms, answer.session_ttl_ms].into_iter().filter(|ttl| *ttl > 0).min();
                    let third = shortest.map(|ttl| Duration::from_millis(u64::from(ttl) / 3));
                    return Registered {
                        node_id: answer.node_id,
                        token: answer.session_token,
                        interval: third.unwrap_or(self.patience.heartbeat).min(self.patience.heartbeat),
                    };
                }
                Err(status) => {
                    self.registered
                        .close(format!("the controller does not register this node: {}", said(&status)));
                    tracing::warn!(code = ?status.code(), said = status.message(), "cannot register");
                }
            }
            tokio::time::sleep(pauses.next().unwrap_or(Duration::from_secs(30))).await;
        }
    }

    /// Sends heartbeats until the controller says that the session is over.
    async fn beat(&self, session: &Registered) {
        let mut moved = self.board.moved();
        let mut failing = false;
        loop {
            let (last, time) = (Instant::now(), since_epoch());
            tokio::select! {
                () = tokio::time::sleep_until(last + pause(time, session.interval)) => {}
                // Somebody may be watching: progress goes out sooner, but not with every frame.
                () = async {
                    let _ = moved.changed().await;
                    tokio::time::sleep_until(last + pause(time, PROGRESS.min(session.interval))).await;
                } => {}
            }
            moved.mark_unchanged();
            let (running, progress) = self.board.beat(&session.node_id);
            let asked = HeartbeatRequest {
                node_id: session.node_id.clone(),
                session_token: session.token.clone(),
                jobs_running: i32::try_from(running.len()).unwrap_or(i32::MAX),
                running_job_ids: running,
                progress,
            };
            match self.controller.heartbeat(asked).await {
                Ok(answer) if !answer.ok => {
                    tracing::warn!("the controller has ended our session");
                    return;
                }
                Ok(answer) => {
                    if failing {
                        tracing::info!("the controller answers again");
                        self.registered.open();
                        failing = false;
                    }
                    self.board.end(&answer.cancel_job_ids, Ended::Cancelled);
                    self.board.end(&answer.lost_job_ids, Ended::Lost);
                }
                Err(status) if status.code() == Code::PermissionDenied => {
                    tracing::warn!(said = status.message(), "the controller refuses our heartbeat");
                    return;
                }
                Err(status) => {
                    failing = true;
                    self.registered
                        .close(format!("the controller does not hear this node: {}", said(&status)));
                    tracing::warn!(code = ?status.code(), said = status.message(), "a heartbeat was not heard");
                }
            }
        }
    }
}

/// What is waited from `time` for the next heartbeat: not longer than the interval, and to a whole second of the clock that
/// all machines share more or less. The beats of many nodes then come together, and all but the first of them find the
/// controller awake, which costs it a small part of what it costs to be woken for each.
fn pause(time: Duration, interval: Duration) -> Duration {
    let second = Duration::from_secs(1);
    if interval < 2 * second {
        return interval;
    }
    let beyond = Duration::from_nanos(u64::from((time + interval).subsec_nanos()));
    interval.saturating_sub(beyond)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn said(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::down_to_the_second(1_700_000_000_300, 10_000, 9_700)]
    #[case::on_the_second(1_700_000_000_000, 10_000, 10_000)]
    #[case::just_before_it(1_700_000_000_999, 2_000, 1_001)]
    #[case::odd_intervals_too(1_700_000_000_300, 6_666, 5_700)]
    #[case::short_ones_are_taken_as_they_are(1_700_000_000_300, 1_000, 1_000)]
    fn beats_come_on_the_whole_second_and_never_late(
        #[case] time: u64,
        #[case] interval: u64,
        #[case] expected: u64,
    ) {
        let milliseconds = Duration::from_millis;
        assert_eq!(pause(milliseconds(time), milliseconds(interval)), milliseconds(expected));
    }
}
