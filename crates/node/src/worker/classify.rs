//! The failure reason of each error. Pure, and total: an error that is not listed here is `Internal`.

use std::io::{self, ErrorKind};

use vmafx_job::{Failure, FailureReason};
use vmafx_scoring::engine::models::ModelError;
use vmafx_scoring::engine::{EngineError, NativeError};
use vmafx_scoring::input::InputError;
use vmafx_scoring::score::ScoreError;

use super::path_redactor::PathRedactor;

/// Part of ffmpeg's message when an allocation fails.
const NO_MEMORY: &str = "Cannot allocate memory";

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

pub(super) fn scoring_failure(error: &ScoreError, redactor: &PathRedactor) -> Failure {
    let reason = score_reason(error);
    if let ScoreError::Input(InputError::GeometryMissing { path }) = error {
        // The text of `vmafx-scoring` names options of the `vmafx` command.
        let text = format!(
            "{} has no header that tells its size: set width, height, pixel format and bit depth of the job",
            path.display()
        );
        return Failure::new(reason, redactor.redact(&text));
    }
    if reason == FailureReason::OutOfMemory && matches!(error, ScoreError::Engine(_)) {
        // libvmaf reports nothing but an error number.
        let text = format!("{}: the memory of a job on this node is used up", redactor.message(error));
        return Failure::new(reason, text);
    }
    if reason == FailureReason::Internal && is_libvmaf(error) && memory_is_used_up() {
        let text = format!("{}; probably because its memory was used up", redactor.message(error));
        return Failure::new(FailureReason::OutOfMemory, text);
    }
    Failure::new(reason, redactor.message(error))
}

/// Whether libvmaf failed in the middle of its work. Its threads do not report a failed allocation: a frame just has no
/// value then.
fn is_libvmaf(error: &ScoreError) -> bool {
    matches!(
        error,
        ScoreError::Engine(
            EngineError::Frame { .. } | EngineError::Finish { .. } | EngineError::Missing { .. }
        )
    )
}

/// Whether this process has come close to its memory limit. Memory that was allocated and never touched counts for the
/// limit and not for the resident set, hence half of the limit.
fn memory_is_used_up() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Data).current.unwrap_or(u64::MAX);
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| usage.max_rss().unsigned_abs().saturating_mul(1024));
    used >= limit / 2
}

pub(crate) fn model_failure(error: &ModelError, redactor: &PathRedactor) -> Failure {
    Failure::new(model_reason(error), redactor.message(error))
}

pub(crate) fn input_failure(error: &InputError, redactor: &PathRedactor) -> Failure {
    Failure::new(input_reason(error), redactor.message(error))
}

fn score_reason(error: &ScoreError) -> FailureReason {
    match error {
        ScoreError::Input(error) => input_reason(error),
        ScoreError::Engine(error) => engine_reason(error),
        ScoreError::Zero(_) => FailureReason::OptionsInvalid,
        ScoreError::SizesDiffer { .. } | ScoreError::LengthsDiffer { .. } => FailureReason::ClipsDiffer,
        ScoreError::NoFrames { .. } => FailureReason::InputInvalid,
        // The usual cause is that there is no memory for its stack.
        ScoreError::Memory { .. } | ScoreError::Thread { .. } => FailureReason::OutOfMemory,
        _ => FailureReason::Internal,
    }
}

fn input_reason(error: &InputError) -> FailureReason {
    match error {
        InputError::Open { source, .. } => {
            open_reason(source, FailureReason::InputMissingOnNode, FailureReason::InputDeniedOnNode)
        }
        InputError::Read { source, .. } | InputError::Digest { source, .. } => match source.kind() {
            ErrorKind::OutOfMemory => FailureReason::OutOfMemory,
            _ => FailureReason::SourceUnreachable,
        },
        InputError::Decoder { signal: Some(SIGKILL), .. } => FailureReason::OutOfMemory,
        InputError::Decoder { signal: Some(SIGXCPU), .. } | InputError::ProbeTimeout { .. } => {
            FailureReason::WorkerStalled
        }
        InputError::Decoder { stderr, .. } | InputError::NotVideo { stderr, .. }
            if stderr.contains(NO_MEMORY) =>
        {
            FailureReason::OutOfMemory
        }
        InputError::FfmpegStart { source, .. }
            if matches!(source.kind(), ErrorKind::OutOfMemory | ErrorKind::WouldBlock) =>
        {
            FailureReason::OutOfMemory
        }
        InputError::NotAFile { .. }
        | InputError::Truncated { .. }
        | InputError::NoFrames { .. }
        | InputError::Header { .. }
        | InputError::FrameHeader { .. }
        | InputError::PartialFrame { .. }
        | InputError::TooDeep { .. }
        | InputError::NotVideo { .. }
        | InputError::Playlist { .. }
        | InputError::FormatNotAllowed { .. }
        | InputError::PixelFormat { .. }
        | InputError::Delivered { .. }
        | InputError::Decoder { .. } => FailureReason::InputInvalid,
        InputError::GeometryMissing { .. } | InputError::Geometry { .. } => FailureReason::OptionsInvalid,
        _ => FailureReason::Internal,
    }
}

fn engine_reason(error: &EngineError) -> FailureReason {
    match error {
        EngineError::Model(error) => model_reason(error),
        EngineError::TooSmall { .. } => FailureReason::InputInvalid,
        EngineError::FeatureTooSmall { .. }
        | EngineError::Clash { .. }
        | EngineError::TooMany { .. }
        | EngineError::Nothing => FailureReason::OptionsInvalid,
        EngineError::NotFinite { .. } => FailureReason::ModelInvalid,
        EngineError::TooLong { .. } => FailureReason::InputTooLarge,
        EngineError::NativeFrame { source: NativeError::Mismatch(_), .. }
        | EngineError::NativeFinish { source: NativeError::Mismatch(_), .. } => FailureReason::KernelMismatch,
        // The usual cause is that there is no memory for its stack.
        EngineError::NativeSetup { source: NativeError::Thread(_), .. } => FailureReason::OutOfMemory,
        EngineError::Setup { source, .. }
        | EngineError::Frame { source, .. }
        | EngineError::Finish { source, .. }
        | EngineError::Missing { source, .. }
            if source.code == -libc::ENOMEM =>
        {
            FailureReason::OutOfMemory
        }
        _ => FailureReason::Internal,
    }
}

fn model_reason(error: &ModelError) -> FailureReason {
    match error {
        ModelError::Unknown { .. } => FailureReason::ModelNotFound,
        ModelError::Read { source, .. } => {
            open_reason(source, FailureReason::ModelMissingOnNode, FailureReason::ModelMissingOnNode)
        }
        ModelError::TooSmall { .. } => FailureReason::OptionsInvalid,
        _ => FailureReason::ModelInvalid,
    }
}

fn open_reason(error: &io::Error, not_found: FailureReason, denied: FailureReason) -> FailureReason {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => not_found,
        ErrorKind::PermissionDenied => denied,
        ErrorKind::OutOfMemory => FailureReason::OutOfMemory,
        _ => FailureReason::SourceUnreachable,
    }
}

#[cfg(test)]
mod tests;
