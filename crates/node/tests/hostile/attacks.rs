//! The hostile inputs, and the failures that are expected.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use vmafx_job::FailureReason;
use vmafx_scoring::input::Tools;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::script;

use crate::harness::Harness;

/// A job that must fail.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Address of both clips.
    pub(crate) address: String,
    /// The size of headerless clips.
    pub(crate) size: Option<(u32, u32)>,
    /// Accepted reasons, each with a part of the message: versions of decoders differ.
    pub(crate) failures: Vec<(FailureReason, &'static str)>,
    /// Whether it takes long enough for honest jobs to be scored meanwhile.
    pub(crate) lasts: bool,
}

/// Holds the inputs.
pub(crate) struct Attacker {
    pub(crate) harness: Harness,
    server: HttpServer,
    decoder: tempfile::TempDir,
}

/// A worker needs more for pictures of this size than a process of a job may have.
const LARGE: (u32, u32) = (10_240, 5_760);

/// Runs the real decoder, except for two clips: it repeats the one for ever, and allocates memory without end for the other,
/// as a decoder does that was taken over or leaks.
const DECODER: &str = r#"#!/bin/bash
case "$*" in
*endless.mkv*) exec FFMPEG -stream_loop -1 "$@" ;;
*greedy.mkv*) awk 'BEGIN { x = "x"; while (1) x = x x }' 2>/dev/null && exit; echo "Cannot allocate memory" >&2; exit 1 ;;
*) exec FFMPEG "$@" ;;
esac
"#;

impl Attacker {
    pub(crate) async fn start() -> Self {
        let server = HttpServer::start(|request| match request.path.as_str() {
            "/endless.yuv" => Reply::body(ReplyBody::Endless),
            "/elsewhere.yuv" => Reply::redirect("http://169.254.169.254/latest/meta-data/"),
            _ => Reply::status(404),
        });
        let harness = Harness::with_roots(&["/dev", &server.url("/")]).await;
        let attacker = Self { harness, server, decoder: tempfile::tempdir().unwrap() };
        attacker.write_clips();
        attacker
    }

    /// The program that nodes decode with.
    pub(crate) fn decoder(&self) -> PathBuf {
        let path = self.decoder.path().join("ffmpeg");
        // A worker may use its decoder and the libraries beside it, and nothing else of this directory.
        let real = self.decoder.path().join("ffmpeg.so");
        fs::copy(ffmpeg(), &real).unwrap();
        script::write(&path, &DECODER.replace("FFMPEG", &real.display().to_string())).unwrap();
        path
    }

    fn write_clips(&self) {
        let clip = |name: &str| self.harness.clip(name);
        let header = "YUV4MPEG2 W100000 H100000 F25:1 Ip A1:1 C420jpeg\nFRAME\n";
        fs::write(clip("header.y4m"), [header.as_bytes(), &[16; 4096]].concat()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, clip("pipe.yuv"), rustix::fs::Mode::RWXU).unwrap();
        // A valid clip, but not below the roots.
        let outside = self.decoder.path().join("private.yuv");
        fs::copy(clip("dis.yuv"), &outside).unwrap();
        symlink(&outside, clip("link.yuv")).unwrap();
        // Black pictures of 144 megapixels in some hundred kilobytes.
        encode(
            "color=black:size=12000x12000:rate=25",
            &["-pix_fmt", "gray", "-c:v", "png"],
            1,
            clip("bomb.mkv"),
        );
        assert!(fs::metadata(clip("bomb.mkv")).unwrap().len() < 1 << 20);
        encode("testsrc2=size=160x90:rate=25", &["-c:v", "ffv1"], 25, clip("endless.mkv"));
        fs::copy(clip("endless.mkv"), clip("greedy.mkv")).unwrap();
        // A sparse file, which a worker reads as a black picture.
        let (width, height) = LARGE;
        fs::File::create(clip("large.yuv")).unwrap().set_len(u64::from(width * height) * 3 / 2).unwrap();
    }

    /// The one that lasts comes first, so that all others run meanwhile.
    pub(crate) fn attacks(&self) -> Vec<Attack> {
        let clip = |name: &str| self.harness.clip(name).display().to_string();
        let attack = |name, address, reason, cause| Attack {
            name,
            address,
            size: None,
            failures: vec![(reason, cause)],
            lasts: false,
        };
        vec![
            Attack {
                lasts: true,
                ..attack(
                    "endless pictures",
                    clip("endless.mkv"),
                    FailureReason::InputTooLarge,
                    "the job was not done after 12 s, the time limit of a job (VMAFX_WORKER_TIMEOUT)",
                )
            },
            attack(
                "an endless body",
                self.server.url("/endless.yuv"),
                FailureReason::InputTooLarge,
                "it goes on beyond the limit of 96Mi",
            ),
            Attack {
                failures: vec![
                    (FailureReason::OutOfMemory, "pictures of 12000x12000"),
                    (FailureReason::OutOfMemory, "the worker needs more than the"),
                    (
                        FailureReason::WorkerStalled,
                        "the job was not done after 12 s and its worker was killed",
                    ),
                ],
                ..attack("enormous pictures", clip("bomb.mkv"), FailureReason::OutOfMemory, "")
            },
            attack(
                "an enormous header",
                clip("header.y4m"),
                FailureReason::InputInvalid,
                "the width is \"100000\"",
            ),
            attack(
                "a pipe",
                clip("pipe.yuv"),
                FailureReason::InputInvalid,
                "it is a FIFO, not a regular file",
            ),
            attack(
                "a device",
                "/dev/zero".to_owned(),
                FailureReason::InputInvalid,
                "it is a device, not a regular file",
            ),
            attack(
                "a link",
                clip("link.yuv"),
                FailureReason::InputDenied,
                "outside the locations that this job may use",
            ),
            attack(
                "a redirect",
                self.server.url("/elsewhere.yuv"),
                FailureReason::InputDenied,
                "169.254.169.254",
            ),
            attack("a greedy decoder", clip("greedy.mkv"), FailureReason::OutOfMemory, "memory"),
            Attack {
                size: Some(LARGE),
                ..attack(
                    "a greedy worker",
                    clip("large.yuv"),
                    FailureReason::OutOfMemory,
                    "the worker needs more than the",
                )
            },
        ]
    }
}

fn ffmpeg() -> PathBuf {
    let tools = Tools::from_process_env();
    tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN").to_owned()
}

fn encode(source: &str, coding: &[&str], frames: u32, to: PathBuf) {
    let output = Command::new(ffmpeg())
        .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", source])
        .args(["-frames:v", &frames.to_string()])
        .args(coding)
        .arg(to)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
