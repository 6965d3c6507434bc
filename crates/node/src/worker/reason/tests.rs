//! Every variant, once.

use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::picture::Format;
use vmafx_scoring::score::chunk::MergeError;

use super::*;

const FORMAT: Format =
    Format { width: 160, height: 90, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };

fn path() -> PathBuf {
    "clip.mp4".into()
}

fn io(kind: ErrorKind) -> io::Error {
    kind.into()
}

fn libvmaf(code: i32) -> engine::Failure {
    engine::Failure { call: "vmaf_read_pictures", code }
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
#[case(InputError::Open { path: path(), source: io(ErrorKind::NotFound) }, Reason::InputNotFound)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::NotADirectory) }, Reason::InputNotFound)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::PermissionDenied) }, Reason::InputDenied)]
#[case(InputError::Open { path: path(), source: io(ErrorKind::StaleNetworkFileHandle) }, Reason::SourceUnreachable)]
#[case(InputError::NotAFile { path: path() }, Reason::InputInvalid)]
#[case(InputError::Read { path: path(), frame: 1, source: io(ErrorKind::TimedOut) }, Reason::SourceUnreachable)]
#[case(InputError::Read { path: path(), frame: 1, source: io(ErrorKind::OutOfMemory) }, Reason::OutOfMemory)]
#[case(InputError::Digest { path: path(), source: io(ErrorKind::TimedOut) }, Reason::SourceUnreachable)]
#[case(InputError::Truncated { path: path(), frame: 1, found: 2, expected: 3 }, Reason::InputInvalid)]
#[case(InputError::NoFrames { path: path() }, Reason::InputInvalid)]
#[case(InputError::Header { path: path(), problem: String::new() }, Reason::InputInvalid)]
#[case(InputError::FrameHeader { path: path(), frame: 1, problem: String::new() }, Reason::InputInvalid)]
#[case(InputError::GeometryMissing { path: path() }, Reason::OptionsInvalid)]
#[case(InputError::Geometry { path: path(), format: FORMAT }, Reason::OptionsInvalid)]
#[case(
    InputError::PartialFrame { path: path(), size: 1, format: FORMAT, frame_bytes: 2, remainder: 1, advice: String::new() },
    Reason::InputInvalid
)]
#[case(InputError::TooDeep { path: path(), frame: 1, sample: 9, format: FORMAT }, Reason::InputInvalid)]
#[case(InputError::Narrowing { path: path(), found: FORMAT, wanted: FORMAT }, Reason::Internal)]
#[case(InputError::FfmpegMissing { path: path(), purpose: "to decode", missing: String::new() }, Reason::Internal)]
#[case(start(ErrorKind::PermissionDenied), Reason::Internal)]
#[case(start(ErrorKind::WouldBlock), Reason::OutOfMemory)]
#[case(not_video("moov atom not found"), Reason::InputInvalid)]
#[case(not_video("Error: Cannot allocate memory"), Reason::OutOfMemory)]
#[case(InputError::ProbeTimeout { path: path(), deadline: Duration::from_mins(1) }, Reason::WorkerStalled)]
#[case(InputError::Playlist { path: path() }, Reason::InputInvalid)]
#[case(InputError::PixelFormat { path: path(), pixel_format: String::new() }, Reason::InputInvalid)]
#[case(InputError::Delivered { path: path(), found: FORMAT, wanted: FORMAT }, Reason::InputInvalid)]
#[case(decoder(None, "invalid data"), Reason::InputInvalid)]
#[case(decoder(Some(11), ""), Reason::InputInvalid)]
#[case(decoder(Some(9), ""), Reason::OutOfMemory)]
#[case(decoder(Some(24), ""), Reason::WorkerStalled)]
#[case(decoder(None, "av_malloc: Cannot allocate memory"), Reason::OutOfMemory)]
#[case(InputError::Stopped { path: path() }, Reason::Internal)]
#[case(InputError::Room { path: path(), format: FORMAT }, Reason::Internal)]
fn inputs(#[case] error: InputError, #[case] reason: Reason) {
    assert_eq!(of_score(&ScoreError::Input(error)), reason);
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
#[case(model(ModelError::Unknown { name: name(), nearest: Vec::new() }), Reason::ModelNotFound)]
#[case(model(ModelError::Read { path: path(), source: io(ErrorKind::NotFound) }), Reason::ModelNotFound)]
#[case(model(ModelError::Read { path: path(), source: io(ErrorKind::PermissionDenied) }), Reason::ModelInvalid)]
#[case(model(ModelError::Json { model: name(), source: no_json() }), Reason::ModelInvalid)]
#[case(model(ModelError::Damaged { model: name(), problem: name() }), Reason::ModelInvalid)]
#[case(model(ModelError::Feature { model: name(), feature: name() }), Reason::ModelInvalid)]
#[case(
    model(ModelError::Option { model: name(), feature: name(), option: name(), value: name() }),
    Reason::ModelInvalid
)]
#[case(model(ModelError::TooSmall { model: name(), needs: name(), format: FORMAT }), Reason::OptionsInvalid)]
#[case(EngineError::TooSmall { format: FORMAT }, Reason::InputInvalid)]
#[case(EngineError::FeatureTooSmall { feature: "cambi", needs: "more", format: FORMAT }, Reason::OptionsInvalid)]
#[case(EngineError::Clash { extractor: "adm" }, Reason::OptionsInvalid)]
#[case(EngineError::TooMany { source: libvmaf(-22) }, Reason::OptionsInvalid)]
#[case(EngineError::Nothing, Reason::OptionsInvalid)]
#[case(EngineError::Setup { format: FORMAT, source: libvmaf(-12) }, Reason::OutOfMemory)]
#[case(EngineError::Setup { format: FORMAT, source: libvmaf(-22) }, Reason::Internal)]
#[case(EngineError::Frame { frame: 1, source: libvmaf(-12) }, Reason::OutOfMemory)]
#[case(EngineError::Finish { frames: 1, source: libvmaf(-22) }, Reason::Internal)]
#[case(EngineError::Missing { frame: 1, name: name(), source: libvmaf(-22) }, Reason::Internal)]
#[case(EngineError::NotFinite { model: name(), frame: 1, score: f64::NAN }, Reason::ModelInvalid)]
#[case(EngineError::TooLong { frame: 1 }, Reason::InputTooLarge)]
fn engines(#[case] error: EngineError, #[case] reason: Reason) {
    assert_eq!(of_score(&ScoreError::Engine(error)), reason);
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
        reference_frames: 1,
        distorted: path(),
        distorted_frames: 2,
    }
}

#[rstest]
#[case(ScoreError::NothingDistorted { reference: path() }, Reason::Internal)]
#[case(ScoreError::Zero("the step"), Reason::OptionsInvalid)]
#[case(sizes_differ(), Reason::ClipsDiffer)]
#[case(lengths_differ(), Reason::ClipsDiffer)]
#[case(ScoreError::NoFrames { path: path(), offset: 1 }, Reason::InputInvalid)]
#[case(ScoreError::Memory { format: FORMAT, source: libvmaf(-12) }, Reason::OutOfMemory)]
#[case(ScoreError::Merge { path: path(), source: unfit() }, Reason::Internal)]
#[case(ScoreError::Thread { path: path(), source: io(ErrorKind::WouldBlock) }, Reason::OutOfMemory)]
#[case(ScoreError::ReaderGone { path: path() }, Reason::Internal)]
#[case(ScoreError::Cancelled, Reason::Internal)]
fn comparisons(#[case] error: ScoreError, #[case] reason: Reason) {
    assert_eq!(of_score(&error), reason);
}
