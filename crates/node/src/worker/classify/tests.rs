//! Every variant of every error, once.

use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::engine::LibvmafError;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::FrameCount;
use vmafx_scoring::score::chunk::MergeError;

use super::*;

const FORMAT: PictureFormat =
    PictureFormat { width: 160, height: 90, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };

fn path() -> PathBuf {
    "clip.mp4".into()
}

fn io(kind: ErrorKind) -> io::Error {
    kind.into()
}

fn libvmaf(code: i32) -> LibvmafError {
    LibvmafError { call: "vmaf_read_pictures", code }
}

fn decoder(signal: Option<i32>, stderr: &str) -> InputError {
    let (ended, stderr) = ("ffmpeg failed".to_owned(), stderr.to_owned());
    InputError::Decoder { path: path(), frame: 7, ended, signal, stderr }
}

fn not_video(stderr: &str) -> InputError {
    InputError::NotVideo { path: path(), stderr: stderr.to_owned() }
}

fn start(kind: ErrorKind) -> InputError {
    InputError::FfmpegStart { path: path(), purpose: "to decode", program: "ffmpeg".into(), source: io(kind) }
}

#[rstest]
#[case(InputError::Open { path: path(), source: io(ErrorKind::NotFound) }, FailureReason::InputMissingOnNode)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::NotADirectory) }, FailureReason::InputMissingOnNode)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::PermissionDenied) }, FailureReason::InputDeniedOnNode)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::StaleNetworkFileHandle) }, FailureReason::SourceUnreachable)]
#[case(InputError::NotAFile { path: path() }, FailureReason::InputInvalid)]
#[case(InputError::Read { path: path(), frame: 1, source: io(ErrorKind::TimedOut) }, FailureReason::SourceUnreachable)]
#[case(InputError::Read { path: path(), frame: 1, source: io(ErrorKind::OutOfMemory) }, FailureReason::OutOfMemory)]
#[case(InputError::Digest { path: path(), source: io(ErrorKind::TimedOut) }, FailureReason::SourceUnreachable)]
#[case(InputError::Truncated { path: path(), frame: 1, found: 2, expected: 3 }, FailureReason::InputInvalid)]
#[case(InputError::NoFrames { path: path() }, FailureReason::InputInvalid)]
#[case(InputError::Header { path: path(), problem: String::new() }, FailureReason::InputInvalid)]
#[case(InputError::FrameHeader { path: path(), frame: 1, problem: String::new() }, FailureReason::InputInvalid)]
#[case(InputError::GeometryMissing { path: path() }, FailureReason::OptionsInvalid)]
#[case(InputError::Geometry { path: path(), format: FORMAT }, FailureReason::OptionsInvalid)]
#[case(
    InputError::PartialFrame { path: path(), size: 1, format: FORMAT, frame_bytes: 2, remainder: 1, advice: String::new() },
    FailureReason::InputInvalid
)]
#[case(InputError::TooDeep { path: path(), frame: 1, sample: 9, format: FORMAT }, FailureReason::InputInvalid)]
#[case(InputError::Narrowing { path: path(), found: FORMAT, wanted: FORMAT }, FailureReason::Internal)]
#[case(InputError::FfmpegMissing { path: path(), purpose: "to decode", missing: String::new() }, FailureReason::Internal)]
#[case(start(ErrorKind::PermissionDenied), FailureReason::Internal)]
#[case(start(ErrorKind::WouldBlock), FailureReason::OutOfMemory)]
#[case(not_video("moov atom not found"), FailureReason::InputInvalid)]
#[case(not_video("Error: Cannot allocate memory"), FailureReason::OutOfMemory)]
#[case(InputError::ProbeTimeout { path: path(), deadline: Duration::from_mins(1) }, FailureReason::WorkerStalled)]
#[case(InputError::Playlist { path: path() }, FailureReason::InputInvalid)]
#[case(InputError::PixelFormat { path: path(), pixel_format: String::new() }, FailureReason::InputInvalid)]
#[case(InputError::Delivered { path: path(), found: FORMAT, wanted: FORMAT }, FailureReason::InputInvalid)]
#[case(decoder(None, "invalid data"), FailureReason::InputInvalid)]
#[case(decoder(Some(11), ""), FailureReason::InputInvalid)]
#[case(decoder(Some(9), ""), FailureReason::OutOfMemory)]
#[case(decoder(Some(24), ""), FailureReason::WorkerStalled)]
#[case(decoder(None, "av_malloc: Cannot allocate memory"), FailureReason::OutOfMemory)]
#[case(InputError::Stopped { path: path() }, FailureReason::Internal)]
#[case(InputError::PictureMismatch { path: path(), format: FORMAT }, FailureReason::Internal)]
fn inputs(#[case] error: InputError, #[case] reason: FailureReason) {
    assert_eq!(score_reason(&ScoreError::Input(error)), reason);
}

fn model(error: ModelError) -> EngineError {
    EngineError::Model(error)
}

fn name() -> String {
    "m".to_owned()
}

fn no_json() -> serde_json::Error {
    serde_json::from_str::<u8>("{").unwrap_err()
}

#[rstest]
#[case(model(ModelError::Unknown { name: name(), nearest: Vec::new() }), FailureReason::ModelNotFound)]
#[case(model(ModelError::Read { path: path(), source: io(ErrorKind::NotFound) }), FailureReason::ModelMissingOnNode)]
#[case(model(ModelError::Read { path: path(), source: io(ErrorKind::PermissionDenied) }), FailureReason::ModelMissingOnNode)]
#[case(model(ModelError::Json { model: name(), source: no_json() }), FailureReason::ModelInvalid)]
#[case(model(ModelError::Damaged { model: name(), problem: name() }), FailureReason::ModelInvalid)]
#[case(model(ModelError::Feature { model: name(), feature: name() }), FailureReason::ModelInvalid)]
#[case(
    model(ModelError::Option { model: name(), feature: name(), option: name(), value: name() }),
    FailureReason::ModelInvalid
)]
#[case(model(ModelError::TooSmall { model: name(), needs: name(), format: FORMAT }), FailureReason::OptionsInvalid)]
#[case(EngineError::TooSmall { format: FORMAT }, FailureReason::InputInvalid)]
#[case(EngineError::FeatureTooSmall { feature: "cambi", needs: "more", format: FORMAT }, FailureReason::OptionsInvalid)]
#[case(EngineError::Clash { extractor: "adm" }, FailureReason::OptionsInvalid)]
#[case(EngineError::TooMany { source: libvmaf(-22) }, FailureReason::OptionsInvalid)]
#[case(EngineError::Nothing, FailureReason::OptionsInvalid)]
#[case(EngineError::Setup { format: FORMAT, source: libvmaf(-12) }, FailureReason::OutOfMemory)]
#[case(EngineError::Setup { format: FORMAT, source: libvmaf(-22) }, FailureReason::Internal)]
#[case(EngineError::Frame { frame: 1, source: libvmaf(-12) }, FailureReason::OutOfMemory)]
#[case(EngineError::Finish { frames: 1, source: libvmaf(-22) }, FailureReason::Internal)]
#[case(EngineError::Missing { frame: 1, name: name(), source: libvmaf(-22) }, FailureReason::Internal)]
#[case(EngineError::NotFinite { model: name(), frame: 1, score: f64::NAN }, FailureReason::ModelInvalid)]
#[case(EngineError::TooLong { frame: 1 }, FailureReason::InputTooLarge)]
fn engines(#[case] error: EngineError, #[case] reason: FailureReason) {
    assert_eq!(score_reason(&ScoreError::Engine(error)), reason);
}

fn unfit() -> MergeError {
    MergeError::Frames { expected: 1, found: None }
}

fn sizes_differ() -> ScoreError {
    ScoreError::SizesDiffer {
        reference: path(),
        reference_format: FORMAT,
        distorted: path(),
        distorted_format: FORMAT,
    }
}

fn lengths_differ() -> ScoreError {
    ScoreError::LengthsDiffer {
        reference: path(),
        reference_frames: FrameCount::Exactly(1),
        distorted: path(),
        distorted_frames: FrameCount::AtLeast(2),
    }
}

#[rstest]
#[case(ScoreError::NothingDistorted { reference: path() }, FailureReason::Internal)]
#[case(ScoreError::Zero("the step"), FailureReason::OptionsInvalid)]
#[case(sizes_differ(), FailureReason::ClipsDiffer)]
#[case(lengths_differ(), FailureReason::ClipsDiffer)]
#[case(ScoreError::NoFrames { path: path(), offset: 1 }, FailureReason::InputInvalid)]
#[case(ScoreError::Memory { format: FORMAT, source: libvmaf(-12) }, FailureReason::OutOfMemory)]
#[case(ScoreError::Merge { path: path(), source: unfit() }, FailureReason::Internal)]
#[case(ScoreError::Thread { path: path(), source: io(ErrorKind::WouldBlock) }, FailureReason::OutOfMemory)]
#[case(ScoreError::ReaderGone { path: path() }, FailureReason::Internal)]
#[case(ScoreError::Cancelled, FailureReason::Internal)]
fn comparisons(#[case] error: ScoreError, #[case] reason: FailureReason) {
    assert_eq!(score_reason(&error), reason);
}
