//! Crashes (`kill -9`).

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures::future::join_all;
use vmafx_queue::clock::SystemClock;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{JobId, Store as _};

use crate::fixture::Fixture;

const FILE: &str = "VMAFX_TEST_CRASH_FILE";

/// Not a test of its own: submits and completes jobs and prints what was acknowledged, until it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the victim of another test"]
async fn victim() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let options = Options {
        path: path.into(),
        policy: Policy::default(),
        clock: Arc::new(SystemClock::default()),
        reserve: 1 << 20,
    };
    let store = SqliteStore::open(options).unwrap();
    let fixture = Fixture::new();
    let node = fixture.register(&store).await;
    loop {
        join_all((0..16).map(|_| async {
            println!("submitted {}", fixture.submit(&store).await);
            if let Some(job) = fixture.claim(&store, &node).await {
                fixture.complete(&store, &node, &job).await;
                println!("completed {}", job.id);
            }
        }))
        .await;
    }
}

/// Runs the victim until it has printed `lines` acknowledgements, and kills it.
fn run_and_kill(fixture: &Fixture, lines: usize) -> Vec<(String, JobId)> {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, fixture.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(victim.stdout.take().unwrap());
    let mut killed = false;
    let mut acknowledged = Vec::new();
    // Lines that are still in the pipe were printed before the kill and count too; only the last one may be
    // truncated.
    for line in output.lines().map_while(Result::ok) {
        if let Some((what, id)) =
            line.split_once(' ').filter(|(what, _)| ["submitted", "completed"].contains(what))
            && let Ok(id) = id.parse()
        {
            acknowledged.push((what.to_owned(), id));
        }
        if acknowledged.len() >= lines && !killed {
            victim.kill().unwrap();
            killed = true;
        }
    }
    victim.wait().unwrap();
    acknowledged
}

#[tokio::test]
async fn everything_that_was_acknowledged_survives_a_kill() {
    let fixture = Fixture::new();
    let mut acknowledged = Vec::new();
    for lines in [1, 100, 357] {
        acknowledged.extend(run_and_kill(&fixture, lines));
    }
    assert!(acknowledged.len() >= 458, "{}", acknowledged.len());

    let store = fixture.open();
    let page = Page { after: None, limit: 1_000_000, newest_first: false };
    let jobs = store.jobs(&fixture.tenant, &Filter::default(), &page).await.unwrap();
    let of = |state: Option<State>| -> BTreeSet<JobId> {
        jobs.iter().filter(|job| state.is_none_or(|state| job.state == state)).map(|job| job.id).collect()
    };
    let (all, completed) = (of(None), of(Some(State::Completed)));
    for (what, id) in acknowledged {
        let kept = if what == "completed" { &completed } else { &all };
        assert!(kept.contains(&id), "{what} {id} is lost");
    }
}
