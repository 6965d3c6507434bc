//! Every variant with its reason and whether it can be retried.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::time::Duration;

use vmafx_job::{BitDepth, PixelFormat};

use super::ScoreError;
use crate::engine::models::ModelError;
use crate::engine::{EngineError, LibvmafError};
use crate::input::InputError;
use crate::picture::PictureFormat;
use crate::score::FrameCount;
use crate::score::chunk::MergeError;

const FORMAT: PictureFormat =
    PictureFormat { width: 16, height: 16, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
const NO_MEMORY: LibvmafError = LibvmafError { call: "vmaf_init", code: -12 };
const INVALID: LibvmafError = LibvmafError { call: "vmaf_init", code: -22 };

type Case = (ScoreError, &'static str, bool);

fn inputs() -> Vec<(InputError, &'static str, bool)> {
    let path = || "clip".into();
    let io = io::Error::from;
    let decoder = |signal| InputError::Decoder {
        path: path(),
        frame: 3,
        ended: String::new(),
        signal,
        stderr: String::new(),
    };
    let start = |kind| InputError::FfmpegStart {
        path: path(),
        purpose: "to decode",
        program: path(),
        source: io(kind),
    };
    let partial = InputError::PartialFrame {
        path: path(),
        size: 1,
        format: FORMAT,
        frame_bytes: 2,
        remainder: 1,
        advice: String::new(),
    };
    let text = String::new;
    vec![
        (InputError::Open { path: path(), source: io(ErrorKind::NotFound) }, "ClipNotOpened", false),
        (InputError::Open { path: path(), source: io(ErrorKind::PermissionDenied) }, "ClipNotOpened", false),
        (
            InputError::Open { path: path(), source: io(ErrorKind::StaleNetworkFileHandle) },
            "ClipNotOpened",
            true,
        ),
        (InputError::NotAFile { path: path() }, "ClipNotAFile", false),
        (InputError::Read { path: path(), frame: 0, source: io(ErrorKind::Other) }, "ClipReadFailed", true),
        (InputError::Digest { path: path(), source: io(ErrorKind::TimedOut) }, "ClipDigestFailed", true),
        (InputError::Truncated { path: path(), frame: 0, found: 1, expected: 2 }, "ClipTruncated", false),
        (InputError::NoFrames { path: path() }, "ClipEmpty", false),
        (InputError::Header { path: path(), problem: text() }, "ClipHeaderInvalid", false),
        (InputError::FrameHeader { path: path(), frame: 0, problem: text() }, "FrameHeaderInvalid", false),
        (InputError::GeometryMissing { path: path() }, "GeometryMissing", false),
        (InputError::Geometry { path: path(), format: FORMAT }, "GeometryInvalid", false),
        (partial, "GeometryMismatch", false),
        (InputError::TooDeep { path: path(), frame: 0, sample: 1, format: FORMAT }, "SampleTooDeep", false),
        (InputError::Narrowing { path: path(), found: FORMAT, wanted: FORMAT }, "DepthWouldShrink", false),
        (
            InputError::FfmpegMissing { path: path(), purpose: "to decode", missing: text() },
            "DecoderMissing",
            false,
        ),
        (start(ErrorKind::WouldBlock), "DecoderNotStarted", true),
        (start(ErrorKind::PermissionDenied), "DecoderNotStarted", false),
        (InputError::NotVideo { path: path(), stderr: text() }, "ClipNotVideo", false),
        (InputError::ProbeTimeout { path: path(), deadline: Duration::ZERO }, "ProbeTimedOut", true),
        (InputError::Playlist { path: path() }, "ClipIsPlaylist", false),
        (
            InputError::FormatNotAllowed { path: path(), demuxer: "dash".to_owned() },
            "ClipFormatNotAllowed",
            false,
        ),
        (InputError::PixelFormat { path: path(), pixel_format: text() }, "PixelFormatUnsupported", false),
        (InputError::Delivered { path: path(), found: FORMAT, wanted: FORMAT }, "ClipChangesShape", false),
        (decoder(None), "DecodingFailed", false),
        (decoder(Some(9)), "DecodingFailed", true),
        (decoder(Some(11)), "DecodingFailed", false),
        (InputError::Stopped { path: path() }, "Stopped", false),
        (InputError::PictureMismatch { path: path(), format: FORMAT }, "PictureMismatch", false),
    ]
}

fn models() -> Vec<(ModelError, &'static str, bool)> {
    let text = String::new;
    let read = |kind: ErrorKind| ModelError::Read { path: "m.json".into(), source: kind.into() };
    let json = serde_json::from_str::<u8>("{").unwrap_err();
    let option = ModelError::Option { model: text(), feature: text(), option: text(), value: text() };
    let small = ModelError::TooSmall { model: text(), needs: text(), format: FORMAT };
    vec![
        (ModelError::Unknown { name: text(), nearest: Vec::new() }, "ModelUnknown", false),
        (read(ErrorKind::NotFound), "ModelReadFailed", false),
        (read(ErrorKind::Other), "ModelReadFailed", true),
        (ModelError::Json { model: text(), source: json }, "ModelNotJson", false),
        (ModelError::Damaged { model: text(), problem: text() }, "ModelDamaged", false),
        (ModelError::Feature { model: text(), feature: text() }, "ModelFeatureUnsupported", false),
        (option, "ModelOptionUnsupported", false),
        (small, "PictureTooSmallForModel", false),
    ]
}

fn engine() -> Vec<(EngineError, &'static str, bool)> {
    let feature = EngineError::FeatureTooSmall { feature: "psnr", needs: "more", format: FORMAT };
    let missing = EngineError::Missing { frame: 0, name: String::new(), source: INVALID };
    let not_finite = EngineError::NotFinite { model: String::new(), frame: 0, score: f64::NAN };
    let mut rows = vec![
        (EngineError::TooSmall { format: FORMAT }, "PictureTooSmall", false),
        (feature, "PictureTooSmallForFeature", false),
        (EngineError::Clash { extractor: "adm" }, "ModelsClash", false),
        (EngineError::TooMany { source: INVALID }, "TooManyModels", false),
        (EngineError::Nothing, "NothingToCompute", false),
        (missing, "ScoreMissing", false),
        (not_finite, "ScoreNotFinite", false),
        (EngineError::TooLong { frame: 0 }, "ClipTooLong", false),
    ];
    for (source, retryable) in [(NO_MEMORY, true), (INVALID, false)] {
        rows.push((EngineError::Setup { format: FORMAT, source }, "EngineSetupFailed", retryable));
        rows.push((EngineError::Frame { frame: 0, source }, "FrameNotMeasured", retryable));
        rows.push((EngineError::Finish { frames: 0, source }, "EngineFinishFailed", retryable));
    }
    rows.extend(models().into_iter().map(|(error, reason, retryable)| (error.into(), reason, retryable)));
    rows
}

fn all() -> Vec<Case> {
    let path = || "clip".into();
    let sizes = ScoreError::SizesDiffer {
        reference: path(),
        reference_format: FORMAT,
        distorted: path(),
        distorted_format: FORMAT,
    };
    let lengths = ScoreError::LengthsDiffer {
        reference: path(),
        reference_frames: FrameCount::Exactly(1),
        distorted: path(),
        distorted_frames: FrameCount::AtLeast(2),
    };
    let merge = ScoreError::Merge { path: path(), source: MergeError::Unlike { frame: 0 } };
    let thread = ScoreError::Thread { path: path(), source: ErrorKind::WouldBlock.into() };
    let mut rows = vec![
        (ScoreError::NothingDistorted { reference: path() }, "NothingToCompare", false),
        (ScoreError::Zero("threads"), "RequestInvalid", false),
        (sizes, "SizesDiffer", false),
        (lengths, "LengthsDiffer", false),
        (ScoreError::NoFrames { path: path(), offset: 1 }, "NoFramesAfterOffset", false),
        (ScoreError::Memory { format: FORMAT, source: NO_MEMORY }, "OutOfMemory", true),
        (merge, "PiecesDoNotFit", false),
        (thread, "ThreadNotStarted", true),
        (ScoreError::ReaderGone { path: path() }, "ReaderGone", true),
        (ScoreError::Cancelled, "Cancelled", false),
    ];
    rows.extend(inputs().into_iter().map(|(error, reason, retryable)| (error.into(), reason, retryable)));
    rows.extend(engine().into_iter().map(|(error, reason, retryable)| (error.into(), reason, retryable)));
    rows
}

#[test]
fn every_error_has_its_reason_and_its_retry_class() {
    for (error, reason, retryable) in all() {
        assert_eq!((error.reason(), error.is_retryable()), (reason, retryable), "{error}");
    }
}

#[test]
fn a_reason_is_camel_case_and_belongs_to_one_error() {
    let mut kinds = BTreeSet::new();
    let mut reasons = BTreeSet::new();
    for (error, reason, _) in all() {
        assert!(reason.starts_with(|first: char| first.is_ascii_uppercase()), "{reason}");
        assert!(reason.bytes().all(|letter| letter.is_ascii_alphanumeric()), "{reason}");
        // The names of the variants, down to that of the innermost error.
        let shown = format!("{error:?}");
        let kind = shown.split([' ', '{']).next().unwrap_or_default().to_owned();
        kinds.insert(kind);
        reasons.insert(reason);
    }
    assert_eq!(kinds.len(), reasons.len(), "{kinds:?}\n{reasons:?}");
}
