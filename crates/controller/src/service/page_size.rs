//! How many jobs fit in one response.
//!
//! gRPC clients refuse a message of more than 4 MiB. A thousand jobs are usually far below that, but three URIs of the
//! permitted length in each of them are not, and a page that no client can read would stop every reader of the list.

use std::collections::BTreeMap;

use vmafx_job::{ScoreDetails, ScoringRequest};
use vmafx_queue::Job;
use vmafx_queue::job::Origin;

/// Half of what a client accepts, because JSON needs more bytes than the estimate.
const MAX_PAGE_BYTES: usize = 2 << 20;

/// Numbers, times, tags and lengths of a job in either encoding.
const FIXED_BYTES: usize = 1024;

/// A number with its tag, or with its digits in JSON.
const NUMBER_BYTES: usize = 32;

/// How many of the jobs fit in one response; at least one, so that a list always makes progress.
pub(super) fn fitting(jobs: &[Job]) -> usize {
    let mut bytes = 0;
    let fits = |job: &&Job| {
        bytes += estimate(job);
        bytes <= MAX_PAGE_BYTES
    };
    jobs.iter().take_while(fits).count().max(1)
}

pub(crate) fn estimate(job: &Job) -> usize {
    let result = job.result.as_ref();
    let texts = [job.node.as_deref().unwrap_or_default(), &job.error];
    FIXED_BYTES
        + texts.iter().map(|text| text.len()).sum::<usize>()
        + scoring(&job.scoring)
        + job.next_scoring.as_ref().map_or(0, scoring)
        + job.last_failure.as_ref().map_or(0, |failure| failure.node.len() + failure.message.len())
        + job.avoids.as_ref().map_or(0, |avoided| avoided.node.len())
        + job.key.as_ref().map_or(0, |key| key.as_str().len())
        + job.origin.as_ref().map_or(0, origin)
        + result.map_or(0, |result| features(&result.features))
        + result.and_then(|result| result.details.as_ref()).map_or(0, details)
}

fn scoring(request: &ScoringRequest) -> usize {
    let optional = [&request.model, &request.report_uri];
    request.reference.len()
        + request.distorted.len()
        + optional.into_iter().flatten().map(String::len).sum::<usize>()
        + request.options.features.len() * NUMBER_BYTES
}

fn origin(origin: &Origin) -> usize {
    origin.cluster.len() + origin.namespace.len() + origin.name.len() + origin.uid.len()
}

fn features(features: &BTreeMap<String, f64>) -> usize {
    features.keys().map(|name| name.len() + NUMBER_BYTES).sum()
}

fn details(details: &ScoreDetails) -> usize {
    let warnings = details.warnings.iter().map(|warning| warning.len() + NUMBER_BYTES);
    details.model.len()
        + details.model_digest.len()
        + details.backend.len()
        + details.report_uri.len()
        + warnings.sum::<usize>()
}
