//! Notices between controllers.

use std::future::poll_fn;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client, NoTls};
use vmafx_job::CancelCause;
use vmafx_queue::Store as _;
use vmafx_queue::notice::Notice;
use vmafx_queue::store::LabelTarget;
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer, ShutdownMode};
use vmafx_testkit::wait;

use crate::support::{Raw, database, done, job, node, open, take, tenant};

const SOON: Duration = Duration::from_mins(1);

/// Everything up to and including the first notice that fits.
async fn until(heard: &mut Receiver<Notice>, fits: impl Fn(&Notice) -> bool) -> Vec<Notice> {
    let mut all = Vec::new();
    let search = async {
        loop {
            let notice = heard.recv().await.unwrap();
            let found = fits(&notice);
            all.push(notice);
            if found {
                return;
            }
        }
    };
    assert!(tokio::time::timeout(SOON, search).await.is_ok(), "not heard");
    all
}

fn changed(name: &str) -> impl Fn(&Notice) -> bool {
    let whose = tenant(name);
    move |notice| *notice == Notice::Changed { tenant: whose.clone() }
}

/// What is said on the channel, for as long as this is kept.
struct Said {
    notices: UnboundedReceiver<Value>,
    _client: Client,
    _connection: JoinSet<()>,
}

impl Said {
    async fn on(database: &PostgresDatabase) -> Self {
        let (client, mut connection) = tokio_postgres::connect(database.dsn(), NoTls).await.unwrap();
        let (sender, notices) = unbounded_channel();
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                let AsyncMessage::Notification(notice) = message else { continue };
                let Ok(()) = sender.send(serde_json::from_str(notice.payload()).unwrap()) else { return };
            }
        });
        client.batch_execute("LISTEN vmafx_jobs").await.unwrap();
        Self { notices, _client: client, _connection: driver }
    }

    /// Waits for a notice that has this.
    async fn until(&mut self, pointer: &str, value: Value) {
        let search = async {
            while let Some(notice) = self.notices.recv().await {
                assert_eq!(notice["tenant"], "acme");
                if notice.pointer(pointer) == Some(&value) {
                    return;
                }
            }
            panic!("the connection ended");
        };
        assert!(tokio::time::timeout(SOON, search).await.is_ok(), "{pointer} {value} is not said");
    }
}

#[tokio::test]
async fn whatever_is_done_to_a_job_is_said_to_the_others() {
    let database = database().await;
    let store = open(&database).await;
    let mut said = Said::on(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n")).await.unwrap();
    let id = store.submit(&whose, job("cpu")).await.unwrap().id;
    said.until("/work/cpu", 1.into()).await;
    let taken = take(&*store, &whose, &who).await.unwrap().unwrap();
    said.until("/changed", true.into()).await;
    store.release(&whose, &who, id, taken.attempt, "").await.unwrap();
    said.until("/work/cpu", 1.into()).await;
    let taken = take(&*store, &whose, &who).await.unwrap().unwrap();
    said.until("/changed", true.into()).await;
    store.report(&whose, &who, done(&taken)).await.unwrap();
    said.until("/changed", true.into()).await;
    let label = vmafx_queue::job::Label::percent(5.0).unwrap();
    store.label(&whose, &LabelTarget::Id(id), label).await.unwrap();
    said.until("/sampled", true.into()).await;
    let id = store.submit(&whose, job("cpu")).await.unwrap().id;
    said.until("/work/cpu", 1.into()).await;
    store.cancel(&whose, id, CancelCause::Requested, "").await.unwrap();
    said.until("/changed", true.into()).await;
    // The last change is said even if the store is closed at once.
    store.submit(&whose, job("last")).await.unwrap();
    store.close().await;
    said.until("/work/last", 1.into()).await;
}

/// What another controller says of changes, and of work that would make it too long.
fn notice(unsaid: bool) -> String {
    format!(
        r#"{{"from":"other","tenant":"acme","work":null,"unsaid":{unsaid},"changed":true,"sampled":false}}"#
    )
}

#[tokio::test]
async fn what_one_controller_does_is_heard_by_the_other() {
    let database = database().await;
    let (here, there) = (open(&database).await, open(&database).await);
    let whose = tenant("acme");
    let mut heard = there.notices();
    let mut new = job("cpu");
    new.label = Some(vmafx_queue::job::Label::percent(5.0).unwrap());
    here.submit(&whose, new).await.unwrap();
    let work = Notice::Work { tenant: whose.clone(), backend: "cpu".into(), jobs: 1 };
    until(&mut heard, |notice| *notice == work).await;
    let who = here.register(&whose, node("n")).await.unwrap();
    let taken = take(&*here, &whose, &who).await.unwrap().unwrap();
    until(&mut heard, changed("acme")).await;
    here.report(&whose, &who, done(&taken)).await.unwrap();
    until(&mut heard, |notice| *notice == Notice::Sampled { tenant: whose.clone() }).await;
}

#[tokio::test]
async fn everything_is_heard_once_here_and_there() {
    let database = database().await;
    let (here, there) = (open(&database).await, open(&database).await);
    let mut listeners = [here.notices(), there.notices()];
    let backends: Vec<String> = (0..20).map(|number| format!("b{number}")).collect();
    let mut sorted = backends.clone();
    sorted.sort();
    for backend in &backends {
        here.submit(&tenant("acme"), job(backend)).await.unwrap();
    }
    // Told by the other one, and hence after everything else on its way through the server.
    there.submit(&tenant("last"), job("")).await.unwrap();
    for heard in &mut listeners {
        let all =
            until(heard, |notice| matches!(notice, Notice::Work { tenant, .. } if tenant.as_str() == "last"))
                .await;
        let mut work: Vec<_> = all
            .iter()
            .filter_map(|notice| match notice {
                Notice::Work { tenant, backend, .. } if tenant.as_str() == "acme" => {
                    Some(backend.to_string())
                }
                _ => None,
            })
            .collect();
        // The other one tells its own first, so its listener may still be on the way.
        while work.len() < backends.len() {
            let more = until(heard, |notice| matches!(notice, Notice::Work { .. })).await;
            work.extend(more.iter().filter_map(|notice| match notice {
                Notice::Work { backend, .. } => Some(backend.to_string()),
                _ => None,
            }));
        }
        // Several submissions may share a notice.
        work.sort();
        assert_eq!(work, sorted);
    }
}

/// Puts jobs into the table behind every controller's back. The backend is an expression of `n`, which counts them.
async fn without_a_word(raw: &Raw, backend: &str, jobs: u32) {
    raw.run(&format!(
        "SET vmafx.tenant_id = 'acme';
         INSERT INTO vmafx.jobs (id, tenant_id, status, backend, priority, created_at, updated_at, spec)
         SELECT gen_random_uuid(), 'acme', 'pending', {backend}, 0, 1, 1, '{{}}' FROM generate_series(1, {jobs}) n"
    ))
    .await;
}

#[tokio::test]
async fn a_notice_that_is_too_long_is_looked_for_instead() {
    let database = database().await;
    let store = open(&database).await;
    let mut heard = store.notices();
    let raw = Raw::connect(database.dsn()).await;
    without_a_word(&raw, "'backend-with-a-long-name-' || n", 400).await;
    raw.run(&format!("NOTIFY vmafx_jobs, '{}'", notice(true))).await;
    let last = |notice: &Notice| matches!(notice, Notice::Work { backend, .. } if &**backend == "backend-with-a-long-name-99");
    until(&mut heard, last).await;
}

/// As by a controller that died between its commit and its notice.
#[tokio::test]
async fn work_that_nobody_told_of_is_found() {
    let database = database().await;
    let store = open(&database).await;
    let mut heard = store.notices();
    without_a_word(&Raw::connect(database.dsn()).await, "'cuda'", 1).await;
    let work = Notice::Work { tenant: tenant("acme"), backend: "cuda".into(), jobs: 1 };
    let all = until(&mut heard, |notice| *notice == work).await;
    assert!(all.contains(&Notice::Changed { tenant: tenant("acme") }));
}

#[tokio::test]
async fn rubbish_on_the_channel_is_passed_over() {
    let database = database().await;
    let store = open(&database).await;
    let mut heard = store.notices();
    let raw = Raw::connect(database.dsn()).await;
    raw.run("NOTIFY vmafx_jobs, 'rubbish'; NOTIFY vmafx_jobs, '{}'; NOTIFY vmafx_jobs").await;
    raw.run(&format!("NOTIFY vmafx_jobs, '{}'", notice(false))).await;
    assert_eq!(until(&mut heard, changed("acme")).await.len(), 1);
}

#[tokio::test]
async fn whoever_was_deaf_for_a_while_is_told_to_look_at_everything() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let (here, there) = (open(&database).await, open(&database).await);
    let mut heard = there.notices();
    here.submit(&tenant("acme"), job("cuda")).await.unwrap();
    until(&mut heard, |notice| matches!(notice, Notice::Work { .. })).await;
    server.restart(ShutdownMode::Fast).await.unwrap();
    let work = Notice::Work { tenant: tenant("acme"), backend: "cuda".into(), jobs: 1 };
    let all = until(&mut heard, |notice| *notice == work).await;
    assert!(all.contains(&Notice::Changed { tenant: tenant("acme") }));
    assert!(all.contains(&Notice::Sampled { tenant: tenant("acme") }));
    // And hears the other one again.
    let submit = async || here.submit(&tenant("after"), job("")).await.map_err(|error| error.to_string());
    wait::until(SOON, "the other to be back", submit).await.unwrap();
    until(&mut heard, changed("after")).await;
}
