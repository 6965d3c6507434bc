//! The spec of a job, from a pair of clips and the options.

use vmafx_api::VmafxJobSpec;
use vmafx_api::job as api;
use vmafx_job::Backend;
use vmafx_job::limits::DEFAULT_BACKOFF_LIMIT;
use vmafx_kit::config::GoDuration;

use super::args::{Execution, SubmitArgs};
use crate::submit::pairs::ClipPair;
use crate::view::job::short;

/// The columns of the pair take precedence over the options.
pub(super) fn spec(args: &SubmitArgs, pair: &ClipPair, backend: Option<Backend>) -> VmafxJobSpec {
    let seconds = |duration: GoDuration| duration.0.as_secs();
    VmafxJobSpec {
        reference: pair.reference.clone(),
        distorted: pair.distorted.clone(),
        model: pair.model.clone().or_else(|| args.model.clone()).filter(|model| !model.is_empty()),
        backend: backend.unwrap_or(args.backend),
        priority: pair.priority.unwrap_or(args.priority),
        suspend: args.suspend,
        cancel: false,
        execution: match args.execution {
            Execution::Queue => api::Execution::Queue,
            Execution::Pod => api::Execution::Pod,
        },
        backoff_limit: args.retries.unwrap_or(DEFAULT_BACKOFF_LIMIT.cast_signed()),
        active_deadline_seconds: args
            .deadline
            .map(|limit| i64::try_from(seconds(limit).max(1)).unwrap_or(i64::MAX)),
        ttl_seconds_after_finished: args.ttl.map(|limit| i32::try_from(seconds(limit)).unwrap_or(i32::MAX)),
        input: args.raw.description(),
        scoring: (args.options != api::ScoringOptions::default()).then(|| args.options.clone()),
        min_score: pair.min_score.or(args.min_score),
        ground_truth: pair.label.or(args.label),
        report_uri: pair.report.clone().or_else(|| report(args, &pair.distorted)),
        overwrite_report: args.overwrite_report,
        pod_template: None,
    }
}

/// In a directory, the report is named after the clip.
fn report(args: &SubmitArgs, distorted: &str) -> Option<String> {
    let report = args.report.clone().filter(|uri| !uri.is_empty())?;
    let Some(directory) = report.strip_suffix('/') else { return Some(report) };
    Some(format!("{directory}/{}.json", short(distorted)))
}
