//! Nodes and submitters that retry every call until it is answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tonic::{Code, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::seed::Seed;
use vmafx_testkit::wait;

use crate::controller::Client;

/// Longer than a controller and a database take to restart.
const TIMEOUT: Duration = Duration::from_mins(1);
const PULL_MS: u32 = 500;
/// One in this many jobs is abandoned by its node, which then registers a new session.
const ABANDON_ONE_IN: usize = 40;

/// Everything that was sent to the controller and acknowledged by it.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The acknowledged id for each idempotency key.
    pub(crate) submitted: Mutex<HashMap<String, String>>,
    /// The acknowledged report for each job: its attempt and score.
    pub(crate) reported: Mutex<HashMap<String, (u32, f64)>>,
    /// Every score that was sent, acknowledged or not.
    pub(crate) sent: Mutex<HashMap<String, Vec<f64>>>,
    /// Calls without an answer, which were retried.
    pub(crate) unanswered: AtomicUsize,
    /// Number of acknowledgements.
    progress: AtomicUsize,
    closed: AtomicBool,
}

impl Ledger {
    pub(crate) fn progress(&self) -> usize {
        self.progress.load(Ordering::SeqCst)
    }

    pub(crate) fn reports(&self) -> usize {
        self.reported.lock().unwrap().len()
    }

    /// Lets nodes stop.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn acknowledged_submit(&self, key: &str, id: &str) {
        let before = self.submitted.lock().unwrap().insert(key.to_owned(), id.to_owned());
        assert!(before.is_none(), "{key} was acknowledged before");
        self.progress.fetch_add(1, Ordering::SeqCst);
    }

    fn acknowledged_report(&self, id: &str, attempt: u32, score: f64) {
        let before = self.reported.lock().unwrap().insert(id.to_owned(), (attempt, score));
        assert_eq!(before, None, "two reports of {id} were acknowledged");
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
}

/// Retries a call until it has an answer: after an error of the connection, of a dead store or of a shutdown, the caller cannot
/// know whether the call took effect.
async fn answer<T, F>(what: &'static str, ledger: &Ledger, call: impl Fn() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    let once = || {
        let response = call();
        async move {
            match response.await {
                Err(error) if !is_final(error.code()) => {
                    ledger.unanswered.fetch_add(1, Ordering::SeqCst);
                    Err(error.to_string())
                }
                answer => Ok(answer),
            }
        }
    };
    wait::until(TIMEOUT, what, once).await.unwrap()
}

fn is_final(code: Code) -> bool {
    !matches!(
        code,
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
    )
}

/// Submits each job until it is acknowledged.
pub(crate) async fn submit(client: Client, ledger: Arc<Ledger>, keys: Vec<String>) {
    for key in keys {
        let request = wire::SubmitJobRequest {
            scoring: Some(wire::ScoringParams {
                reference: "/clips/r.y4m".into(),
                distorted: "/clips/d.y4m".into(),
                ..Default::default()
            }),
            idempotency_key: key.clone(),
            ..Default::default()
        };
        let stored = answer("submit", &ledger, || {
            let (mut client, request) = (client.clone(), request.clone());
            async move { client.submit_job(request).await }
        });
        let stored = stored.await.unwrap();
        ledger.acknowledged_submit(&key, &stored.into_inner().job_id);
    }
}

/// A node: pulls a job, reports it until the report is acknowledged or refused, and pulls the next one.
pub(crate) async fn work(client: Client, ledger: Arc<Ledger>, name: String, mut seed: Seed) {
    let mut session = register(&client, &ledger, &name).await;
    while !ledger.is_closed() {
        let pull = wire::PullWorkRequest {
            node_id: session.node_id.clone(),
            session_token: session.session_token.clone(),
            capability: Some(capability()),
            wait_ms: PULL_MS,
            ..Default::default()
        };
        let pulled = answer("pull", &ledger, || {
            let (mut client, pull) = (client.clone(), pull.clone());
            async move { client.pull_work(pull).await.map(|answer| answer.into_inner().job) }
        });
        let job = match pulled.await {
            Ok(Some(job)) => job,
            Ok(None) => continue,
            // The session expired while the controller was down.
            Err(refused) => {
                assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
                session = register(&client, &ledger, &name).await;
                continue;
            }
        };
        if seed.below(ABANDON_ONE_IN) == 0 {
            session = register(&client, &ledger, &name).await;
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let score = seed.below(100_000_000) as f64 / 1e6;
        ledger.sent.lock().unwrap().entry(job.id.clone()).or_default().push(score);
        let report = wire::ReportResultRequest {
            node_id: session.node_id.clone(),
            session_token: session.session_token.clone(),
            job_id: job.id.clone(),
            r#final: true,
            score,
            attempt: job.attempt,
            ..Default::default()
        };
        let reported = answer("report", &ledger, || {
            let (mut client, report) = (client.clone(), report.clone());
            async move { client.report_result(report).await }
        });
        match reported.await {
            Ok(_) => ledger.acknowledged_report(&job.id, job.attempt, score),
            // The lease or the session has expired, and another node gets the job.
            Err(refused) => assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}"),
        }
    }
}

async fn register(client: &Client, ledger: &Ledger, name: &str) -> wire::RegisterNodeResponse {
    let request = wire::RegisterNodeRequest {
        name: name.to_owned(),
        capability: Some(capability()),
        ..Default::default()
    };
    let registered = answer("register", ledger, || {
        let (mut client, request) = (client.clone(), request.clone());
        async move { client.register_node(request).await }
    });
    registered.await.unwrap().into_inner()
}

fn capability() -> wire::NodeCapability {
    wire::NodeCapability { backends: vec!["cpu".into()], concurrency: 1, ..Default::default() }
}
