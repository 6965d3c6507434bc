//! Announcements between controllers.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client, NoTls};
use vmafx_job::CancelCause;
use vmafx_job::TenantLimits;
use vmafx_queue::Store as _;
use vmafx_queue::notification::Notification;
use vmafx_queue::store::LabelTarget;
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer, ShutdownMode};
use vmafx_testkit::wait;

use crate::support::{Raw, database, done, job, node, open, take, tenant};

const SOON: Duration = Duration::from_mins(1);

/// Receives notifications up to and including the first matching one.
async fn until(
    received: &mut Receiver<Notification>,
    fits: impl Fn(&Notification) -> bool,
) -> Vec<Notification> {
    let mut all = Vec::new();
    let search = async {
        loop {
            let notification = received.recv().await.unwrap();
            let found = fits(&notification);
            all.push(notification);
            if found {
                return;
            }
        }
    };
    assert!(tokio::time::timeout(SOON, search).await.is_ok(), "not received");
    all
}

fn changed(name: &str) -> impl Fn(&Notification) -> bool {
    let whose = tenant(name);
    move |notification| *notification == Notification::Changed { tenant: whose.clone() }
}

/// Listens on the Postgres channel until it is dropped.
struct Channel {
    messages: UnboundedReceiver<Value>,
    _client: Client,
    _connection: JoinSet<()>,
}

impl Channel {
    async fn on(database: &PostgresDatabase) -> Self {
        let (client, mut connection) = tokio_postgres::connect(database.dsn(), NoTls).await.unwrap();
        let (sender, messages) = unbounded_channel();
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                let AsyncMessage::Notification(notification) = message else { continue };
                let Ok(()) = sender.send(serde_json::from_str(notification.payload()).unwrap()) else {
                    return;
                };
            }
        });
        client.batch_execute("LISTEN vmafx_jobs").await.unwrap();
        Self { messages, _client: client, _connection: driver }
    }

    /// Waits for a message with this value.
    async fn until(&mut self, pointer: &str, value: Value) {
        let search = async {
            while let Some(message) = self.messages.recv().await {
                assert_eq!(message["tenant"], "acme");
                if message.pointer(pointer) == Some(&value) {
                    return;
                }
            }
            panic!("the connection ended");
        };
        assert!(tokio::time::timeout(SOON, search).await.is_ok(), "{pointer} {value} is not channel");
    }
}

#[tokio::test]
async fn every_change_of_a_job_is_announced() {
    let database = database().await;
    let store = open(&database).await;
    let mut channel = Channel::on(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    let id = store.submit(&whose, job("cpu"), &TenantLimits::default()).await.unwrap().id;
    channel.until("/work/cpu", 1.into()).await;
    let taken = take(&*store, &whose, &who).await.unwrap().unwrap();
    channel.until("/changed", true.into()).await;
    store.release(&whose, &who, id, taken.attempt, "").await.unwrap();
    channel.until("/work/cpu", 1.into()).await;
    let taken = take(&*store, &whose, &who).await.unwrap().unwrap();
    channel.until("/changed", true.into()).await;
    store.report(&whose, &who, done(&taken)).await.unwrap();
    channel.until("/changed", true.into()).await;
    let label = vmafx_queue::job::Label::percent(5.0).unwrap();
    store.label(&whose, &LabelTarget::Id(id), label, &vmafx_queue::job::Labeller::default()).await.unwrap();
    channel.until("/sampled", true.into()).await;
    let id = store.submit(&whose, job("cpu"), &TenantLimits::default()).await.unwrap().id;
    channel.until("/work/cpu", 1.into()).await;
    store.cancel(&whose, id, CancelCause::Requested, "").await.unwrap();
    channel.until("/changed", true.into()).await;
    // The last change is announced even if the store is closed at once.
    store.submit(&whose, job("metal"), &TenantLimits::default()).await.unwrap();
    store.close().await;
    channel.until("/work/metal", 1.into()).await;
}

/// An announcement of another controller, optionally one that leaves the claimable jobs out.
fn message(unsaid: bool) -> String {
    format!(
        r#"{{"from":"other","tenant":"acme","work":null,"unsaid":{unsaid},"changed":true,"sampled":false}}"#
    )
}

#[tokio::test]
async fn changes_of_one_controller_reach_the_other() {
    let database = database().await;
    let (here, there) = (open(&database).await, open(&database).await);
    let whose = tenant("acme");
    let mut received = there.notifications();
    let mut new = job("cpu");
    new.label = Some(vmafx_queue::job::Label::percent(5.0).unwrap());
    here.submit(&whose, new, &TenantLimits::default()).await.unwrap();
    let work = Notification::Work { tenant: whose.clone(), backend: "cpu".into(), jobs: 1 };
    until(&mut received, |notification| *notification == work).await;
    let who = here.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    let taken = take(&*here, &whose, &who).await.unwrap().unwrap();
    until(&mut received, changed("acme")).await;
    here.report(&whose, &who, done(&taken)).await.unwrap();
    until(&mut received, |notification| *notification == Notification::Sampled { tenant: whose.clone() })
        .await;
}

#[tokio::test]
async fn every_change_is_notified_once_on_both_controllers() {
    let database = database().await;
    let (here, there) = (open(&database).await, open(&database).await);
    let mut subscribers = [here.notifications(), there.notifications()];
    let backends = ["cpu", "cuda", "hip", "metal", "sycl"];
    for backend in backends.iter().cycle().take(20) {
        here.submit(&tenant("acme"), job(backend), &TenantLimits::default()).await.unwrap();
    }
    // The other store announces this one, so it arrives after everything else.
    there.submit(&tenant("last"), job(""), &TenantLimits::default()).await.unwrap();
    let is_last =
        |it: &Notification| matches!(it, Notification::Work { tenant, .. } if tenant.as_str() == "last");
    for received in &mut subscribers {
        let mut work = BTreeMap::new();
        let mut count = |notifications: Vec<Notification>| {
            for notification in notifications {
                // Several submissions may share an announcement.
                if let Notification::Work { tenant, backend, jobs } = notification
                    && tenant.as_str() == "acme"
                {
                    *work.entry(backend.to_string()).or_default() += jobs;
                }
            }
            work.values().sum::<u32>()
        };
        let mut jobs = count(until(received, is_last).await);
        // The other store notifies its own subscribers first, so announcements of the first one may be in flight.
        while jobs < 20 {
            jobs = count(until(received, |it| matches!(it, Notification::Work { .. })).await);
        }
        assert_eq!(work, backends.map(|backend| (backend.to_owned(), 4)).into());
    }
}

/// Inserts jobs without an announcement. The backend is an SQL expression of `n`, which counts the jobs.
async fn insert_unannounced(raw: &Raw, backend: &str, jobs: u32) {
    raw.run(&format!(
        "SET vmafx.tenant_id = 'acme';
         INSERT INTO vmafx.jobs (id, tenant_id, status, backend, priority, created_at, updated_at, spec)
         SELECT gen_random_uuid(), 'acme', 'pending', {backend}, 0, 1, 1, '{{}}' FROM generate_series(1, {jobs}) n"
    ))
    .await;
}

#[tokio::test]
async fn claimable_jobs_left_out_of_an_announcement_are_queried() {
    let database = database().await;
    let store = open(&database).await;
    let mut received = store.notifications();
    let raw = Raw::connect(database.dsn()).await;
    insert_unannounced(&raw, "'backend-with-a-long-name-' || n", 400).await;
    raw.run(&format!("NOTIFY vmafx_jobs, '{}'", message(true))).await;
    let last = |notification: &Notification| matches!(notification, Notification::Work { backend, .. } if &**backend == "backend-with-a-long-name-99");
    until(&mut received, last).await;
}

/// Simulates a controller that died between its commit and its announcement.
#[tokio::test]
async fn work_that_was_never_announced_is_found() {
    let database = database().await;
    let store = open(&database).await;
    let mut received = store.notifications();
    insert_unannounced(&Raw::connect(database.dsn()).await, "'cuda'", 1).await;
    let work = Notification::Work { tenant: tenant("acme"), backend: "cuda".into(), jobs: 1 };
    let all = until(&mut received, |notification| *notification == work).await;
    assert!(all.contains(&Notification::Changed { tenant: tenant("acme") }));
}

#[tokio::test]
async fn invalid_messages_on_the_channel_are_ignored() {
    let database = database().await;
    let store = open(&database).await;
    let mut received = store.notifications();
    let raw = Raw::connect(database.dsn()).await;
    raw.run("NOTIFY vmafx_jobs, 'rubbish'; NOTIFY vmafx_jobs, '{}'; NOTIFY vmafx_jobs").await;
    raw.run(&format!("NOTIFY vmafx_jobs, '{}'", message(false))).await;
    assert_eq!(until(&mut received, changed("acme")).await.len(), 1);
}

#[tokio::test]
async fn a_listener_that_reconnects_notifies_of_everything() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let (here, there) = (open(&database).await, open(&database).await);
    let mut received = there.notifications();
    here.submit(&tenant("acme"), job("cuda"), &TenantLimits::default()).await.unwrap();
    until(&mut received, |notification| matches!(notification, Notification::Work { .. })).await;
    server.restart(ShutdownMode::Fast).await.unwrap();
    let work = Notification::Work { tenant: tenant("acme"), backend: "cuda".into(), jobs: 1 };
    let all = until(&mut received, |notification| *notification == work).await;
    assert!(all.contains(&Notification::Changed { tenant: tenant("acme") }));
    assert!(all.contains(&Notification::Sampled { tenant: tenant("acme") }));
    // Announcements of the other store arrive again.
    let submit = async || {
        here.submit(&tenant("after"), job(""), &TenantLimits::default())
            .await
            .map_err(|error| error.to_string())
    };
    wait::until(SOON, "the other to be back", submit).await.unwrap();
    until(&mut received, changed("after")).await;
}
