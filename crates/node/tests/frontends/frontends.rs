//! A controller with a node, and `run-once`, with the same clips, roots and decoder.

use std::path::PathBuf;
use std::process::Command;

use vmafx_job::{
    BitDepth, Failure, FailureReason, PixelFormat, RawVideo, RunResult, ScoreDetails, ScoreResult,
    ScoringOptions, ScoringRequest,
};
use vmafx_proto::controller::v1::{Job, ResourceRef, SubmitJobRequest};
use vmafx_proto::convert::score_details;
use vmafx_scoring::input::Tools;
use vmafx_testkit::clips::{ClipKind, write_all_kinds};
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::script;

use crate::expected::expected;
use crate::harness::{Harness, Node};

pub(crate) struct Frontends {
    pub(crate) harness: Harness,
    server: HttpServer,
    ffmpeg: PathBuf,
    _decoder: tempfile::TempDir,
    _node: Node,
}

impl Frontends {
    pub(crate) async fn start() -> Self {
        Self::with_decoder("exec FFMPEG \"$@\"").await
    }

    /// With a shell script as decoder, in which `FFMPEG` stands for the real one.
    pub(crate) async fn with_decoder(text: &str) -> Self {
        let (sender, clips) = std::sync::mpsc::channel::<PathBuf>();
        let clips = std::sync::Mutex::new(clips);
        let directory = std::sync::OnceLock::new();
        let server = HttpServer::start(move |request| {
            let directory = directory.get_or_init(|| clips.lock().unwrap().recv().unwrap());
            match std::fs::read(directory.join(request.path.trim_start_matches('/'))) {
                Ok(clip) if request.query == "signature=x.yuv" => Reply::file(clip).etag("\"1\""),
                _ => Reply::status(404),
            }
        });
        let harness = Harness::with_roots(&[&server.url("/")]).await;
        let tools = Tools::from_process_env();
        let installed = tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN");
        write_all_kinds(&harness.clip(""), installed).unwrap();
        sender.send(harness.clip("")).unwrap();
        let decoder = tempfile::tempdir().unwrap();
        // A worker may run its decoder and use the libraries beside it, and nothing else of that directory.
        let (real, ffmpeg) = (decoder.path().join("ffmpeg.so"), decoder.path().join("ffmpeg"));
        std::fs::copy(installed, &real).unwrap();
        let text = format!("#!/bin/bash\n{}\n", text.replace("FFMPEG", &real.display().to_string()));
        script::write(&ffmpeg, &text).unwrap();
        let node = harness.node("node-0", &["--ffmpeg-bin", ffmpeg.to_str().unwrap()]);
        Self { harness, server, ffmpeg, _decoder: decoder, _node: node }
    }

    /// The address of a file beside the clips.
    pub(crate) fn clip(&self, name: &str) -> String {
        self.harness.clip(name).display().to_string()
    }

    /// Compares the pair in these kinds, without a description.
    pub(crate) fn request(&self, reference: ClipKind, distorted: ClipKind) -> ScoringRequest {
        let address = |kind: ClipKind, clip: &str| match kind {
            ClipKind::Mp4ByHttp => self.server.url(&format!("/{}?signature=x.yuv", kind.file_name(clip))),
            _ => self.clip(&kind.file_name(clip)),
        };
        ScoringRequest {
            reference: address(reference, "ref"),
            distorted: address(distorted, "dis"),
            model: Some("vmaf_v0.6.1".to_owned()),
            ..ScoringRequest::default()
        }
    }

    /// Compares the headerless pair.
    pub(crate) fn described(&self, options: ScoringOptions) -> ScoringRequest {
        ScoringRequest { input: Some(raw_video()), options, ..self.request(ClipKind::Yuv, ClipKind::Yuv) }
    }

    /// The first frames of the headerless distorted clip.
    pub(crate) fn shorter_clip(&self, frames: usize) -> String {
        let clip = std::fs::read(self.harness.clip("dis.yuv")).unwrap();
        std::fs::write(self.harness.clip("shorter.yuv"), &clip[..frames * 160 * 90 * 3 / 2]).unwrap();
        self.clip("shorter.yuv")
    }

    /// The score of the pair by `vmafx-scoring` itself.
    pub(crate) fn expected_score(&self) -> f64 {
        expected(&self.harness.clip("ref.yuv"), &self.harness.clip("dis.yuv"))
    }

    /// Requests that the HTTP server has got.
    pub(crate) fn requests_for_clips(&self) -> usize {
        self.server.requests().len()
    }

    /// The result of the request, which must be the same through both front ends.
    pub(crate) async fn score(&self, request: &ScoringRequest) -> Result<ScoreResult, Failure> {
        let (queued, run_once) = (self.agent(request).await, self.run_once(request));
        assert_eq!(queued, run_once, "the queue's job and run-once differ");
        run_once
    }

    /// The failures of both front ends, whose messages may differ: the controller refuses some requests itself.
    pub(crate) async fn failures(&self, request: &ScoringRequest) -> [Failure; 2] {
        [self.agent(request).await.unwrap_err(), self.run_once(request).unwrap_err()]
    }

    /// The report of the request, which must be the same through both front ends.
    pub(crate) async fn report(&self, request: &ScoringRequest) -> String {
        let path = request.report_uri.as_ref().unwrap();
        let queued = self.agent(request).await.map(|_| std::fs::read_to_string(path).unwrap());
        _ = std::fs::remove_file(path);
        let run_once = self.run_once(request).map(|_| std::fs::read_to_string(path).unwrap());
        assert_eq!(queued, run_once, "the reports of the queue's job and run-once differ");
        run_once.unwrap()
    }

    /// As a job of the queue. It is attempted once, as by `run-once`.
    pub(crate) async fn agent(&self, request: &ScoringRequest) -> Result<ScoreResult, Failure> {
        self.submit(SubmitJobRequest { scoring: Some(request.clone().into()), ..Default::default() }).await
    }

    /// A job that an operator submitted for a resource.
    pub(crate) async fn agent_for_resource(&self, request: &ScoringRequest) -> Result<ScoreResult, Failure> {
        let origin = Some(ResourceRef { name: "a".to_owned(), ..ResourceRef::default() });
        let scoring = Some(request.clone().into());
        self.submit(SubmitJobRequest { scoring, origin, ..Default::default() }).await
    }

    async fn submit(&self, request: SubmitJobRequest) -> Result<ScoreResult, Failure> {
        let request = SubmitJobRequest { max_lost_attempts: Some(1), ..request };
        let job = match self.harness.submit_request(request).await {
            Ok(job) => self.harness.ended(&job).await,
            Err(status) => return Err(Failure::new(FailureReason::OptionsInvalid, status.message())),
        };
        if job.failure_reason != 0 {
            return Err(Failure::new(FailureReason::from_number(job.failure_reason), job.error));
        }
        Ok(result(job))
    }

    pub(crate) fn run_once(&self, request: &ScoringRequest) -> Result<ScoreResult, Failure> {
        let path = self.harness.clip("result.json");
        let roots = format!("{},{}", self.clip(""), self.server.url("/"));
        let output = Command::new(env!("CARGO_BIN_EXE_vmafx-node"))
            .args(["run-once", "--request", &serde_json::to_string(request).unwrap()])
            .args(["--scoring-roots", &roots])
            .arg("--ffmpeg-bin")
            .arg(&self.ffmpeg)
            .arg("--scratch-dir")
            .arg(self.harness.scratch())
            .arg("--result")
            .arg(&path)
            .output()
            .unwrap();
        let text = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        std::fs::remove_file(&path).unwrap();
        match serde_json::from_slice(&text).unwrap() {
            RunResult::Scored(result) => Ok(*result),
            RunResult::Failed { reason, message, .. } => Err(Failure::new(reason, message)),
        }
    }
}

/// The description of the headerless clips.
pub(crate) fn raw_video() -> RawVideo {
    RawVideo { width: 160, height: 90, pixel_format: PixelFormat::Yuv420p, bit_depth: BitDepth::Eight }
}

/// The result of a completed job, without the address of the report, which `run-once` leaves out.
fn result(job: Job) -> ScoreResult {
    let details = ScoreDetails { report_uri: String::new(), ..score_details(job.result.unwrap()) };
    ScoreResult { score: job.final_score, features: job.features, details: Some(details) }
}
