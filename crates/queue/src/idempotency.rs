//! Idempotency keys: what a submission means whose key is known.
//!
//! A key belongs to its submitter, so nobody can take the key of another one beforehand, even if it is predictable. It
//! stands for one request: the same request finds its job, another one is refused. A Kubernetes resource is the
//! exception, because its owner may change it between two submissions of its only job: it finds the job, and its
//! operator then updates the job.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::job::{NewJob, Origin};

/// Identifies everything that a submission asks for, apart from its key.
pub(crate) type RequestDigest = [u8; 32];

/// What the store recorded about the job with the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredRequest<'a> {
    /// `None` for a job that was stored before requests were recorded.
    pub(crate) digest: Option<&'a [u8]>,
    /// Cluster and UID of the resource that the job was submitted for.
    pub(crate) resource: Option<(&'a str, &'a str)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// The submission repeats an earlier one.
    Repeated,
    /// The key stands for another request.
    Reused,
}

pub(crate) fn decide(stored: StoredRequest<'_>, new: &NewJob) -> KeyUse {
    let is_same_request = stored.digest.is_none_or(|digest| digest == digest_of(new));
    let is_same_resource =
        stored.resource.is_some() && stored.resource == new.origin.as_ref().and_then(resource);
    if is_same_request || is_same_resource { KeyUse::Repeated } else { KeyUse::Reused }
}

/// Cluster and UID, unless the origin names no object.
fn resource(origin: &Origin) -> Option<(&str, &str)> {
    (!origin.uid.is_empty()).then_some((&*origin.cluster, &*origin.uid))
}

/// A field that is left out counts as one that is null or empty, so that a later version, which has more fields, gets
/// the same digest from the same request.
pub(crate) fn digest_of(job: &NewJob) -> RequestDigest {
    let request = json!({
        "scoring": job.scoring,
        "priority": job.priority,
        "origin": job.origin,
        "maxLostAttempts": job.max_lost_attempts,
        "deadlineMillis": job.deadline.map(|deadline| deadline.as_millis().to_string()),
        "label": job.label.map(|label| label.value().to_bits()),
    });
    let mut hash = Sha256::new();
    add(&mut hash, &request);
    hash.finalize().into()
}

/// Adds a value with its length, so that no two values have the same bytes.
fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !is_empty(value)).collect();
            fields.sort_by_key(|(name, _)| *name);
            hash.update(format!("{{{}:", fields.len()));
            for (name, value) in fields {
                add(hash, &Value::String(name.clone()));
                add(hash, value);
            }
        }
        Value::Array(items) => {
            hash.update(format!("[{}:", items.len()));
            for item in items {
                add(hash, item);
            }
        }
        Value::String(text) => hash.update(format!("\"{}:{text}", text.len())),
        other => hash.update(format!("={other};")),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use vmafx_job::ScoringRequest;

    use super::*;
    use crate::job::Label;

    fn job() -> NewJob {
        let scoring =
            ScoringRequest { reference: "/r".into(), distorted: "/d".into(), ..ScoringRequest::default() };
        NewJob { scoring, ..NewJob::default() }
    }

    fn of_resource(uid: &str) -> NewJob {
        let origin = Origin { cluster: "east".into(), uid: uid.into(), ..Origin::default() };
        NewJob { origin: Some(origin), ..job() }
    }

    #[rstest]
    #[case::scoring(|job: &mut NewJob| job.scoring.distorted = "/e".into())]
    #[case::model(|job: &mut NewJob| job.scoring.model = Some("m".into()))]
    #[case::report(|job: &mut NewJob| job.scoring.report_uri = Some("/r.json".into()))]
    #[case::priority(|job: &mut NewJob| job.priority = 1)]
    #[case::origin(|job: &mut NewJob| job.origin = of_resource("u").origin)]
    #[case::attempts(|job: &mut NewJob| job.max_lost_attempts = Some(1))]
    #[case::deadline(|job: &mut NewJob| job.deadline = Some(Duration::from_secs(1)))]
    #[case::label(|job: &mut NewJob| job.label = Label::percent(0.0).ok())]
    fn everything_that_defines_a_job_is_in_its_digest(#[case] change: fn(&mut NewJob)) {
        let mut other = job();
        change(&mut other);
        assert_ne!(digest_of(&other), digest_of(&job()));
    }

    #[test]
    fn the_key_and_the_submitter_are_not_in_the_digest() {
        let keyed = NewJob { key: crate::IdempotencyKey::new("k").ok(), submitter: "s".into(), ..job() };
        assert_eq!(digest_of(&keyed), digest_of(&job()));
    }

    #[test]
    fn fields_that_are_left_out_and_their_order_do_not_matter() {
        let digest = |value: &Value| {
            let mut hash = Sha256::new();
            add(&mut hash, value);
            hash.finalize()
        };
        let with_more = json!({ "b": [1, { "x": null }], "a": "t", "later": [], "alsoLater": { "y": "" } });
        assert_eq!(digest(&with_more), digest(&json!({ "a": "t", "b": [1, {}] })));
        assert_ne!(digest(&json!({ "a": "bc" })), digest(&json!({ "ab": "c" })));
        assert_ne!(digest(&json!(["a", "b"])), digest(&json!(["ab"])));
    }

    #[rstest]
    #[case::same_request(Some(digest_of(&job())), None, job(), KeyUse::Repeated)]
    #[case::other_request(Some([0; 32]), None, job(), KeyUse::Reused)]
    #[case::before_requests_were_recorded(None, None, job(), KeyUse::Repeated)]
    #[case::changed_resource(Some([0; 32]), Some(("east", "u")), of_resource("u"), KeyUse::Repeated)]
    #[case::other_resource(Some([0; 32]), Some(("east", "v")), of_resource("u"), KeyUse::Reused)]
    #[case::other_cluster(Some([0; 32]), Some(("west", "u")), of_resource("u"), KeyUse::Reused)]
    #[case::no_uid(Some([0; 32]), Some(("east", "")), of_resource(""), KeyUse::Reused)]
    fn a_known_key_is_repeated_or_reused(
        #[case] digest: Option<RequestDigest>,
        #[case] resource: Option<(&str, &str)>,
        #[case] new: NewJob,
        #[case] expected: KeyUse,
    ) {
        let stored = StoredRequest { digest: digest.as_ref().map(|digest| &digest[..]), resource };
        assert_eq!(decide(stored, &new), expected);
    }
}
