//! What a request must look like.
//!
//! Every rule stands here and nowhere else: gRPC and HTTP refuse the same things in the same words. Lengths are in
//! characters, as in the schema of the custom resources.

mod jobs;
mod node;
mod report;
mod text;

pub(super) use self::jobs::{cursor, job_id, label, list, page_token, required_key, samples, submit, which};
pub(super) use self::node::{heartbeat, pull, register};
pub(super) use self::report::{release, report};
pub(super) use self::text::{path, shown, text};

/// Most bytes of a text for people; a longer one is cut.
pub const LONGEST_TEXT: usize = 4096;
/// Most features of a report.
pub const MOST_FEATURES: usize = 256;
/// Most warnings of a report.
pub const MOST_WARNINGS: usize = 64;
/// Most labels of a node, or of a selector.
pub const MOST_LABELS: usize = 64;
/// Most slots of a node: a heartbeat names no more jobs.
pub const MOST_SLOTS: u32 = 64;
/// Most ids of a filter.
pub const MOST_IDS: usize = 1000;
/// Most jobs of a page.
pub const LARGEST_PAGE: u32 = 1000;
/// Jobs of a page when its size is not told.
pub const USUAL_PAGE: u32 = 100;
/// Most lost attempts: one more than the retries that a resource can ask for.
pub const MOST_LOST_ATTEMPTS: u32 = vmafx_job::limits::MAX_BACKOFF_LIMIT + 1;
/// The longest deadline, a century.
pub const LONGEST_DEADLINE_SECONDS: u64 = 100 * 365 * 24 * 3600;
