//! A controller for measurements.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};

use crate::workspace;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Token of a caller with the roles writer and node.
pub(super) const TOKEN: &str = "bench-0123456789abcdef";
const TOKENS: &str =
    "tokens: [{token: bench-0123456789abcdef, tenant: bench, roles: ['vmafx:writer', 'vmafx:node']}]\n";

/// Stopped on drop.
pub(super) struct Controller {
    process: ChildProcess,
    pub(super) grpc: SocketAddr,
    pub(super) http: SocketAddr,
}

impl Controller {
    /// Starts a controller with its files in `directory`, and waits until it is ready.
    pub(super) fn start(runtime: &Runtime, directory: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let (http, grpc) = (free_port()?, free_port()?);
        let tokens = directory.join("tokens.yaml");
        fs::write(&tokens, TOKENS)?;
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600))?;
        let log = directory.join(format!("controller-{}.log", grpc.port()));
        let mut launch = ChildCommand::new("vmafx-controller", workspace::release("vmafx-controller"), log)
            .env("VMAFX_HTTP_ADDR", http.to_string())
            .env("VMAFX_GRPC_LISTEN", grpc.to_string())
            .env("VMAFX_DB_PATH", directory.join("queue.db"))
            .env("VMAFX_AUTH_TOKEN_FILE", tokens)
            .env("VMAFX_SCORING_ROOTS", "/clips");
        for (variable, value) in settings {
            launch = launch.env(*variable, *value);
        }
        let mut process = ChildProcess::start(&launch).context("cannot start the controller")?;
        let ready = || std::future::ready(is_ready(http).unwrap_or(false));
        runtime.block_on(process.ready(TIMEOUT, ready))?;
        Ok(Self { process, grpc, http })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

pub(super) fn free_port() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// Whether `/readyz` at this address answers 200.
pub(super) fn is_ready(addr: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&addr, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response.starts_with("HTTP/1.1 200"))
}
