//! Which reason each error has. Pure, and total: what is not known here is a fault of ours.

use std::io::{self, ErrorKind};

use vmafx_scoring::engine::models::ModelError;
use vmafx_scoring::engine::{self, EngineError};
use vmafx_scoring::input::InputError;
use vmafx_scoring::score::ScoreError;

use super::names::Names;
use crate::failure::{Failure, Reason};

/// What a decoder says when its memory is limited.
const NO_MEMORY: &str = "Cannot allocate memory";

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// The failure of a job whose comparison failed.
pub(super) fn failure(error: &ScoreError, names: &Names) -> Failure {
    let reason = of_score(error);
    if let ScoreError::Input(InputError::GeometryMissing { path }) = error {
        // The engine's own text speaks of options of a command.
        let text = format!(
            "{} has no header that tells its size: set width, height, pixel format and bit depth of the job",
            path.display()
        );
        return Failure::new(reason, names.in_words(&text));
    }
    if reason == Reason::OutOfMemory && matches!(error, ScoreError::Engine(_)) {
        // libvmaf's own word for it is a number.
        let text = format!("{}: the memory that a job has here is used up", names.message(error));
        return Failure::new(reason, text);
    }
    if reason == Reason::Internal && is_libvmaf(error) && memory_is_used_up() {
        let text = format!("{}; probably because its memory was used up", names.message(error));
        return Failure::new(Reason::OutOfMemory, text);
    }
    Failure::new(reason, names.message(error))
}

/// Whether libvmaf failed in the middle of its work. Its threads do not say that memory was short: a frame has no value
/// then.
fn is_libvmaf(error: &ScoreError) -> bool {
    matches!(
        error,
        ScoreError::Engine(
            EngineError::Frame { .. } | EngineError::Finish { .. } | EngineError::Missing { .. }
        )
    )
}

/// Whether this process has come close to its limit. What counts for the limit and was never touched is not seen, hence
/// half of it.
fn memory_is_used_up() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Data).current.unwrap_or(u64::MAX);
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| usage.max_rss().unsigned_abs().saturating_mul(1024));
    used >= limit / 2
}

/// The failure of a job whose model cannot be used.
pub(crate) fn model_failure(error: &ModelError, names: &Names) -> Failure {
    Failure::new(of_model(error), names.message(error))
}

/// The failure of a job one of whose clips cannot be read.
pub(crate) fn input_failure(error: &InputError, names: &Names) -> Failure {
    Failure::new(of_input(error), names.message(error))
}

fn of_score(error: &ScoreError) -> Reason {
    match error {
        ScoreError::Input(error) => of_input(error),
        ScoreError::Engine(error) => of_engine(error),
        ScoreError::Zero(_) => Reason::OptionsInvalid,
        ScoreError::SizesDiffer { .. } | ScoreError::LengthsDiffer { .. } => Reason::ClipsDiffer,
        ScoreError::NoFrames { .. } => Reason::InputInvalid,
        // A thread cannot be started when there is no room for its stack.
        ScoreError::Memory { .. } | ScoreError::Thread { .. } => Reason::OutOfMemory,
        _ => Reason::Internal,
    }
}

fn of_input(error: &InputError) -> Reason {
    match error {
        InputError::Open { source, .. } => of_opening(source, Reason::InputNotFound, Reason::InputDenied),
        InputError::Read { source, .. } | InputError::Digest { source, .. } => match source.kind() {
            ErrorKind::OutOfMemory => Reason::OutOfMemory,
            _ => Reason::SourceUnreachable,
        },
        InputError::Decoder { signal: Some(SIGKILL), .. } => Reason::OutOfMemory,
        InputError::Decoder { signal: Some(SIGXCPU), .. } | InputError::ProbeTimeout { .. } => {
            Reason::WorkerStalled
        }
        InputError::Decoder { stderr, .. } | InputError::NotVideo { stderr, .. }
            if stderr.contains(NO_MEMORY) =>
        {
            Reason::OutOfMemory
        }
        InputError::FfmpegStart { source, .. }
            if matches!(source.kind(), ErrorKind::OutOfMemory | ErrorKind::WouldBlock) =>
        {
            Reason::OutOfMemory
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
        | InputError::PixelFormat { .. }
        | InputError::Delivered { .. }
        | InputError::Decoder { .. } => Reason::InputInvalid,
        InputError::GeometryMissing { .. } | InputError::Geometry { .. } => Reason::OptionsInvalid,
        _ => Reason::Internal,
    }
}

fn of_engine(error: &EngineError) -> Reason {
    match error {
        EngineError::Model(error) => of_model(error),
        EngineError::TooSmall { .. } => Reason::InputInvalid,
        EngineError::FeatureTooSmall { .. }
        | EngineError::Clash { .. }
        | EngineError::TooMany { .. }
        | EngineError::Nothing => Reason::OptionsInvalid,
        EngineError::NotFinite { .. } => Reason::ModelInvalid,
        EngineError::TooLong { .. } => Reason::InputTooLarge,
        EngineError::Setup { source, .. }
        | EngineError::Frame { source, .. }
        | EngineError::Finish { source, .. }
        | EngineError::Missing { source, .. } => of_libvmaf(*source),
        _ => Reason::Internal,
    }
}

fn of_model(error: &ModelError) -> Reason {
    match error {
        ModelError::Unknown { .. } => Reason::ModelNotFound,
        ModelError::Read { source, .. } => of_opening(source, Reason::ModelNotFound, Reason::ModelInvalid),
        ModelError::TooSmall { .. } => Reason::OptionsInvalid,
        _ => Reason::ModelInvalid,
    }
}

fn of_libvmaf(failure: engine::Failure) -> Reason {
    if failure.code == -libc::ENOMEM { Reason::OutOfMemory } else { Reason::Internal }
}

fn of_opening(error: &io::Error, not_found: Reason, denied: Reason) -> Reason {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => not_found,
        ErrorKind::PermissionDenied => denied,
        ErrorKind::OutOfMemory => Reason::OutOfMemory,
        _ => Reason::SourceUnreachable,
    }
}

#[cfg(test)]
mod tests;
