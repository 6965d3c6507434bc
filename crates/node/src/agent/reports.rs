//! Delivers finished results, however long the controller is away.
//!
//! A result is in the outbox before it is reported, and until the controller has accepted or refused it. While the
//! controller is away its slot waits, and the job stays in the heartbeats, so that the controller renews its lease when it
//! is back. Results of an earlier process are delivered as well; no slot pulls before each of them was tried once, because
//! the job of such a result may be pending again, and would be scored a second time.
//!
//! | the controller answers                        | the result is          |
//! |-----------------------------------------------|------------------------|
//! | ok                                            | removed                |
//! | that the attempt is not this node's any more  | removed, logged        |
//! | nothing, or that it cannot answer now         | tried again, for ever  |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::StreamExt as _;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::controller_client::ControllerClient;
use super::outbox::{Outbox, OutboxFile, StoredReport};
use super::wire;

const MAX_RETRY_DELAY: Duration = Duration::from_secs(15);
/// Reports in flight at once, when many wait for a controller that is back.
const MAX_IN_FLIGHT: usize = 8;

/// What came of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Accepted,
    Refused,
    /// The node shuts down; the next process delivers the result.
    Kept,
    /// The node shuts down, and the result could not be written to the outbox.
    Dropped,
}

/// Clones share one set of results.
#[derive(Clone)]
pub(super) struct Reports(Arc<Inner>);

struct Inner {
    controller: ControllerClient,
    outbox: Outbox,
    pending: Mutex<PendingReports>,
    added: Notify,
    gauge: Gauge,
}

#[derive(Default)]
struct PendingReports {
    next: u64,
    reports: BTreeMap<u64, Arc<PendingReport>>,
}

struct PendingReport {
    report: StoredReport,
    file: Mutex<Option<OutboxFile>>,
    delivery: watch::Sender<Option<Delivery>>,
    /// Held while the report is in flight, so that it is not sent twice at once.
    in_flight: tokio::sync::Mutex<()>,
}

impl Reports {
    /// Takes over the results of processes that have ended. Blocks.
    pub(super) fn open(controller: ControllerClient, outbox: Outbox, gauge: Gauge) -> Self {
        let reports = Self(Arc::new(Inner {
            controller,
            outbox,
            pending: Mutex::default(),
            added: Notify::new(),
            gauge,
        }));
        match reports.0.outbox.orphans() {
            Ok(orphans) => {
                for (report, file) in orphans {
                    tracing::info!(
                        job = report.job_id,
                        attempt = report.attempt,
                        "found a result of an earlier process"
                    );
                    reports.add(report, Some(file));
                }
            }
            Err(error) => tracing::warn!(%error, "cannot search the outbox for results of earlier processes"),
        }
        reports
    }

    /// Delivers a result; gives up when the token is cancelled.
    pub(super) async fn deliver(&self, report: StoredReport, give_up: &CancellationToken) -> Delivery {
        let (job, attempt) = (report.job_id.clone(), report.attempt);
        let file = self.keep(report.clone()).await;
        let (number, pending) = self.add(report, file);
        let mut delivery = pending.delivery.subscribe();
        if self.send(number, &pending).await.is_none() {
            tracing::warn!(job, attempt, "a finished result waits for the controller");
            self.0.added.notify_one();
        }
        let settled = async { delivery.wait_for(Option::is_some).await.ok().and_then(|settled| *settled) };
        match give_up.run_until_cancelled(settled).await.flatten() {
            Some(delivery) => delivery,
            None if lock(&pending.file).is_some() => Delivery::Kept,
            None => Delivery::Dropped,
        }
    }

    async fn keep(&self, report: StoredReport) -> Option<OutboxFile> {
        let (job, attempt) = (report.job_id.clone(), report.attempt);
        let this = self.clone();
        let kept = tokio::task::spawn_blocking(move || this.0.outbox.keep(&report)).await;
        match kept.map_err(std::io::Error::from).flatten() {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(job, attempt, %error, "cannot write a result to the outbox; a restart would lose it");
                None
            }
        }
    }

    /// Tries every result once.
    pub(super) async fn send_all(&self) {
        let reports: Vec<_> =
            self.lock().reports.iter().map(|(number, pending)| (*number, Arc::clone(pending))).collect();
        futures::stream::iter(reports)
            .for_each_concurrent(MAX_IN_FLIGHT, |(number, pending)| async move {
                if self.send(number, &pending).await.is_some() {
                    let StoredReport { job_id, attempt, .. } = &pending.report;
                    tracing::info!(job = job_id, attempt, "the controller answered a result that had waited");
                }
            })
            .await;
    }

    /// Retries what waits, until the last slot has stopped.
    pub(super) async fn run(self, last: Shutdown) -> Result<(), BoxError> {
        let retry = async {
            let mut delays = retry_delays();
            loop {
                if self.is_empty() {
                    delays = retry_delays();
                    self.0.added.notified().await;
                }
                tokio::time::sleep(delays.next().unwrap_or(MAX_RETRY_DELAY)).await;
                self.send_all().await;
            }
        };
        let _: Option<()> = last.run_until_begun(retry).await;
        Ok(())
    }

    /// Sends a report; `None` if the controller did not answer.
    async fn send(&self, number: u64, pending: &PendingReport) -> Option<Delivery> {
        let _sending = pending.in_flight.lock().await;
        let known = *pending.delivery.borrow();
        if known.is_some() {
            return known;
        }
        let StoredReport { job_id, attempt, .. } = &pending.report;
        let delivery = match self.0.controller.report(wire::report(&pending.report)).await {
            Ok(()) => Delivery::Accepted,
            Err(status) if is_refusal(status.code()) => {
                warn_of(&status, job_id, *attempt, "the controller did not accept a result");
                Delivery::Refused
            }
            Err(status) => {
                tracing::debug!(job = job_id, code = ?status.code(), error = status.message(), "no answer to a report");
                return None;
            }
        };
        if let Some(file) = lock(&pending.file).take() {
            file.remove();
        }
        self.lock().reports.remove(&number);
        self.count();
        pending.delivery.send_replace(Some(delivery));
        Some(delivery)
    }

    fn add(&self, report: StoredReport, file: Option<OutboxFile>) -> (u64, Arc<PendingReport>) {
        let pending = Arc::new(PendingReport {
            report,
            file: Mutex::new(file),
            delivery: watch::Sender::new(None),
            in_flight: tokio::sync::Mutex::new(()),
        });
        let number = {
            let mut reports = self.lock();
            reports.next += 1;
            let number = reports.next;
            reports.reports.insert(number, Arc::clone(&pending));
            number
        };
        self.count();
        (number, pending)
    }

    fn count(&self) {
        self.0.gauge.set(i64::try_from(self.lock().reports.len()).unwrap_or(i64::MAX));
    }

    fn is_empty(&self) -> bool {
        self.lock().reports.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, PendingReports> {
        lock(&self.0.pending)
    }
}

/// Every change is one assignment, so the value is consistent even if its last holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn warn_of(status: &Status, job: &str, attempt: u32, what: &str) {
    tracing::warn!(job, attempt, code = ?status.code(), error = status.message(), "{what}");
}

/// Whether the controller has decided about a report, so that repeating it is of no use. Any other answer may come from a
/// controller that is starting, from a proxy before it, or from a token that is just being rotated.
const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
    )
}

fn retry_delays() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use vmafx_job::ScoreResult;

    use super::*;
    use crate::agent::AgentTimeouts;
    use crate::settings::Settings;

    fn unreachable_controller() -> ControllerClient {
        let settings = Settings::parse_from(["vmafx-node", "--controller-addr", "127.0.0.1:1"]);
        let second = Duration::from_secs(1);
        let timeouts = AgentTimeouts {
            heartbeat_interval: second,
            pull_wait: second,
            call: second,
            shutdown_grace: second,
        };
        ControllerClient::new(&settings.channel.open(&settings.controller_addr).unwrap(), timeouts)
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_waits_for_hours_and_stays_for_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(directory.path()).unwrap().count();
        let (controller, gauge) = (unreachable_controller(), Gauge::default());
        let outbox = || Outbox::open(directory.path()).unwrap();
        let reports = Reports::open(controller.clone(), outbox(), gauge.clone());
        let report = StoredReport {
            node_id: "session".to_owned(),
            session_token: "secret".to_owned(),
            job_id: "job".to_owned(),
            tenant: String::new(),
            attempt: 1,
            result: Ok(ScoreResult::default()),
        };
        let give_up = CancellationToken::new();
        let shutdown = async {
            tokio::time::sleep(Duration::from_hours(3)).await;
            assert_eq!((files(), gauge.get()), (2, 1), "the lock of the directory and the result");
            give_up.cancel();
        };
        let retries = reports.clone().run(Shutdown::new());
        let delivery = tokio::select! {
            (delivery, ()) = async { tokio::join!(reports.deliver(report, &give_up), shutdown) } => delivery,
            _ = retries => panic!("retries end only with the process"),
        };
        assert_eq!(delivery, Delivery::Kept);
        drop(reports);
        let next = Gauge::default();
        let _reports = Reports::open(controller, outbox(), next.clone());
        assert_eq!(next.get(), 1);
    }

    #[test]
    fn only_a_decision_of_the_controller_ends_the_retries() {
        let refusals: Vec<Code> = (0..=16).map(Code::from).filter(|code| is_refusal(*code)).collect();
        assert_eq!(
            refusals,
            [
                Code::InvalidArgument,
                Code::NotFound,
                Code::AlreadyExists,
                Code::PermissionDenied,
                Code::FailedPrecondition,
                Code::OutOfRange,
            ]
        );
    }

    #[test]
    fn the_delays_never_end_and_stay_below_the_shortest_lease() {
        let mut delays = retry_delays();
        // With jitter, a delay is at most twice the maximum.
        assert!((0..10_000).all(|_| delays.next().is_some_and(|delay| delay <= 2 * MAX_RETRY_DELAY)));
    }
}
