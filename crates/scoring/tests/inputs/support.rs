//! Generated clips, and a reader that collects what is delivered.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, FrameSource, InputError, ReadOptions, Tools, open, probe};
use vmafx_scoring::picture::{PictureFormat, PlaneMut};

/// The tests of decoding need a real `ffmpeg`.
pub(crate) fn tools() -> Tools {
    let tools = Tools::from_process_env();
    assert!(tools.ffmpeg().is_some(), "these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN");
    tools
}

/// Tools without `ffmpeg`, which prove that none is needed.
pub(crate) fn no_tools() -> Tools {
    Tools::from_env(None, None)
}

/// Tools with this script in the place of `ffmpeg`. Another process writes the script, because a file cannot be executed while
/// this process, or a child that it is about to start, has it open for writing.
pub(crate) fn tools_that(directory: &TestDirectory, script: &str) -> Tools {
    let program = directory.path("ffmpeg-of-the-test");
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", write]).arg(&program).arg(script).status().unwrap().success());
    Tools::from_env(Some(program.as_os_str()), None)
}

pub(crate) fn format(width: u32, height: u32, chroma: PixelFormat, depth: BitDepth) -> PictureFormat {
    PictureFormat { width, height, chroma, depth }
}

/// The format of most clips: 160x120, 4:2:0, 8 bit.
pub(crate) fn small() -> PictureFormat {
    format(160, 120, PixelFormat::Yuv420p, BitDepth::Eight)
}

pub(crate) struct TestDirectory {
    directory: TempDir,
}

impl TestDirectory {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Encodes moving test pictures of 160x120, 25 per second.
    pub(crate) fn encode(&self, name: &str, frames: u32, arguments: &[&str]) -> PathBuf {
        let path = self.path(name);
        let frames = frames.to_string();
        let source = [
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=160x120:rate=25,noise=all_seed=1:alls=8:allf=t",
            "-frames:v",
            &frames,
        ];
        let mut all: Vec<&OsStr> = source.iter().chain(arguments).map(OsStr::new).collect();
        all.push(path.as_os_str());
        ffmpeg(&all);
        path
    }

    /// Runs `ffmpeg -i from … to`.
    pub(crate) fn convert(&self, from: &Path, to: &str, arguments: &[&str]) -> PathBuf {
        let path = self.path(to);
        let mut all = vec![OsStr::new("-i"), from.as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        all.push(path.as_os_str());
        ffmpeg(&all);
        path
    }

    /// The samples of a file as `ffmpeg` itself writes them.
    pub(crate) fn samples(&self, from: &Path, arguments: &[&str]) -> Vec<u8> {
        let mut all = arguments.to_vec();
        all.extend(["-fps_mode", "passthrough", "-f", "rawvideo"]);
        std::fs::read(self.convert(from, "samples.out", &all)).unwrap()
    }
}

fn ffmpeg(arguments: &[&OsStr]) {
    let tools = tools();
    let output = Command::new(tools.ffmpeg().unwrap())
        .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) end: Result<(), InputError>,
}

impl Delivered {
    /// All samples of a source that ended without an error.
    pub(crate) fn samples(self) -> Vec<u8> {
        self.end.unwrap();
        self.frames.concat()
    }

    /// The number of frames before an error, and the error.
    pub(crate) fn failure(self) -> (usize, String) {
        (self.frames.len(), self.end.unwrap_err().to_string())
    }
}

/// Buffers with `padding` bytes after each row, which must not be written.
pub(crate) struct PictureBuffer {
    format: PictureFormat,
    padding: usize,
    planes: [Vec<u8>; 3],
}

const UNTOUCHED: u8 = 0xA5;

impl PictureBuffer {
    pub(crate) fn new(format: PictureFormat, padding: usize) -> Self {
        let planes = [0, 1, 2].map(|plane| {
            let (width, height) = format.plane(plane);
            vec![UNTOUCHED; (width * format.depth.bytes() + padding) * height]
        });
        Self { format, padding, planes }
    }

    pub(crate) fn planes(&mut self) -> [PlaneMut<'_>; 3] {
        let (format, padding) = (self.format, self.padding);
        let mut plane = 0;
        self.planes.each_mut().map(|data| {
            let (width, rows) = format.plane(plane);
            plane += 1;
            let row_bytes = width * format.depth.bytes();
            PlaneMut { data, stride: row_bytes + padding, row_bytes, rows }
        })
    }

    pub(crate) fn samples(&self) -> Vec<u8> {
        let mut samples = Vec::new();
        for (plane, data) in self.planes.iter().enumerate() {
            let row_bytes = self.format.plane(plane).0 * self.format.depth.bytes();
            for row in data.chunks(row_bytes + self.padding) {
                samples.extend_from_slice(&row[..row_bytes]);
                assert!(row[row_bytes..].iter().all(|&byte| byte == UNTOUCHED), "padding was written");
            }
        }
        samples
    }
}

/// Reads a source to its end, alternately without and with padding.
pub(crate) fn drain(source: &mut dyn FrameSource) -> Delivered {
    let mut buffers = [0, 32].map(|padding| PictureBuffer::new(source.format(), padding));
    let mut frames = Vec::new();
    loop {
        let buffer = &mut buffers[frames.len() % 2];
        match source.read(&mut buffer.planes()) {
            Ok(true) => frames.push(buffer.samples()),
            Ok(false) => return Delivered { frames, end: Ok(()) },
            Err(error) => return Delivered { frames, end: Err(error) },
        }
    }
}

/// Opens a clip with changed options and reads all of it.
pub(crate) fn read(clip: &Clip, tools: &Tools, change: impl FnOnce(&mut ReadOptions)) -> Delivered {
    let attempt = || {
        let found = probe(clip, tools)?;
        let mut options = ReadOptions::whole(found.format);
        change(&mut options);
        open(clip, &found, &options, tools)
    };
    match attempt() {
        Ok(mut source) => drain(&mut *source),
        Err(error) => Delivered { frames: Vec::new(), end: Err(error) },
    }
}

pub(crate) fn read_whole(path: &Path, tools: &Tools) -> Delivered {
    read(&Clip::new(path), tools, |_| {})
}
