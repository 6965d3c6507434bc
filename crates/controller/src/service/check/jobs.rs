//! Jobs: new ones, and which ones.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_queue::clock::Timestamp;
use vmafx_queue::ids::IdError;
use vmafx_queue::job::Label;
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::{IdempotencyKey, Job, JobId, NewJob};

use super::text::{at_most, origin, shown, word};
use super::{LARGEST_PAGE, LONGEST_DEADLINE_SECONDS, MOST_IDS, MOST_LABELS, MOST_LOST_ATTEMPTS, USUAL_PAGE};
use crate::refusal::Refusal;
use crate::service::request::{GroundTruth, LabelScale, List, ReadSamples, Submit, Which};
use vmafx_job::limits::MAX_NAME_LENGTH;

/// A longer cursor is none of ours.
const LONGEST_CURSOR: usize = 256;
const LONGEST_LABEL_NAME: usize = 317;

/// A submission, roots excepted.
pub(in crate::service) fn submit(request: Submit) -> Result<NewJob, Refusal> {
    request.scoring.check().map_err(|error| Refusal::invalid_request("scoring", error))?;
    if let Some(resource) = &request.origin {
        origin("origin", resource)?;
    }
    if let Some(most) = request.max_lost_attempts
        && !(1..=MOST_LOST_ATTEMPTS).contains(&most)
    {
        let problem = format!("must be between 1 and {MOST_LOST_ATTEMPTS}");
        return Err(Refusal::invalid("max_lost_attempts", problem));
    }
    let deadline = match request.active_deadline_seconds {
        0 => None,
        seconds if seconds <= LONGEST_DEADLINE_SECONDS => Some(Duration::from_secs(seconds)),
        _ => {
            let problem = format!("must be at most {LONGEST_DEADLINE_SECONDS}");
            return Err(Refusal::invalid("active_deadline_seconds", problem));
        }
    };
    let key = match request.idempotency_key.as_str() {
        "" => None,
        key => Some(required_key("idempotency_key", key)?),
    };
    let label = request.ground_truth.map(|truth| label("ground_truth", truth)).transpose()?;
    Ok(NewJob {
        scoring: request.scoring,
        priority: request.priority,
        key,
        origin: request.origin,
        max_lost_attempts: request.max_lost_attempts,
        deadline,
        label,
    })
}

/// A submitter's own name for a job.
pub(in crate::service) fn required_key(field: &str, key: &str) -> Result<IdempotencyKey, Refusal> {
    IdempotencyKey::new(key).map_err(|error| Refusal::invalid(field, id_problem(&error)))
}

fn id_problem(error: &IdError) -> String {
    match error {
        IdError::Empty => "is required".to_owned(),
        IdError::Long(most) => format!("must have at most {most} characters"),
        IdError::Unprintable => "must not contain control characters".to_owned(),
        IdError::Uuid(_) => "must be a UUID".to_owned(),
    }
}

/// What viewers said, on one scale.
pub(in crate::service) fn label(field: &str, truth: GroundTruth) -> Result<Label, Refusal> {
    let label = match truth.scale {
        LabelScale::Percent => Label::percent(truth.value),
        LabelScale::Mos => Label::mos(truth.value),
    };
    label.map_err(|error| Refusal::invalid(format!("{field}.value"), error.to_string()))
}

/// The id of one job. What is no id names no job.
pub(in crate::service) fn job_id(id: &str) -> Result<JobId, Refusal> {
    if id.is_empty() {
        return Err(Refusal::invalid("job_id", "is required"));
    }
    id.parse().map_err(|_| crate::service::read::no_such_job(id))
}

/// Which jobs.
pub(in crate::service) fn which(which: Which) -> Result<Filter, Refusal> {
    if let Some(resource) = &which.origin {
        origin("origin_filter", resource)?;
    }
    at_most("job_ids", which.job_ids.len(), MOST_IDS)?;
    let parse = |(index, id): (usize, &String)| {
        id.parse().map_err(|_| Refusal::invalid(format!("job_ids[{index}]"), "must be a UUID"))
    };
    let ids = which.job_ids.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
    Ok(Filter { states: which.states, origin: which.origin, ids })
}

/// A page.
pub(in crate::service) fn list(request: List) -> Result<(Filter, Page), Refusal> {
    let filter = which(request.which)?;
    let limit = match request.page_size {
        0 => USUAL_PAGE,
        size if size <= LARGEST_PAGE => size,
        _ => return Err(Refusal::invalid("page_size", format!("must be at most {LARGEST_PAGE}"))),
    };
    let after = match request.page_token.as_str() {
        "" => None,
        token => Some(read_token(token, request.newest_first)?),
    };
    Ok((filter, Page { after, limit, newest_first: request.newest_first }))
}

/// Continues a list after a job. The direction is part of it: turned around, a list would repeat itself.
pub(in crate::service) fn page_token(last: &Job, newest_first: bool) -> String {
    let direction = if newest_first { 'd' } else { 'a' };
    format!("{direction}.{}.{}", last.created_at.0, last.id)
}

fn read_token(token: &str, newest_first: bool) -> Result<(Timestamp, JobId), Refusal> {
    let wanted = if newest_first { "d" } else { "a" };
    let parts = || {
        let (direction, rest) = token.split_once('.')?;
        let (created_at, id) = rest.split_once('.')?;
        (direction == wanted).then_some(())?;
        Some((Timestamp(created_at.parse().ok()?), id.parse().ok()?))
    };
    parts().ok_or_else(|| {
        let problem = format!("{:?} is not a token of this list: begin again without one", shown(token));
        Refusal::invalid("page_token", problem)
    })
}

/// A cursor; only the store that made it can tell more.
pub(in crate::service) fn cursor(cursor: &str) -> Result<(), Refusal> {
    if cursor.len() > LONGEST_CURSOR || cursor.chars().any(char::is_control) {
        return Err(vmafx_queue::StoreError::Cursor.into());
    }
    Ok(())
}

/// A reading of samples.
pub(in crate::service) fn samples(request: &ReadSamples) -> Result<(), Refusal> {
    cursor(&request.cursor)?;
    labels("node_selector", &request.node_selector)
}

/// Labels of a node, or a selection by them.
pub(super) fn labels(field: &str, labels: &BTreeMap<String, String>) -> Result<(), Refusal> {
    at_most(field, labels.len(), MOST_LABELS)?;
    for (name, value) in labels {
        if name.is_empty() {
            return Err(Refusal::invalid(field, "has a label without a name"));
        }
        word(field, name, LONGEST_LABEL_NAME)?;
        word(&format!("{field}[{:?}]", shown(name)), value, MAX_NAME_LENGTH)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::ScoringRequest;

    use super::*;

    fn good() -> Submit {
        let scoring =
            ScoringRequest { reference: "/r".into(), distorted: "/d".into(), ..ScoringRequest::default() };
        Submit { scoring, ..Submit::default() }
    }

    const ID: &str = "0192d3f4-0000-7000-8000-000000000001";

    fn labelled(value: f64, scale: LabelScale) -> Submit {
        Submit { ground_truth: Some(GroundTruth { value, scale }), ..good() }
    }

    #[rstest]
    #[case::key(Submit { idempotency_key: "k".repeat(257), ..good() }, "idempotency_key: must have at most 256 characters")]
    #[case::key_control(Submit { idempotency_key: "a\tb".into(), ..good() }, "idempotency_key: must not contain control characters")]
    #[case::no_attempts(Submit { max_lost_attempts: Some(0), ..good() }, "max_lost_attempts: must be between 1 and 101")]
    #[case::attempts(Submit { max_lost_attempts: Some(102), ..good() }, "max_lost_attempts: must be between 1 and 101")]
    #[case::deadline(Submit { active_deadline_seconds: u64::MAX, ..good() }, "active_deadline_seconds: must be at most 3153600000")]
    #[case::percent(labelled(100.5, LabelScale::Percent), "ground_truth.value: 100.5 is outside 0 to 100")]
    #[case::mos(labelled(0.5, LabelScale::Mos), "ground_truth.value: 0.5 is outside 1 to 5")]
    #[case::nan(labelled(f64::NAN, LabelScale::Mos), "ground_truth.value: NaN is outside 1 to 5")]
    #[case::origin(Submit { origin: Some(vmafx_queue::job::Origin { uid: "u".repeat(254), ..Default::default() }), ..good() }, "origin.uid: must have at most 253 characters")]
    #[case::scoring(Submit { scoring: ScoringRequest::default(), ..good() }, "scoring.reference: is required")]
    fn a_refusal_names_the_field_and_the_rule(#[case] asked: Submit, #[case] expected: &str) {
        assert_eq!(submit(asked).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_no_id_names_no_job_and_nothing_is_asked_for() {
        assert_eq!(job_id("").unwrap_err().to_string(), "job_id: is required");
        assert_eq!(job_id("x\"y").unwrap_err(), Refusal::NotFound("job \"x\\\"y\" not found".into()));
    }

    #[rstest]
    #[case("a.5.0192d3f4-0000-7000-8000-000000000001", false, true)]
    #[case("a.5.0192d3f4-0000-7000-8000-000000000001", true, false)]
    #[case("a.5", false, false)]
    #[case("5.0192d3f4-0000-7000-8000-000000000001", false, false)]
    #[case("a.x.0192d3f4-0000-7000-8000-000000000001", false, false)]
    #[case("a..", false, false)]
    fn a_page_token_is_of_its_list(#[case] token: &str, #[case] newest_first: bool, #[case] good: bool) {
        let asked = List { page_token: token.into(), newest_first, ..List::default() };
        assert_eq!(list(asked).is_ok(), good);
    }

    #[rstest]
    #[case(0, Some(100))]
    #[case(1, Some(1))]
    #[case(1000, Some(1000))]
    #[case(1001, None)]
    fn a_page_has_bounds(#[case] asked: u32, #[case] expected: Option<u32>) {
        let page = list(List { page_size: asked, ..List::default() });
        assert_eq!(page.ok().map(|(_, page)| page.limit), expected);
    }

    #[test]
    fn a_filter_names_the_id_that_is_none() {
        let asked = Which { job_ids: vec![ID.to_owned(), "7".into()], ..Which::default() };
        assert_eq!(which(asked).unwrap_err().to_string(), "job_ids[1]: must be a UUID");
        let asked = Which { job_ids: vec![ID.to_owned(); 1001], ..Which::default() };
        assert_eq!(which(asked).unwrap_err().to_string(), "job_ids: must have at most 1000 items");
    }
}
