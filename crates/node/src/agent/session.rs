//! Registers, sends heartbeats, registers again when the controller ended the session.

use std::convert::Infallible;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::{Code, Status};
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, Shutdown};
use vmafx_proto::controller::v1::{HeartbeatRequest, RegisterNodeRequest};

use super::controller_client::ControllerClient;
use super::reports::Reports;
use super::running_jobs::{RunningJobs, StopCause};
use super::{AgentTimeouts, NodeIdentity};

/// Minimum interval between heartbeats that are sent early to report progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A session as the controller opened it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) node_id: String,
    pub(super) token: String,
    heartbeat_interval: Duration,
}

/// Without the token, which is a secret.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("node_id", &self.node_id).finish_non_exhaustive()
    }
}

/// Keeps a session open.
pub(super) struct SessionKeeper {
    pub(super) controller: ControllerClient,
    pub(super) identity: NodeIdentity,
    pub(super) timeouts: AgentTimeouts,
    pub(super) jobs: RunningJobs,
    pub(super) reports: Reports,
    pub(super) session: watch::Sender<Option<Session>>,
    pub(super) registered: ReadinessGate,
}

impl SessionKeeper {
    /// Runs until the last slot has stopped.
    pub(super) async fn run(self, last: Shutdown) -> Result<(), BoxError> {
        while let Some(session) = last.run_until_begun(self.register()).await {
            self.registered.open();
            tracing::info!(node_id = session.node_id, heartbeat_interval = ?session.heartbeat_interval, "registered");
            let over = tokio::select! {
                over = last.run_until_begun(self.send_heartbeats(&session)) => over,
                never = self.open_slots(&session) => match never {},
            };
            self.session.send_replace(None);
            if over.is_none() {
                break;
            }
            self.registered.close("the controller ended the session; registering again");
            self.jobs.lose_session(&session.node_id);
        }
        Ok(())
    }

    /// Lets the slots pull with the session, after every result that waits was tried once: its job may be pending again, and
    /// would be scored a second time.
    async fn open_slots(&self, session: &Session) -> Infallible {
        self.reports.send_all().await;
        self.session.send_replace(Some(session.clone()));
        std::future::pending().await
    }

    /// Retries until there is a session.
    async fn register(&self) -> Session {
        let mut delays = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30))
            .without_max_times()
            .build();
        loop {
            let request = RegisterNodeRequest {
                name: self.identity.name.clone(),
                capability: Some(self.identity.capability.clone()),
                resource: self.identity.resource.clone(),
            };
            match self.controller.register(request).await {
                Ok(response) => {
                    let ttls = [response.lease_ttl_ms, response.session_ttl_ms];
                    let shortest = ttls.into_iter().filter(|ttl| *ttl > 0).min();
                    let third = shortest.map(|ttl| Duration::from_millis(u64::from(ttl) / 3));
                    let configured = self.timeouts.heartbeat_interval;
                    return Session {
                        node_id: response.node_id,
                        token: response.session_token,
                        heartbeat_interval: third.unwrap_or(configured).min(configured),
                    };
                }
                Err(status) => {
                    self.registered
                        .close(format!("the controller does not register this node: {}", describe(&status)));
                    tracing::warn!(code = ?status.code(), error = status.message(), "cannot register");
                }
            }
            tokio::time::sleep(delays.next().unwrap_or(Duration::from_secs(30))).await;
        }
    }

    /// Sends heartbeats until the controller says that the session is over.
    async fn send_heartbeats(&self, session: &Session) {
        let mut progressed = self.jobs.subscribe();
        let mut failing = false;
        loop {
            let last = Instant::now();
            let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let interval = session.heartbeat_interval;
            tokio::select! {
                () = tokio::time::sleep_until(last + heartbeat_delay(time, interval)) => {}
                // A user may watch the job, so progress is reported earlier, but not with every frame.
                () = async {
                    let _ = progressed.changed().await;
                    let interval = PROGRESS_INTERVAL.min(interval);
                    tokio::time::sleep_until(last + heartbeat_delay(time, interval)).await;
                } => {}
            }
            progressed.mark_unchanged();
            let request = HeartbeatRequest {
                session_token: session.token.clone(),
                serves: self.identity.serves.clone(),
                ..self.jobs.heartbeat(&session.node_id)
            };
            match self.controller.heartbeat(request).await {
                Ok(response) if !response.ok => {
                    tracing::warn!("the controller ended the session of this node");
                    return;
                }
                Ok(response) => {
                    if failing {
                        tracing::info!("the controller answers again");
                        self.registered.open();
                        failing = false;
                    }
                    self.jobs.stop(&response.cancel_job_ids, StopCause::Cancelled);
                    self.jobs.stop(&response.lost_job_ids, StopCause::Lost);
                }
                Err(status) if status.code() == Code::PermissionDenied => {
                    tracing::warn!(
                        error = status.message(),
                        "the controller refuses the heartbeats of this node"
                    );
                    return;
                }
                Err(status) => {
                    failing = true;
                    self.registered
                        .close(format!("the controller does not answer heartbeats: {}", describe(&status)));
                    tracing::warn!(code = ?status.code(), error = status.message(), "a heartbeat failed");
                }
            }
        }
    }
}

/// The delay from `time`, since the epoch, to the next heartbeat: at most the interval, and to a whole second of the wall
/// clock, which is about the same on all machines. The heartbeats of many nodes then arrive together, and all but the
/// first find the controller awake, which costs it a fraction of a wake-up for each.
fn heartbeat_delay(time: Duration, interval: Duration) -> Duration {
    let second = Duration::from_secs(1);
    if interval < 2 * second {
        return interval;
    }
    let beyond = Duration::from_nanos(u64::from((time + interval).subsec_nanos()));
    interval.saturating_sub(beyond)
}

fn describe(status: &Status) -> String {
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
    fn heartbeats_come_on_the_whole_second_and_never_late(
        #[case] time: u64,
        #[case] interval: u64,
        #[case] expected: u64,
    ) {
        let milliseconds = Duration::from_millis;
        assert_eq!(heartbeat_delay(milliseconds(time), milliseconds(interval)), milliseconds(expected));
    }
}
