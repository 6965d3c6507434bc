//! `kill -9`.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures::future::join_all;
use vmafx_queue::clock::SteadyClock;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{Options, SqliteStore};
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{JobId, Store as _};

use crate::help::Place;

const FILE: &str = "VMAFX_TEST_CRASH_FILE";

/// Not a test of its own: submits and scores jobs, and says what was acknowledged, until somebody kills it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the victim of another test"]
async fn victim() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let options =
        Options { path: path.into(), policy: Policy::default(), clock: Arc::new(SteadyClock::start()) };
    let store = SqliteStore::open(options).unwrap();
    let place = Place::new();
    let node = place.register(&store).await;
    loop {
        join_all((0..16).map(|_| async {
            println!("submitted {}", place.submit(&store).await);
            if let Some(job) = place.claim(&store, &node).await {
                place.complete(&store, &node, &job).await;
                println!("completed {}", job.id);
            }
        }))
        .await;
    }
}

/// Runs the victim until it has acknowledged so much, and kills it.
fn run_and_kill(place: &Place, lines: usize) -> Vec<(String, JobId)> {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, place.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(victim.stdout.take().unwrap());
    let mut killed = false;
    let mut told = Vec::new();
    // What is still in the pipe after the kill was said before it, and counts too; only a last line may be cut.
    for line in output.lines().map_while(Result::ok) {
        if let Some((what, id)) =
            line.split_once(' ').filter(|(what, _)| ["submitted", "completed"].contains(what))
            && let Ok(id) = id.parse()
        {
            told.push((what.to_owned(), id));
        }
        if told.len() >= lines && !killed {
            victim.kill().unwrap();
            killed = true;
        }
    }
    victim.wait().unwrap();
    told
}

#[tokio::test]
async fn everything_that_was_acknowledged_survives_a_kill() {
    let place = Place::new();
    let mut told = Vec::new();
    for lines in [1, 100, 357] {
        told.extend(run_and_kill(&place, lines));
    }
    assert!(told.len() >= 458, "{}", told.len());

    let store = place.open();
    let page = Page { after: None, limit: 1_000_000, newest_first: false };
    let jobs = store.jobs(&place.tenant, &Filter::default(), &page).await.unwrap();
    let of = |state: Option<State>| -> BTreeSet<JobId> {
        jobs.iter().filter(|job| state.is_none_or(|state| job.state == state)).map(|job| job.id).collect()
    };
    let (all, completed) = (of(None), of(Some(State::Completed)));
    for (what, id) in told {
        let kept = if what == "completed" { &completed } else { &all };
        assert!(kept.contains(&id), "{what} {id} is lost");
    }
}
