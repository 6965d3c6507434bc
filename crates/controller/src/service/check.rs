//! Validation of requests.
//!
//! Every rule is here and nowhere else, so that gRPC and HTTP refuse the same requests with the same messages. Lengths
//! are in characters, as in the schema of the custom resources.

mod jobs;
mod node;
mod node_resource;
mod report;
mod text;

pub(super) use self::jobs::{
    cursor, filter, job_id, label, list, page_token, priority, required_key, same_comparison, samples,
    submit, update,
};
pub(super) use self::node::{heartbeat, lost_pulls, pull, register, serves};
pub(super) use self::report::{release, report};
pub(super) use self::text::{abbreviated, free_text, path};

/// Bytes of a free text; a longer one is cut.
const MAX_TEXT_BYTES: usize = 4096;
/// Features of a report.
const MAX_FEATURES: usize = 256;
/// Warnings of a report.
const MAX_WARNINGS: usize = 64;
/// Labels of a node, or of a selector.
const MAX_LABELS: usize = 64;
/// Slots of a node, and so the jobs that a heartbeat names.
const MAX_SLOTS: u32 = 64;
/// Job ids of a filter.
const MAX_JOB_IDS: usize = 1000;
const MAX_PAGE_SIZE: u32 = 1000;
const DEFAULT_PAGE_SIZE: u32 = 100;
/// One more than the highest back-off limit of a resource, because the first attempt is not a retry.
pub const MAX_LOST_ATTEMPTS: u32 = vmafx_job::limits::MAX_BACKOFF_LIMIT + 1;
/// A century.
const MAX_DEADLINE_SECONDS: u64 = 100 * 365 * 24 * 3600;
