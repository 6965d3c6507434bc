//! The acknowledgements, compared with the stored jobs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::fleet::Ledger;
use crate::http::Http;

/// Checks the invariants for every job.
pub(crate) async fn audit(http: &Http, ledger: &Ledger, jobs: usize) {
    let submitted = ledger.submitted.lock().unwrap().clone();
    let reported = ledger.reported.lock().unwrap().clone();
    let sent = ledger.sent.lock().unwrap().clone();
    let stored = all(http).await;

    assert_eq!(submitted.len(), jobs, "every submission was acknowledged");
    assert_eq!(stored.len(), jobs, "one job for each key");
    let keys: HashSet<&str> = stored.values().map(|job| job["idempotencyKey"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), jobs, "no key has two jobs");
    for (key, id) in &submitted {
        let job =
            stored.get(id).unwrap_or_else(|| panic!("{key} was acknowledged as {id} but is not stored"));
        assert_eq!(job["idempotencyKey"], *key);
        assert_eq!(job["status"], "completed", "{job}");
        let score = job["score"].as_f64().unwrap();
        assert!(sent[id].contains(&score), "no node reported {score} for {id}: {:?}", sent[id]);
    }
    for (id, (attempt, score)) in &reported {
        let job = &stored[id];
        assert_eq!((&job["score"], &job["attempt"]), (&Value::from(*score), &Value::from(*attempt)), "{job}");
    }
    let mut lost = 0;
    for id in stored.keys() {
        lost += attempts(http, id).await;
    }
    let (unacknowledged, unanswered) = (jobs - reported.len(), ledger.unanswered.load(Ordering::SeqCst));
    eprintln!(
        "{jobs} jobs; {unanswered} calls without an answer; {lost} lost attempts; {unacknowledged} unacknowledged reports"
    );
    assert!(unanswered > 0, "no kill interrupted a call");
}

/// All jobs, by id.
async fn all(http: &Http) -> HashMap<String, Value> {
    let mut jobs = HashMap::new();
    let mut token = String::new();
    loop {
        let page = http.get(&format!("/v1/jobs?pageSize=1000&pageToken={token}")).await.expect(200);
        for job in page["jobs"].as_array().unwrap() {
            let before = jobs.insert(job["id"].as_str().unwrap().to_owned(), job.clone());
            assert!(before.is_none(), "{job} is on two pages");
        }
        page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
        if token.is_empty() {
            return jobs;
        }
    }
}

/// Checks that the attempts of a job are numbered without a gap, have all ended, and that only the last one completed the
/// job. Returns the number of lost attempts.
async fn attempts(http: &Http, id: &str) -> usize {
    let list = http.get(&format!("/v1/jobs/{id}/attempts")).await.expect(200);
    let all = list["attempts"].as_array().unwrap();
    for (number, attempt) in (1..).zip(all) {
        assert_eq!(attempt["number"], number, "{id}: {list}");
        let newest = number == all.len();
        let outcome =
            attempt["outcome"].as_str().unwrap_or_else(|| panic!("{id} has an open attempt: {list}"));
        assert_eq!(outcome == "completed", newest, "{id}: {list}");
        assert!(newest || matches!(outcome, "expired" | "released"), "{id}: {list}");
    }
    all.len() - 1
}
