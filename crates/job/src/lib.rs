//! The domain of a scoring job: its request, its result or failure, and every limit.
//!
//! Each concept is declared here once, with its parsing, its text and its tests. The custom resources, the wire, the
//! queue's stored documents, the HTTP API, the command line and libvmaf's adapter convert from these types at their
//! edges. This crate knows no Kubernetes, gRPC, HTTP or database.
//!
//! A new scoring option is one field of [`ScoringOptions`], which brings it to the custom resource, the stored job, the
//! HTTP API, `run-once` and every command line. What remains is its line in `vmafx_proto::convert` and its use in
//! `vmafx_scoring`.
//!
//! | module | holds |
//! |---|---|
//! | `request` | [`ScoringRequest`]: the clips, the model, the backend, the options, the report |
//! | `options` | [`ScoringOptions`]: how frames are chosen, paired and compared |
//! | `feature_engine` | [`FeatureEngine`]: what computes the features |
//! | `raw_video` | [`RawVideo`]: geometry and sample format of a headerless clip |
//! | `confinement` | [`Confinement`]: what confined the process that scored |
//! | `result` | [`ScoreResult`]: the score, its poolings and what it was computed with |
//! | `failure` | [`Failure`], [`FailureReason`] and its [`RetryClass`] |
//! | `cancel` | [`CancelCause`]: why a job was cancelled |
//! | `run_result` | [`RunResult`]: how `vmafx-node run-once` ended, small enough for a termination message |
//! | `report_format` | [`ReportFormat`]: the format of a report, from the file extension of its URI |
//! | `scoring_roots` | [`ScoringRoots`]: the locations that a job is permitted to use |
//! | `limits` | the bounds of every field |
//! | `tenant_limits` | [`TenantLimits`]: what one tenant may hold at the same time |

mod backend;
mod cancel;
mod confinement;
mod failure;
mod feature;
mod feature_engine;
mod length_mismatch;
pub mod limits;
mod named;
mod options;
mod raw_video;
mod report_format;
mod request;
mod result;
mod run_result;
mod scale_to;
mod scoring_roots;
mod tenant_limits;

pub use self::backend::Backend;
pub use self::cancel::CancelCause;
pub use self::confinement::Confinement;
pub use self::failure::{Failure, FailureReason, RetryClass};
pub use self::feature::Feature;
pub use self::feature_engine::FeatureEngine;
pub use self::length_mismatch::LengthMismatch;
pub use self::named::UnknownName;
pub use self::options::{FrameStep, FrameStepError, ScoringOptions};
pub use self::raw_video::{BitDepth, BitDepthError, PixelFormat, RawVideo, SampleFormat};
pub use self::report_format::{ReportFormat, UnknownReportFormat};
pub use self::request::{InvalidRequest, ScoringRequest};
pub use self::result::{ModelUsed, PooledScores, ScoreDetails, ScoreResult};
pub use self::run_result::{MAX_RUN_RESULT_BYTES, RunResult};
pub use self::scale_to::{FrameSize, FrameSizeError, ScaleTo, ScaleToError};
pub use self::scoring_roots::{AddressDenied, AddressError, DenialReason, Location, RootError, ScoringRoots};
pub use self::tenant_limits::{TenantLimit, TenantLimits};
