//! The real controller as a process of its own, with its database in a file.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use vmafx_controller::settings::Settings;
use vmafx_kit::config::{Environment, parse};
use vmafx_kit::daemon;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};

use crate::pages::page;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Set in the process that runs the controller.
const ROLE: &str = "VMAFX_TEST_IS_CONTROLLER";

/// Short enough for leases to expire within the test; enough lost attempts for every job.
const SETTINGS: [(&str, &str); 6] = [
    ("VMAFX_STORE_LEASE_TTL", "1s"),
    ("VMAFX_STORE_SESSION_TTL", "2s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "200ms"),
    ("VMAFX_STORE_BACKOFF_BASE", "50ms"),
    ("VMAFX_STORE_BACKOFF_MAX", "200ms"),
    ("VMAFX_STORE_MAX_LOST_ATTEMPTS", "101"),
];

pub(crate) type Client = VmafxControllerClient<Channel>;

pub(crate) struct Controller {
    process: ChildProcess,
    launch: ChildCommand,
    http: String,
    grpc: String,
}

impl Controller {
    pub(crate) async fn start(directory: &Path, roots: &[String]) -> Self {
        let (http, grpc) = (free_address(), free_address());
        let program = std::env::current_exe().unwrap();
        let mut launch = ChildCommand::new("the controller", program, directory.join("controller.log"))
            .args([
                "--exact",
                "controller::this_program_runs_the_controller_if_the_environment_says_so",
                "--nocapture",
            ])
            .env(ROLE, "yes")
            .env("VMAFX_AUTH_DISABLED", "true")
            .env("VMAFX_HTTP_ADDR", http.as_str())
            .env("VMAFX_GRPC_LISTEN", grpc.as_str())
            .env("VMAFX_DB_PATH", directory.join("queue.db"))
            .env("VMAFX_SCORING_ROOTS", roots.join(","));
        for (variable, value) in SETTINGS {
            launch = launch.env(variable, value);
        }
        let process = ChildProcess::start(&launch).unwrap();
        let mut controller = Self { process, launch, http, grpc };
        controller.ready().await;
        controller
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    /// Restarts with the same addresses and database.
    pub(crate) async fn restart(&mut self) {
        self.process = ChildProcess::start(&self.launch).unwrap();
        self.ready().await;
    }

    async fn ready(&mut self) {
        let address = self.http.clone();
        let ready = || {
            let address = address.clone();
            async move {
                page(&address, "/readyz").await.is_ok_and(|response| response.starts_with("HTTP/1.1 200"))
            }
        };
        self.process.ready(TIMEOUT, ready).await.unwrap();
    }

    /// Address of the gRPC service.
    pub(crate) fn address(&self) -> &str {
        &self.grpc
    }

    pub(crate) fn http(&self) -> &str {
        &self.http
    }

    /// The connection is opened lazily, and again after a restart.
    pub(crate) fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).unwrap();
        VmafxControllerClient::new(endpoint.timeout(Duration::from_secs(10)).connect_lazy())
    }
}

/// Cargo builds nothing but the tests and `vmafx-node` for this test, so the controller is this test program, started
/// again. Without the variable the test does nothing.
#[test]
fn this_program_runs_the_controller_if_the_environment_says_so() {
    if std::env::var_os(ROLE).is_some() {
        let settings: Settings = parse(["vmafx-controller"], &Environment::of_process(), &[]).ok().unwrap();
        daemon::run(settings, vmafx_controller::start::start).unwrap();
    }
}

/// A free port below the ephemeral range, so that it is still free after the process was killed.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let port = 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address.to_string();
        }
    }
}
