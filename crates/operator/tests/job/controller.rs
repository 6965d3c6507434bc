//! The real controller as a process of its own: this test program, started again with one test that serves until it is
//! killed.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Request, Status};
use vmafx_controller::settings::Settings;
use vmafx_kit::config::{Environment, parse};
use vmafx_kit::daemon;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};

use crate::SOON;

/// Authorized for every call.
pub(crate) const TOKEN: &str = "all-0123456789abcdef";

const TOKENS: &str =
    "tokens: [{token: all-0123456789abcdef, tenant: acme, roles: ['vmafx:writer', 'vmafx:node']}]\n";

/// Set in the process that is the controller.
const SERVE: &str = "VMAFX_TEST_SERVE_CONTROLLER";

#[test]
#[ignore = "started as the controller of the other tests"]
fn serve() {
    if std::env::var_os(SERVE).is_some() {
        let settings = parse::<Settings>(["vmafx-controller"], &Environment::of_process(), &[])
            .unwrap_or_else(|_| panic!("settings"));
        daemon::run(settings, vmafx_controller::start::start).unwrap();
    }
}

/// A running controller; dropping it kills the process.
pub(crate) struct Controller {
    process: ChildProcess,
    launch: ChildCommand,
    directory: TempDir,
    pub(crate) grpc: SocketAddr,
    http: SocketAddr,
}

impl Controller {
    /// Starts with an empty store and waits until it is ready.
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (grpc, http) = (free_port(), free_port());
        let tokens = directory.path().join("tokens.yaml");
        fs::write(&tokens, TOKENS).unwrap();
        fs::set_permissions(&tokens, Permissions::from_mode(0o600)).unwrap();
        let launch =
            ChildCommand::new("controller", std::env::current_exe().unwrap(), directory.path().join("log"))
                .args(["--exact", "controller::serve", "--ignored", "--nocapture", "--test-threads", "1"])
                .env(SERVE, "1")
                .env("VMAFX_HTTP_ADDR", http.to_string())
                .env("VMAFX_GRPC_LISTEN", grpc.to_string())
                .env("VMAFX_DB_PATH", directory.path().join("store/queue.db"))
                .env("VMAFX_AUTH_TOKEN_FILE", tokens)
                .env("VMAFX_SCORING_ROOTS", "/clips");
        fs::create_dir(directory.path().join("store")).unwrap();
        let process = ChildProcess::start(&launch).unwrap();
        let mut controller = Self { process, launch, directory, grpc, http };
        controller.ready().await;
        controller
    }

    /// The base URL of its health endpoints.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    async fn ready(&mut self) {
        vmafx_kit::tls::install_crypto_provider();
        let url = format!("{}/readyz", self.url());
        let ready = || {
            let url = url.clone();
            async move { reqwest::get(url).await.is_ok_and(|answer| answer.status() == 200) }
        };
        self.process.ready(SOON, ready).await.unwrap();
    }

    /// Kills the process without a graceful shutdown.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    /// Starts it again at the same addresses, with the current content of its store.
    pub(crate) async fn restart(&mut self) {
        self.process = ChildProcess::start(&self.launch).unwrap();
        self.ready().await;
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// A copy of its store. It must not be running.
    pub(crate) fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_files(&self.store(), copy.path());
        copy
    }

    /// Replaces its store by a copy, or empties it. It must not be running.
    pub(crate) fn restore(&self, copy: Option<&TempDir>) {
        fs::remove_dir_all(self.store()).unwrap();
        fs::create_dir(self.store()).unwrap();
        if let Some(copy) = copy {
            copy_files(copy.path(), &self.store());
        }
    }

    /// A client that connects when needed and reconnects.
    pub(crate) fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).unwrap().timeout(SOON);
        let bearer = Bearer(format!("Bearer {TOKEN}").parse().unwrap());
        VmafxControllerClient::with_interceptor(endpoint.connect_lazy(), bearer)
    }

    /// All jobs, oldest first.
    pub(crate) async fn jobs(&self) -> Vec<wire::Job> {
        let (mut jobs, mut client) = (Vec::new(), self.client());
        let mut request = wire::ListJobsRequest { page_size: 1000, ..wire::ListJobsRequest::default() };
        loop {
            let page = client.list_jobs(request.clone()).await.unwrap().into_inner();
            jobs.extend(page.jobs);
            if page.next_page_token.is_empty() {
                return jobs;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Jobs that are pending or running.
    pub(crate) async fn open_jobs(&self) -> Vec<wire::Job> {
        let open = [wire::JobStatus::Pending, wire::JobStatus::Running];
        self.jobs().await.into_iter().filter(|job| open.contains(&job.status())).collect()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("end of the controller's log:\n{}", self.process.log_tail());
        }
    }
}

fn copy_files(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

pub(crate) type Client = VmafxControllerClient<InterceptedService<tonic::transport::Channel, Bearer>>;

#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// A free port below the ephemeral range, so that it is still free after a kill.
fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let port = 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(addr).is_ok() {
            return addr;
        }
    }
}
