//! The inputs, and what must become of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use vmafx_node::failure::Reason;
use vmafx_scoring::input::Tools;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::script;

use crate::stage::Stage;

/// A job that must fail.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Of both clips.
    pub(crate) address: String,
    /// The size that the job tells, for clips without a header.
    pub(crate) size: Option<(u32, u32)>,
    /// The reason, and part of the message; decoders differ in how they end.
    pub(crate) ends: Vec<(Reason, &'static str)>,
    /// Whether it takes long enough for honest jobs to be done beside it.
    pub(crate) lasts: bool,
}

/// Where the inputs are.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    server: HttpServer,
    decoder: tempfile::TempDir,
}

/// Decodes as the real one does, but for two names. The one clip it shows again and again, for ever; with the other it
/// behaves as a decoder does that was taken over, or has a leak.
const DECODER: &str = r#"#!/bin/bash
case "$*" in
*endless.mkv*) exec FFMPEG -stream_loop -1 "$@" ;;
*greedy.mkv*) awk 'BEGIN { x = "x"; while (1) x = x x }' 2>/dev/null && exit; echo "Cannot allocate memory" >&2; exit 1 ;;
*) exec FFMPEG "$@" ;;
esac
"#;

impl Scene {
    pub(crate) async fn set() -> Self {
        let server = HttpServer::start(|request| match request.path.as_str() {
            "/endless.yuv" => Reply::body(ReplyBody::Endless),
            "/elsewhere.yuv" => Reply::redirect("http://169.254.169.254/latest/meta-data/"),
            _ => Reply::status(404),
        });
        let stage = Stage::with_roots(&["/dev", &server.url("/")]).await;
        let scene = Self { stage, server, decoder: tempfile::tempdir().unwrap() };
        scene.write_clips();
        scene
    }

    /// The program that nodes shall decode with.
    pub(crate) fn decoder(&self) -> PathBuf {
        let path = self.decoder.path().join("ffmpeg");
        // A worker may run its decoder, and what lies beside that as a library does: nothing else of this directory.
        let real = self.decoder.path().join("ffmpeg.so");
        fs::copy(ffmpeg(), &real).unwrap();
        script::write(&path, &DECODER.replace("FFMPEG", &real.display().to_string())).unwrap();
        path
    }

    fn write_clips(&self) {
        let clip = |name: &str| self.stage.clip(name);
        let header = "YUV4MPEG2 W100000 H100000 F25:1 Ip A1:1 C420jpeg\nFRAME\n";
        fs::write(clip("header.y4m"), [header.as_bytes(), &[16; 4096]].concat()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, clip("pipe.yuv"), rustix::fs::Mode::RWXU).unwrap();
        // A clip like any other, but not below the roots.
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
        // Nothing but a hole, which a worker reads as a picture.
        fs::File::create(clip("large.yuv")).unwrap().set_len(7680 * 4320 * 3 / 2).unwrap();
    }

    /// The one that lasts comes first, so that everything else happens beside it.
    pub(crate) fn attacks(&self) -> Vec<Attack> {
        let clip = |name: &str| self.stage.clip(name).display().to_string();
        let attack = |name, address, reason, cause| Attack {
            name,
            address,
            size: None,
            ends: vec![(reason, cause)],
            lasts: false,
        };
        vec![
            Attack {
                lasts: true,
                ..attack(
                    "endless pictures",
                    clip("endless.mkv"),
                    Reason::WorkerStalled,
                    "the job was not done after 12 s and was ended",
                )
            },
            attack(
                "an endless body",
                self.server.url("/endless.yuv"),
                Reason::InputTooLarge,
                "it goes on beyond the limit of 96Mi",
            ),
            Attack {
                ends: vec![
                    (Reason::OutOfMemory, "pictures of 12000x12000"),
                    (Reason::WorkerStalled, "the job was not done after 12 s and was ended"),
                ],
                ..attack("enormous pictures", clip("bomb.mkv"), Reason::OutOfMemory, "")
            },
            attack("a header", clip("header.y4m"), Reason::InputInvalid, "the width is \"100000\""),
            attack("a pipe", clip("pipe.yuv"), Reason::InputInvalid, "it is a FIFO, not a regular file"),
            attack(
                "a device",
                "/dev/zero".to_owned(),
                Reason::InputInvalid,
                "it is a device, not a regular file",
            ),
            attack("a link", clip("link.yuv"), Reason::InputDenied, "outside the scoring roots"),
            attack("a redirect", self.server.url("/elsewhere.yuv"), Reason::InputDenied, "169.254.169.254"),
            attack("a greedy decoder", clip("greedy.mkv"), Reason::OutOfMemory, "memory"),
            Attack {
                size: Some((7680, 4320)),
                ..attack(
                    "a greedy worker",
                    clip("large.yuv"),
                    Reason::OutOfMemory,
                    "the memory that a job has here is used up",
                )
            },
        ]
    }
}

/// The `ffmpeg` of this machine.
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
