//! Two controllers on one database, and the nodes that work for them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use vmafx_kit::channel::{ChannelArgs, GrpcChannel, repeatable};
use vmafx_kit::config::{Environment, HostPorts, parse};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::controller::v1::{
    Job, JobStatus, ListJobsRequest, PlaneLayout, RawVideo, ScoringParams, SubmitJobRequest,
};
use vmafx_testkit::controller::{ControllerConfig, ControllerServer};
use vmafx_testkit::http_client;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer};
use vmafx_testkit::tcp_proxy::TcpProxy;
use vmafx_testkit::wait;

vmafx_testkit::controller_in_test_program!();

/// Long enough for any step on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

const NODES: usize = 3;

/// How nodes and clients reach the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    AddressList,
    LoadBalancer,
}

pub(crate) fn data() -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data");
    data.canonicalize().unwrap().display().to_string()
}

pub(crate) fn config() -> ControllerConfig {
    controller_config().env("VMAFX_SCORING_ROOTS", data())
}

pub(crate) struct Harness {
    pub(crate) controllers: [ControllerServer; 2],
    /// Between the first controller and the database.
    pub(crate) database_proxy: TcpProxy,
    balancer: Option<TcpProxy>,
    pub(crate) client: Client,
    nodes: Vec<ChildProcess>,
    _database: PostgresDatabase,
    directory: tempfile::TempDir,
}

impl Harness {
    pub(crate) async fn start(access: Access) -> Self {
        let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
        let (before, host) = database.dsn().split_once("127.0.0.1:").unwrap();
        let (port, after) = host.split_once('/').unwrap();
        let server = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
        let database_proxy = TcpProxy::start([server]).await.unwrap();
        let through_proxy = format!("{before}{}/{after}", database_proxy.address());
        let controllers = [
            config().postgres(&through_proxy).start().await.unwrap(),
            config().postgres(database.dsn()).start().await.unwrap(),
        ];
        let addresses = controllers.each_ref().map(ControllerServer::grpc);
        let (balancer, address) = match access {
            Access::AddressList => (None, format!("{},{}", addresses[0], addresses[1])),
            Access::LoadBalancer => {
                let balancer = TcpProxy::start(addresses).await.unwrap();
                let address = balancer.address().to_string();
                (Some(balancer), address)
            }
        };
        let directory = tempfile::tempdir().unwrap();
        let nodes = (0..NODES).map(|number| node(number, &address, directory.path())).collect();
        let client = Client::new(&address);
        Self { controllers, database_proxy, balancer, client, nodes, _database: database, directory }
    }

    /// Sends new connections only to controllers that are ready, as soon as their readiness changes.
    pub(crate) async fn follow_readiness(&self) {
        let Some(balancer) = &self.balancer else { return };
        let mut ready = Vec::new();
        for controller in &self.controllers {
            if http_client::is_ready(controller.http()).await {
                ready.push(controller.grpc());
            }
        }
        balancer.set_targets(ready);
    }

    pub(crate) async fn until_ready(&self, controller: usize, expected: bool) {
        let http = self.controllers[controller].http();
        let as_expected = || async { http_client::is_ready(http).await == expected };
        wait::until(TIMEOUT, "the readiness of a controller", as_expected).await.unwrap();
        self.follow_readiness().await;
    }

    /// Waits until this many jobs are completed.
    pub(crate) async fn until_completed(&self, count: usize) -> Vec<Job> {
        wait::until(TIMEOUT, "jobs to be completed", || async {
            let jobs = self.client.jobs().await;
            let done = jobs.iter().filter(|job| job.status() == JobStatus::Completed).count();
            if done >= count { Ok(jobs) } else { Err(format!("{done} of {count}: {jobs:?}")) }
        })
        .await
        .unwrap()
    }

    /// Submits jobs until every node has completed one of them. Returns how many were submitted.
    pub(crate) async fn until_every_node_worked(&self) -> usize {
        let mut submitted = Vec::new();
        loop {
            submitted.push(self.client.submit(None).await);
            let jobs = self.until_ended(&submitted).await;
            let nodes: BTreeSet<&str> = jobs.iter().map(|job| job.assigned_node.as_str()).collect();
            if nodes.len() == NODES {
                return submitted.len();
            }
            assert!(submitted.len() < 500, "only {nodes:?} work");
        }
    }

    async fn until_ended(&self, ids: &[String]) -> Vec<Job> {
        // Two jobs stay open, so that more than one node has work.
        let open = 2.min(ids.len() - 1);
        wait::until(TIMEOUT, "the jobs to end", || async {
            let jobs = self.client.jobs().await;
            let ended: Vec<Job> = jobs
                .into_iter()
                .filter(|job| ids.contains(&job.id) && job.status() == JobStatus::Completed)
                .collect();
            if ended.len() + open >= ids.len() { Ok(ended) } else { Err(format!("{} ended", ended.len())) }
        })
        .await
        .unwrap()
    }

    /// Every job was completed by the attempt that began it: none was lost, failed or repeated.
    pub(crate) fn check_all(jobs: &[Job]) {
        for job in jobs {
            assert_eq!((job.status(), job.error.as_str()), (JobStatus::Completed, ""), "{job:?}");
            assert_eq!(job.lost_attempts, 0, "{job:?}");
        }
    }

    pub(crate) fn nodes_log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("nodes.log")).unwrap_or_default()
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.nodes_log();
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            eprintln!("the end of the log of the nodes, newest first:\n{}", tail.join("\n"));
        }
        for node in &mut self.nodes {
            let _ = node.kill();
        }
    }
}

pub(crate) fn node(number: usize, address: &str, directory: &Path) -> ChildProcess {
    let launch = ChildCommand::new("a node", env!("CARGO_BIN_EXE_vmafx-node"), directory.join("nodes.log"))
        .env("VMAFX_CONTROLLER_ADDR", address)
        .env("VMAFX_NODE_ID", format!("node-{number}"))
        .env("VMAFX_SCRATCH_DIR", directory.join("scratch"))
        .env("VMAFX_HTTP_ADDR", "0");
    ChildProcess::start(&launch).unwrap()
}

/// A client with the channel that the operator uses. Every one of its calls must succeed.
#[derive(Clone)]
pub(crate) struct Client(VmafxControllerClient<GrpcChannel>);

#[derive(Debug, clap::Parser)]
struct ChannelSettings {
    #[command(flatten)]
    channel: ChannelArgs,
}

impl Client {
    pub(crate) fn new(address: &str) -> Self {
        let address: HostPorts = address.parse().unwrap();
        let settings = parse::<ChannelSettings>(["client"], &Environment::default(), &[]).ok().unwrap();
        Self(VmafxControllerClient::new(settings.channel.open(&address).unwrap()))
    }

    pub(crate) async fn submit(&self, max_lost_attempts: Option<u32>) -> String {
        let pixel_format = PlaneLayout::Yuv420p.into();
        let scoring = ScoringParams {
            reference: format!("{}/ref_160x90.yuv", data()),
            distorted: format!("{}/dis_160x90.yuv", data()),
            model: "vmaf_v0.6.1".into(),
            input: Some(RawVideo { width: 160, height: 90, pixel_format, bit_depth: 8 }),
            ..ScoringParams::default()
        };
        let request = SubmitJobRequest {
            scoring: Some(scoring),
            idempotency_key: uuid::Uuid::new_v4().to_string(),
            max_lost_attempts,
            ..SubmitJobRequest::default()
        };
        self.0.clone().submit_job(repeatable(request)).await.unwrap().into_inner().job_id
    }

    pub(crate) async fn jobs(&self) -> Vec<Job> {
        let request = ListJobsRequest { page_size: 1000, ..ListJobsRequest::default() };
        self.0.clone().list_jobs(repeatable(request)).await.unwrap().into_inner().jobs
    }
}
