//! One pair of clips, stored in every way that a user may store it.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// How a clip is stored. The pictures are the same, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipKind {
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
    pub fn file_name(self, clip: &str) -> String {
        match self {
            Self::Yuv => format!("{clip}.yuv"),
            Self::YuvWithoutEnding => format!("{clip}_160x90"),
            Self::Y4m => format!("{clip}.y4m"),
            Self::Y4mOfAnotherName => format!("{clip}.bin"),
            Self::Mp4 | Self::Mp4ByHttp => format!("{clip}.mp4"),
        }
    }
}

/// Makes all kinds of `ref` and `dis` from `ref.yuv` and `dis.yuv` in the directory, which are 160x90 and yuv420p.
pub fn write_all_kinds(directory: &Path, ffmpeg: &Path) -> io::Result<()> {
    for clip in ["ref", "dis"] {
        let path = |kind: ClipKind| directory.join(kind.file_name(clip));
        let yuv = path(ClipKind::Yuv);
        fs::copy(&yuv, path(ClipKind::YuvWithoutEnding))?;
        convert(ffmpeg, &yuv, &["-f", "yuv4mpegpipe"], &path(ClipKind::Y4m))?;
        fs::copy(path(ClipKind::Y4m), path(ClipKind::Y4mOfAnotherName))?;
        convert(
            ffmpeg,
            &yuv,
            &["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0"],
            &path(ClipKind::Mp4),
        )?;
    }
    Ok(())
}

fn convert(ffmpeg: &Path, from: &Path, coding: &[&str], to: &Path) -> io::Result<()> {
    let output = Command::new(ffmpeg)
        .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"])
        .args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "160x90", "-r", "25", "-i"])
        .arg(from)
        .args(coding)
        .arg(to)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}
