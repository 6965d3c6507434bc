//! Validation of requests about jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_queue::clock::Timestamp;
use vmafx_queue::ids::IdError;
use vmafx_queue::job::{DeadlineUpdate, JobUpdate, Label, Labeller};
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::{IdempotencyKey, Job, JobId, NewJob};

use super::text::{abbreviated, at_most, identifier, origin};
use super::{
    DEFAULT_PAGE_SIZE, MAX_DEADLINE_SECONDS, MAX_JOB_IDS, MAX_LABELS, MAX_LOST_ATTEMPTS, MAX_PAGE_SIZE,
};
use crate::identity::{Role, Roles};
use crate::refusal::Refusal;
use crate::service::request::{
    GroundTruth, JobFilter, LabelScale, ListJobs, StreamSamples, SubmitJob, UpdateJob,
};
use vmafx_job::ScoringRequest;
use vmafx_job::limits::MAX_NAME_LENGTH;

/// Longer than any cursor that the store makes.
const MAX_CURSOR_BYTES: usize = 256;
const MAX_LABEL_NAME_LENGTH: usize = 317;

/// Validates everything but the scoring roots.
pub(in crate::service) fn submit(request: SubmitJob) -> Result<NewJob, Refusal> {
    request.scoring.check().map_err(|error| Refusal::invalid_request("scoring", error))?;
    if let Some(resource) = &request.origin {
        origin("origin", resource)?;
    }
    lost_attempts(request.max_lost_attempts)?;
    let deadline = deadline(request.active_deadline_seconds)?;
    let key = match request.idempotency_key.as_str() {
        "" => None,
        key => Some(required_key("idempotency_key", key)?),
    };
    let label = request.ground_truth.map(|truth| label("ground_truth", truth)).transpose()?;
    Ok(NewJob {
        scoring: request.scoring,
        priority: request.priority,
        key,
        submitter: String::new(),
        origin: request.origin,
        max_lost_attempts: request.max_lost_attempts,
        deadline,
        label,
        labelled_by: Labeller::default(),
    })
}

/// Validates everything but the scoring roots and that the job compares the same clips.
pub(in crate::service) fn update(request: UpdateJob) -> Result<JobUpdate, Refusal> {
    if let Some(scoring) = &request.scoring {
        scoring.check().map_err(|error| Refusal::invalid_request("scoring", error))?;
    }
    lost_attempts(request.max_lost_attempts)?;
    let deadline = request.active_deadline_seconds.map(deadline).transpose()?;
    Ok(JobUpdate {
        scoring: request.scoring,
        priority: request.priority,
        max_lost_attempts: request.max_lost_attempts,
        deadline: deadline.map(|length| length.map_or(DeadlineUpdate::Never, DeadlineUpdate::After)),
    })
}

/// Refuses a change of what is compared.
pub(in crate::service) fn same_comparison(
    current: &ScoringRequest,
    requested: &ScoringRequest,
) -> Result<(), Refusal> {
    let same = [
        ("reference", current.reference == requested.reference),
        ("distorted", current.distorted == requested.distorted),
        ("model", current.model == requested.model),
        ("backend", current.backend == requested.backend),
    ];
    match same.into_iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((field, _)) => Err(Refusal::invalid(
            super::path("scoring", field),
            "cannot be changed; cancel this job and submit a new one",
        )),
    }
}

/// Admins may give any priority; everybody else up to `max`, and with a minus sign down to it.
pub(in crate::service) fn priority(roles: Roles, priority: i32, max: i32) -> Result<(), Refusal> {
    if roles.intersects(Roles::of(&[Role::Admin])) || (-max..=max).contains(&priority) {
        return Ok(());
    }
    let problem = format!(
        "must be between {} and {max} (VMAFX_LIMITS_WRITER_PRIORITY), unless the caller has the role {}",
        -max,
        Role::Admin.name()
    );
    Err(Refusal::invalid("priority", problem))
}

fn lost_attempts(limit: Option<u32>) -> Result<(), Refusal> {
    match limit {
        Some(limit) if !(1..=MAX_LOST_ATTEMPTS).contains(&limit) => {
            Err(Refusal::invalid("max_lost_attempts", format!("must be between 1 and {MAX_LOST_ATTEMPTS}")))
        }
        _ => Ok(()),
    }
}

/// 0 is no deadline.
fn deadline(seconds: u64) -> Result<Option<Duration>, Refusal> {
    match seconds {
        0 => Ok(None),
        seconds if seconds <= MAX_DEADLINE_SECONDS => Ok(Some(Duration::from_secs(seconds))),
        _ => {
            let problem = format!("must be at most {MAX_DEADLINE_SECONDS}");
            Err(Refusal::invalid("active_deadline_seconds", problem))
        }
    }
}

pub(in crate::service) fn required_key(field: &str, key: &str) -> Result<IdempotencyKey, Refusal> {
    IdempotencyKey::new(key).map_err(|error| Refusal::invalid(field, id_problem(&error)))
}

fn id_problem(error: &IdError) -> String {
    match error {
        IdError::Empty => "is required".to_owned(),
        IdError::Long(max) => format!("must have at most {max} characters"),
        IdError::Unprintable => "must not contain control characters".to_owned(),
        IdError::Uuid(_) => "must be a UUID".to_owned(),
    }
}

/// Converts a ground truth to percent.
pub(in crate::service) fn label(field: &str, truth: GroundTruth) -> Result<Label, Refusal> {
    let label = match truth.scale {
        LabelScale::Percent => Label::percent(truth.value),
        LabelScale::Mos => Label::mos(truth.value),
    };
    label.map_err(|error| Refusal::invalid(format!("{field}.value"), error.to_string()))
}

/// A malformed id is reported as a job that does not exist.
pub(in crate::service) fn job_id(id: &str) -> Result<JobId, Refusal> {
    if id.is_empty() {
        return Err(Refusal::invalid("job_id", "is required"));
    }
    id.parse().map_err(|_| crate::service::read::no_such_job(id))
}

pub(in crate::service) fn filter(filter: JobFilter) -> Result<Filter, Refusal> {
    if let Some(resource) = &filter.origin {
        origin("origin_filter", resource)?;
    }
    at_most("job_ids", filter.job_ids.len(), MAX_JOB_IDS)?;
    let parse = |(index, id): (usize, &String)| {
        id.parse().map_err(|_| Refusal::invalid(format!("job_ids[{index}]"), "must be a UUID"))
    };
    let ids = filter.job_ids.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
    Ok(Filter { states: filter.states, origin: filter.origin, ids })
}

pub(in crate::service) fn list(request: ListJobs) -> Result<(Filter, Page), Refusal> {
    let filter = filter(request.filter)?;
    let limit = match request.page_size {
        0 => DEFAULT_PAGE_SIZE,
        size if size <= MAX_PAGE_SIZE => size,
        _ => return Err(Refusal::invalid("page_size", format!("must be at most {MAX_PAGE_SIZE}"))),
    };
    let after = match request.page_token.as_str() {
        "" => None,
        token => Some(parse_page_token(token, request.newest_first)?),
    };
    Ok((filter, Page { after, limit, newest_first: request.newest_first }))
}

/// Continues a list after a job. The token holds the direction, because a list that is reversed would repeat jobs.
pub(in crate::service) fn page_token(last: &Job, newest_first: bool) -> String {
    let direction = if newest_first { 'd' } else { 'a' };
    format!("{direction}.{}.{}", last.created_at.0, last.id)
}

fn parse_page_token(token: &str, newest_first: bool) -> Result<(Timestamp, JobId), Refusal> {
    let expected = if newest_first { "d" } else { "a" };
    let parts = || {
        let (direction, rest) = token.split_once('.')?;
        let (created_at, id) = rest.split_once('.')?;
        (direction == expected).then_some(())?;
        Some((Timestamp(created_at.parse().ok()?), id.parse().ok()?))
    };
    parts().ok_or_else(|| {
        let problem =
            format!("{:?} is not a token of this list; list again without a token", abbreviated(token));
        Refusal::invalid("page_token", problem)
    })
}

/// Checks what every cursor has in common; the store parses it.
pub(in crate::service) fn cursor(cursor: &str) -> Result<(), Refusal> {
    if cursor.len() > MAX_CURSOR_BYTES || cursor.chars().any(char::is_control) {
        return Err(vmafx_queue::StoreError::Cursor.into());
    }
    Ok(())
}

pub(in crate::service) fn samples(request: &StreamSamples) -> Result<(), Refusal> {
    cursor(&request.cursor)?;
    labels("node_selector", &request.node_selector)
}

/// Validates the labels of a node or of a selector.
pub(super) fn labels(field: &str, labels: &BTreeMap<String, String>) -> Result<(), Refusal> {
    at_most(field, labels.len(), MAX_LABELS)?;
    for (name, value) in labels {
        if name.is_empty() {
            return Err(Refusal::invalid(field, "has a label without a name"));
        }
        identifier(field, name, MAX_LABEL_NAME_LENGTH)?;
        identifier(&format!("{field}[{:?}]", abbreviated(name)), value, MAX_NAME_LENGTH)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn good() -> SubmitJob {
        let scoring =
            ScoringRequest { reference: "/r".into(), distorted: "/d".into(), ..ScoringRequest::default() };
        SubmitJob { scoring, ..SubmitJob::default() }
    }

    const ID: &str = "0192d3f4-0000-7000-8000-000000000001";

    fn labelled(value: f64, scale: LabelScale) -> SubmitJob {
        SubmitJob { ground_truth: Some(GroundTruth { value, scale }), ..good() }
    }

    #[rstest]
    #[case::key(SubmitJob { idempotency_key: "k".repeat(257), ..good() }, "idempotency_key: must have at most 256 characters")]
    #[case::key_control(SubmitJob { idempotency_key: "a\tb".into(), ..good() }, "idempotency_key: must not contain control characters")]
    #[case::no_attempts(SubmitJob { max_lost_attempts: Some(0), ..good() }, "max_lost_attempts: must be between 1 and 101")]
    #[case::attempts(SubmitJob { max_lost_attempts: Some(102), ..good() }, "max_lost_attempts: must be between 1 and 101")]
    #[case::deadline(SubmitJob { active_deadline_seconds: u64::MAX, ..good() }, "active_deadline_seconds: must be at most 3153600000")]
    #[case::percent(labelled(100.5, LabelScale::Percent), "ground_truth.value: 100.5 is outside 0 to 100")]
    #[case::mos(labelled(0.5, LabelScale::Mos), "ground_truth.value: 0.5 is outside 1 to 5")]
    #[case::nan(labelled(f64::NAN, LabelScale::Mos), "ground_truth.value: NaN is outside 1 to 5")]
    #[case::origin(SubmitJob { origin: Some(vmafx_queue::job::Origin { uid: "u".repeat(254), ..Default::default() }), ..good() }, "origin.uid: must have at most 253 characters")]
    #[case::scoring(SubmitJob { scoring: ScoringRequest::default(), ..good() }, "scoring.reference: is required")]
    fn a_refusal_names_the_field_and_the_rule(#[case] asked: SubmitJob, #[case] expected: &str) {
        assert_eq!(submit(asked).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case::attempts(UpdateJob { max_lost_attempts: Some(0), ..UpdateJob::default() }, "max_lost_attempts: must be between 1 and 101")]
    #[case::deadline(UpdateJob { active_deadline_seconds: Some(u64::MAX), ..UpdateJob::default() }, "active_deadline_seconds: must be at most 3153600000")]
    #[case::scoring(UpdateJob { scoring: Some(ScoringRequest::default()), ..UpdateJob::default() }, "scoring.reference: is required")]
    fn an_update_follows_the_rules_of_a_submission(#[case] asked: UpdateJob, #[case] expected: &str) {
        assert_eq!(update(asked).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case::writer(&[Role::Writer], 1000, true)]
    #[case::lowest(&[Role::Writer], -1000, true)]
    #[case::too_high(&[Role::Writer], 1001, false)]
    #[case::too_low(&[Role::Writer, Role::Node], i32::MIN, false)]
    #[case::admin(&[Role::Writer, Role::Admin], i32::MAX, true)]
    fn only_an_admin_gives_a_priority_beyond_the_range(
        #[case] roles: &[Role],
        #[case] asked: i32,
        #[case] good: bool,
    ) {
        let checked = priority(Roles::of(roles), asked, 1000);
        let refused = "priority: must be between -1000 and 1000 (VMAFX_LIMITS_WRITER_PRIORITY), unless the caller has the \
                       role vmafx:admin";
        assert_eq!(
            checked.map_err(|refusal| refusal.to_string()),
            if good { Ok(()) } else { Err(refused.into()) }
        );
    }

    #[test]
    fn another_comparison_is_another_job() {
        let current = good().scoring;
        let longer = ScoringRequest { report_uri: Some("/r.json".into()), ..current.clone() };
        assert_eq!(same_comparison(&current, &longer), Ok(()));
        let other = ScoringRequest { model: Some("m".into()), ..current.clone() };
        let refusal = same_comparison(&current, &other).unwrap_err().to_string();
        assert_eq!(refusal, "scoring.model: cannot be changed; cancel this job and submit a new one");
    }

    #[test]
    fn a_malformed_id_is_not_found_and_an_empty_id_is_invalid() {
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
    fn a_page_token_is_valid_for_its_list_only(
        #[case] token: &str,
        #[case] newest_first: bool,
        #[case] good: bool,
    ) {
        let asked = ListJobs { page_token: token.into(), newest_first, ..ListJobs::default() };
        assert_eq!(list(asked).is_ok(), good);
    }

    #[rstest]
    #[case(0, Some(100))]
    #[case(1, Some(1))]
    #[case(1000, Some(1000))]
    #[case(1001, None)]
    fn a_page_size_has_bounds(#[case] asked: u32, #[case] expected: Option<u32>) {
        let page = list(ListJobs { page_size: asked, ..ListJobs::default() });
        assert_eq!(page.ok().map(|(_, page)| page.limit), expected);
    }

    #[test]
    fn a_refused_filter_names_the_malformed_id() {
        let asked = JobFilter { job_ids: vec![ID.to_owned(), "7".into()], ..JobFilter::default() };
        assert_eq!(filter(asked).unwrap_err().to_string(), "job_ids[1]: must be a UUID");
        let asked = JobFilter { job_ids: vec![ID.to_owned(); 1001], ..JobFilter::default() };
        assert_eq!(filter(asked).unwrap_err().to_string(), "job_ids: must have at most 1000 items");
    }
}
