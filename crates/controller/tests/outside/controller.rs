//! The real `vmafx-controller`, as a process of its own on ports of its own.

use std::fs::Permissions;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::wait;

use crate::http::Http;

/// A start on a busy machine, with a log to recover from.
const PATIENCE: Duration = Duration::from_mins(1);
/// Longer than any call that a test makes.
const CALL: Duration = Duration::from_secs(30);

/// Tokens of the tenant `acme`, each with one role.
pub(crate) const READER: &str = "reader-0123456789abcdef";
pub(crate) const WRITER: &str = "writer-0123456789abcdef";
pub(crate) const NODE: &str = "node-0123456789abcdef";
/// Everything that people may do, and a node too.
pub(crate) const ALL: &str = "all-0123456789abcdef";
/// Writer of another tenant.
pub(crate) const STRANGER: &str = "stranger-0123456789abcdef";

const TOKENS: &str = "tokens:
- {token: reader-0123456789abcdef, tenant: acme, roles: ['vmafx:reader']}
- {token: writer-0123456789abcdef, tenant: acme, roles: ['vmafx:writer']}
- {token: node-0123456789abcdef, tenant: acme, roles: ['vmafx:node']}
- {token: all-0123456789abcdef, tenant: acme, roles: ['vmafx:writer', 'vmafx:node']}
- {token: stranger-0123456789abcdef, tenant: other, roles: ['vmafx:writer', 'vmafx:node']}
";

/// The program.
pub(crate) fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_vmafx-controller").into()
}

/// A running controller. It ends with its owner.
pub(crate) struct Controller {
    process: ChildProcess,
    launch: ChildCommand,
    directory: Arc<TempDir>,
    /// Where HTTP is served.
    pub(crate) http: SocketAddr,
    /// Where gRPC is served.
    pub(crate) grpc: SocketAddr,
}

impl Controller {
    /// One with a queue in a new file, the tokens above and further settings, as soon as it is ready.
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().unwrap()), settings).await
    }

    /// The same, in a directory that outlives it.
    pub(crate) async fn start_in(directory: Arc<TempDir>, settings: &[(&str, &str)]) -> Self {
        let (http, grpc) = (free_port(), free_port());
        let path = directory.path().to_owned();
        let tokens = path.join("tokens.yaml");
        std::fs::write(&tokens, TOKENS).unwrap();
        std::fs::set_permissions(&tokens, Permissions::from_mode(0o600)).unwrap();
        let log = path.join(format!("controller-{}.log", grpc.port()));
        let mut launch = ChildCommand::new("vmafx-controller", program(), log)
            .env("VMAFX_HTTP_ADDR", http.to_string())
            .env("VMAFX_GRPC_LISTEN", grpc.to_string())
            .env("VMAFX_DB_PATH", path.join("queue.db"))
            .env("VMAFX_AUTH_TOKEN_FILE", tokens)
            .env("VMAFX_SCORING_ROOTS", "/clips");
        for (variable, value) in settings {
            launch = launch.env(*variable, *value);
        }
        let process = ChildProcess::start(&launch).unwrap();
        let mut controller = Self { process, launch, directory, http, grpc };
        controller.ready().await;
        controller
    }

    /// Where its files are.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Waits until it serves.
    async fn ready(&mut self) {
        let http = Http::new(self.http, None);
        let ready = || {
            let http = http.clone();
            async move { http.try_get("/readyz").await.is_ok_and(|answer| answer.status == 200) }
        };
        self.process.ready(PATIENCE, ready).await.unwrap();
    }

    /// The end that nobody is told of.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    /// Begins again, at the same addresses and with the same store.
    pub(crate) async fn begin_again(&mut self) {
        self.process = ChildProcess::start(&self.launch).unwrap();
        self.ready().await;
    }

    /// Asks it to stop.
    pub(crate) fn terminate(&mut self) {
        self.process.signal(Signal::TERM).unwrap();
    }

    /// How it ended, once it has.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = || std::future::ready(self.process.ended().is_some());
        wait::until(PATIENCE, "the controller's end", ended).await.unwrap();
        self.process.wait().unwrap()
    }

    /// Everything that it logged.
    pub(crate) fn log(&self) -> String {
        let log = self.directory.path().join(format!("controller-{}.log", self.grpc.port()));
        std::fs::read_to_string(log).unwrap_or_default()
    }

    /// Somebody with curl, and with a token.
    pub(crate) fn http_with(&self, token: &str) -> Http {
        Http::new(self.http, Some(token))
    }

    /// Somebody who speaks gRPC, with a token. The connection is made when it is needed, and made again.
    pub(crate) fn client(&self, token: &'static str) -> Client {
        client(self.grpc, token)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the end of the controller's log:\n{}", self.process.log_tail());
        }
    }
}

/// A client with a token.
pub(crate) type Client = VmafxControllerClient<InterceptedService<Channel, Bearer>>;

/// Somebody who speaks gRPC to an address.
pub(crate) fn client(addr: SocketAddr, token: &'static str) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{addr}")).unwrap().timeout(CALL);
    let bearer = Bearer(format!("Bearer {token}").parse().unwrap());
    VmafxControllerClient::with_interceptor(endpoint.connect_lazy(), bearer)
}

/// Puts the token into every call.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// A port that nobody has. Below those that the system hands out to clients, so that it is still free after a kill.
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
