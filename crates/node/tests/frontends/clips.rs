//! One pair of clips, stored in every way.

use std::path::{Path, PathBuf};
use std::process::Command;

use vmafx_job::{BitDepth, PixelFormat, RawVideo};
use vmafx_scoring::input::Tools;

use crate::harness::Harness;

/// How a clip is stored. The pictures are the same, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClipKind {
    Yuv,
    YuvWithoutEnding,
    Y4m,
    Y4mOfAnotherName,
    /// H.264 without loss.
    Mp4,
    /// The same, at an HTTP address with a query.
    Mp4ByHttp,
}

impl ClipKind {
    pub(crate) fn name(self, clip: &str) -> String {
        match self {
            Self::Yuv => format!("{clip}.yuv"),
            Self::YuvWithoutEnding => format!("{clip}_160x90"),
            Self::Y4m => format!("{clip}.y4m"),
            Self::Y4mOfAnotherName => format!("{clip}.bin"),
            Self::Mp4 | Self::Mp4ByHttp => format!("{clip}.mp4"),
        }
    }
}

/// The description of the headerless clips.
pub(crate) fn raw_video() -> RawVideo {
    RawVideo { width: 160, height: 90, pixel_format: PixelFormat::Yuv420p, bit_depth: BitDepth::Eight }
}

/// Makes all kinds of both clips from the headerless ones.
pub(crate) fn write(harness: &Harness) {
    for clip in ["ref", "dis"] {
        let path = |kind: ClipKind| harness.clip(&kind.name(clip));
        let yuv = path(ClipKind::Yuv);
        std::fs::copy(&yuv, path(ClipKind::YuvWithoutEnding)).unwrap();
        convert(&yuv, &["-f", "yuv4mpegpipe"], &path(ClipKind::Y4m));
        std::fs::copy(path(ClipKind::Y4m), path(ClipKind::Y4mOfAnotherName)).unwrap();
        convert(&yuv, &["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0"], &path(ClipKind::Mp4));
    }
}

pub(crate) fn ffmpeg() -> PathBuf {
    let tools = Tools::from_process_env();
    tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN").to_owned()
}

fn convert(from: &Path, coding: &[&str], to: &Path) {
    let output = Command::new(ffmpeg())
        .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"])
        .args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "160x90", "-r", "25", "-i"])
        .arg(from)
        .args(coding)
        .arg(to)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
