//! A controller and nodes as child processes, and clips.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::controller::v1::{
    CancelJobRequest, GetJobRequest, Job, JobStatus, ListNodesRequest, PlaneLayout, RawVideo, ScoringParams,
    SubmitJobRequest,
};
use vmafx_testkit::controller::{ControllerChannel, ControllerConfig, ControllerServer};
use vmafx_testkit::wait;

vmafx_testkit::controller_in_test_program!();

pub(crate) struct Harness {
    directory: tempfile::TempDir,
    controller: ControllerServer,
    pub(crate) client: VmafxControllerClient<ControllerChannel>,
}

impl Harness {
    pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

    pub(crate) async fn start() -> Self {
        Self::with_roots(&[]).await
    }

    /// With further scoring roots.
    pub(crate) async fn with_roots(more: &[&str]) -> Self {
        Self::with_controller(more, &[]).await
    }

    /// With further scoring roots and settings of the controller.
    pub(crate) async fn with_controller(more: &[&str], settings: &[(&str, &str)]) -> Self {
        let configure = |config: ControllerConfig, clips: &str| {
            let roots: Vec<&str> = more.iter().copied().chain([clips]).collect();
            config.env("VMAFX_SCORING_ROOTS", roots.join(",")).envs(settings)
        };
        Self::with(None, configure).await
    }

    /// With a controller that is configured for the directory of the clips; `token` is that of the client.
    pub(crate) async fn with(
        token: Option<&str>,
        configure: impl FnOnce(ControllerConfig, &str) -> ControllerConfig,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clips = directory.path().join("clips");
        std::fs::create_dir(&clips).unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data");
        std::fs::copy(data.join("ref_160x90.yuv"), clips.join("ref.yuv")).unwrap();
        std::fs::copy(data.join("dis_160x90.yuv"), clips.join("dis.yuv")).unwrap();
        let whole = std::fs::read(clips.join("dis.yuv")).unwrap();
        std::fs::write(clips.join("cut.yuv"), &whole[..whole.len() - 100]).unwrap();
        // Long enough to be observed while it is scored, and short enough to be scored twice.
        let reference = std::fs::read(clips.join("ref.yuv")).unwrap();
        std::fs::write(clips.join("longer_ref.yuv"), reference.repeat(30)).unwrap();
        std::fs::write(clips.join("longer_dis.yuv"), whole.repeat(30)).unwrap();
        // Long enough to be interrupted on any machine.
        std::fs::write(clips.join("long.yuv"), whole.repeat(400)).unwrap();

        let clips = clips.display().to_string();
        let controller = configure(controller_config(), &clips).start().await.unwrap();
        let client = VmafxControllerClient::new(controller.channel(token));
        Self { directory, controller, client }
    }

    /// The address of the controller's gRPC service.
    pub(crate) fn controller(&self) -> SocketAddr {
        self.controller.grpc()
    }

    pub(crate) fn clip(&self, name: &str) -> PathBuf {
        self.directory.path().join("clips").join(name)
    }

    /// The scratch directory of all nodes.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.directory.path().join("scratch")
    }

    pub(crate) fn node(&self, name: &str, arguments: &[&str]) -> Node {
        self.node_in(self.directory.path(), name, arguments)
    }

    /// A node with this working directory.
    pub(crate) fn node_in(&self, directory: &Path, name: &str, arguments: &[&str]) -> Node {
        self.node_of(Path::new(env!("CARGO_BIN_EXE_vmafx-node")), directory, name, arguments)
    }

    /// A node that this program runs.
    pub(crate) fn node_of(&self, program: &Path, directory: &Path, name: &str, arguments: &[&str]) -> Node {
        let child = Command::new(program)
            .args(["--controller-addr", &self.controller.grpc().to_string(), "--node-id", name])
            .arg("--scratch-dir")
            .arg(self.scratch())
            .args(arguments)
            .env("VMAFX_HTTP_ADDR", "0")
            .env("VMAFX_LOG_LEVEL", "warn")
            .current_dir(directory)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Node(child)
    }

    /// A node with this scratch directory that serves its health pages at the address.
    pub(crate) fn node_with_pages(&self, scratch: &Path, pages: SocketAddr) -> Node {
        let child = Command::new(env!("CARGO_BIN_EXE_vmafx-node"))
            .args(["--controller-addr", &self.controller.grpc().to_string(), "--node-id", "node-0"])
            .arg("--scratch-dir")
            .arg(scratch)
            .env("VMAFX_HTTP_ADDR", pages.to_string())
            .env("VMAFX_LOG_LEVEL", "warn")
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Node(child)
    }

    /// The same controller for a client with another token.
    pub(crate) fn as_client(&mut self, token: &str) -> &Self {
        self.client = VmafxControllerClient::new(self.controller.channel(Some(token)));
        self
    }

    pub(crate) fn kill_controller(&mut self) {
        self.controller.kill().unwrap();
    }

    /// Starts the controller again with its store.
    pub(crate) async fn restart_controller(&mut self) {
        self.controller.restart().await.unwrap();
    }

    /// The names of the registered nodes.
    pub(crate) async fn nodes(&self) -> Vec<String> {
        let nodes = self.client.clone().list_nodes(ListNodesRequest::default()).await.unwrap().into_inner();
        nodes.nodes.into_iter().map(|node| node.name).collect()
    }

    pub(crate) async fn submit(&self, reference: &str, distorted: &str) -> String {
        let address = |name: &str| self.clip(name).display().to_string();
        let scoring = params(Some((160, 90)), &address(reference), &address(distorted));
        self.submit_params(scoring).await.unwrap()
    }

    /// Submits a job that fails when this many of its attempts were lost.
    pub(crate) async fn submit_with_lost_limit(
        &self,
        reference: &str,
        distorted: &str,
        limit: u32,
    ) -> String {
        let address = |name: &str| self.clip(name).display().to_string();
        let scoring = params(Some((160, 90)), &address(reference), &address(distorted));
        self.submit_limited(scoring, limit).await.unwrap()
    }

    pub(crate) async fn submit_request(&self, request: SubmitJobRequest) -> Result<String, tonic::Status> {
        Ok(self.client.clone().submit_job(request).await?.into_inner().job_id)
    }

    pub(crate) async fn submit_limited(
        &self,
        scoring: ScoringParams,
        limit: u32,
    ) -> Result<String, tonic::Status> {
        let (scoring, max_lost_attempts) = (Some(scoring), Some(limit));
        self.submit_request(SubmitJobRequest { scoring, max_lost_attempts, ..Default::default() }).await
    }

    pub(crate) async fn submit_params(&self, scoring: ScoringParams) -> Result<String, tonic::Status> {
        self.submit_request(SubmitJobRequest { scoring: Some(scoring), ..SubmitJobRequest::default() }).await
    }

    pub(crate) async fn submit_long(&self) -> String {
        self.submit("long.yuv", "long.yuv").await
    }

    pub(crate) async fn cancel(&self, job: &str) {
        let request = CancelJobRequest { job_id: job.to_owned(), ..CancelJobRequest::default() };
        self.client.clone().cancel_job(request).await.unwrap();
    }

    pub(crate) async fn ended(&self, job: &str) -> Job {
        self.until(job, |job| !matches!(job.status(), JobStatus::Pending | JobStatus::Running)).await
    }

    pub(crate) async fn until(&self, job: &str, condition: impl Fn(&Job) -> bool) -> Job {
        self.until_within(Self::TIMEOUT, job, condition).await.unwrap()
    }

    /// Waits until a job satisfies the condition; `None` after the timeout.
    pub(crate) async fn until_within(
        &self,
        timeout: Duration,
        job: &str,
        condition: impl Fn(&Job) -> bool,
    ) -> Option<Job> {
        let poll = || async {
            let job = self.get(job).await;
            condition(&job).then_some(job)
        };
        wait::until(timeout, "the job", poll).await.ok()
    }

    /// Waits until one of the jobs satisfies the condition.
    pub(crate) async fn until_one(&self, jobs: &[String], condition: impl Fn(&Job) -> bool) -> Job {
        let poll = || async {
            for job in jobs {
                let job = self.get(job).await;
                if condition(&job) {
                    return Some(job);
                }
            }
            None
        };
        wait::until(Self::TIMEOUT, "one of the jobs", poll).await.unwrap()
    }

    pub(crate) async fn get(&self, job: &str) -> Job {
        let request = GetJobRequest { job_id: job.to_owned() };
        self.client.clone().get_job(request).await.unwrap().into_inner()
    }
}

/// The size is that of headerless clips.
pub(crate) fn params(size: Option<(u32, u32)>, reference: &str, distorted: &str) -> ScoringParams {
    let pixel_format = PlaneLayout::Yuv420p.into();
    ScoringParams {
        reference: reference.to_owned(),
        distorted: distorted.to_owned(),
        model: "vmaf_v0.6.1".into(),
        input: size.map(|(width, height)| RawVideo { width, height, pixel_format, bit_depth: 8 }),
        ..ScoringParams::default()
    }
}

/// A node process, killed when dropped.
pub(crate) struct Node(Child);

impl Node {
    pub(crate) fn id(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap()
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        kill_process(self.id(), Signal::TERM).unwrap();
    }

    /// Waits until it exits; returns the exit code.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
