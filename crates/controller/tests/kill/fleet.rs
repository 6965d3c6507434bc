//! Those who work and those who submit, none of whom gives up.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tonic::{Code, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::controller::{ALL, Client, client};
use crate::seed::Seed;

/// Longer than a controller and a database take to come back.
const PATIENCE: Duration = Duration::from_mins(1);
const PULL_MS: u32 = 500;
/// One in so many jobs is forgotten by its node, which comes back under another session.
const FORGET: usize = 40;

/// What everybody was told.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The id that was acknowledged for each key.
    pub(crate) submitted: Mutex<HashMap<String, String>>,
    /// What was acknowledged as the end of each job: the attempt and its score.
    pub(crate) reported: Mutex<HashMap<String, (u32, f64)>>,
    /// Every score that was sent, acknowledged or not.
    pub(crate) sent: Mutex<HashMap<String, Vec<f64>>>,
    /// Calls that were answered by nobody, and made again.
    pub(crate) unanswered: AtomicUsize,
    /// Acknowledgements so far.
    progress: AtomicUsize,
    over: AtomicBool,
}

impl Ledger {
    pub(crate) fn progress(&self) -> usize {
        self.progress.load(Ordering::SeqCst)
    }

    pub(crate) fn reports(&self) -> usize {
        self.reported.lock().unwrap().len()
    }

    /// Nodes may go home.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
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

/// Tries until there is an answer: an error of the connection, of a dead store, of a shutdown says nothing.
async fn answer<T, F>(what: &'static str, ledger: &Ledger, call: impl Fn() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    let once = || {
        let asked = call();
        async move {
            match asked.await {
                Err(error) if !is_final(error.code()) => {
                    ledger.unanswered.fetch_add(1, Ordering::SeqCst);
                    Err(error.to_string())
                }
                answer => Ok(answer),
            }
        }
    };
    wait::until(PATIENCE, what, once).await.unwrap()
}

fn is_final(code: Code) -> bool {
    !matches!(
        code,
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
    )
}

/// Submits each of its jobs until it is told that it is stored.
pub(crate) async fn submit(addr: SocketAddr, ledger: Arc<Ledger>, keys: Vec<String>) {
    let client = client(addr, ALL);
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

/// A node: takes a job, reports it until it is told that this is known or not wanted, and takes the next.
pub(crate) async fn work(addr: SocketAddr, ledger: Arc<Ledger>, name: String, mut seed: Seed) {
    let client = client(addr, ALL);
    let mut session = register(&client, &ledger, &name).await;
    while !ledger.is_over() {
        let pull = wire::PullWorkRequest {
            node_id: session.node_id.clone(),
            session_token: session.session_token.clone(),
            capability: Some(capability()),
            wait_ms: PULL_MS,
        };
        let pulled = answer("pull", &ledger, || {
            let (mut client, pull) = (client.clone(), pull.clone());
            async move { client.pull_work(pull).await.map(|answer| answer.into_inner().job) }
        });
        let job = match pulled.await {
            Ok(Some(job)) => job,
            Ok(None) => continue,
            // The session ran out while the controller was away.
            Err(refused) => {
                assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
                session = register(&client, &ledger, &name).await;
                continue;
            }
        };
        if seed.below(FORGET) == 0 {
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
            // Its lease or its session ran out meanwhile: somebody else does it.
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
