//! A real OCI registry (CNCF Distribution) with several kinds of storage and authentication.

mod storage;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::kube::assets::{self, Binary};
use crate::kube::pki::Authority;
use crate::kube::process::ChildProcess;
use crate::rclone::TestServerError;

pub use storage::RegistryStorage;

/// Common name of its certificate, and stem of the file names.
const CERTIFICATE_NAME: &str = "registry";

const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// The user of a registry with [`RegistryAuth::Password`].
pub const USER: &str = "testkit";
/// The password of a registry with [`RegistryAuth::Password`].
pub const PASSWORD: &str = "registry-password";
/// [`USER`] and the bcrypt hash of [`PASSWORD`].
const HTPASSWD: &str = "testkit:$2a$05$eiRTliqE.3F7hhjuYM.dYudxjw3x0m6XU66fjAduJUffLVzLG0pHu\n";

/// How clients authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryAuth {
    /// Without credentials.
    Open,
    /// [`USER`] with [`PASSWORD`].
    Password,
    /// Without credentials, over TLS, with a certificate for 127.0.0.1 that is signed by [`RegistryServer::ca_file`].
    Tls,
}

/// A registry on this machine, until it is dropped.
#[derive(Debug)]
pub struct RegistryServer {
    process: ChildProcess,
    address: String,
    access: RegistryAuth,
    starts: usize,
    directory: tempfile::TempDir,
}

#[derive(Clone, Debug)]
pub struct RegistryLayer<'a> {
    pub media_type: &'a str,
    pub content: &'a [u8],
}

impl RegistryServer {
    /// Starts a registry that keeps everything in memory.
    pub async fn start(access: RegistryAuth) -> Result<Self, TestServerError> {
        Self::start_on(RegistryStorage::Memory, access).await
    }

    pub async fn start_on(storage: RegistryStorage, access: RegistryAuth) -> Result<Self, TestServerError> {
        let directory = tempfile::Builder::new().prefix("vmafx-registry-").tempdir()?;
        fs::write(directory.path().join("htpasswd"), HTPASSWD)?;
        if access == RegistryAuth::Tls {
            Authority::create(directory.path())?.server(CERTIFICATE_NAME, None, &["127.0.0.1"])?;
        }
        let (process, address) = launch(directory.path(), 0, "127.0.0.1:0", storage, access).await?;
        Ok(Self { process, address, access, starts: 1, directory })
    }

    /// Kills the registry and starts it again at the same address; data on disk is kept.
    pub async fn restart_on(&mut self, storage: RegistryStorage) -> Result<(), TestServerError> {
        self.process.kill()?;
        let (process, _) =
            launch(self.directory.path(), self.starts, &self.address, storage, self.access).await?;
        (self.process, self.starts) = (process, self.starts + 1);
        Ok(())
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The certificate file of its CA, with [`RegistryAuth::Tls`].
    pub fn ca_file(&self) -> PathBuf {
        self.directory.path().join("ca.crt")
    }

    /// Kills the registry.
    pub fn stop(&mut self) -> std::io::Result<()> {
        self.process.kill()
    }

    /// The number of successful GET requests for a path, from the registry's log.
    pub fn served(&self, path: &str) -> usize {
        let asked = format!("\"GET {path} ");
        self.log().lines().filter(|line| line.contains(&asked) && line.contains(" 200 ")).count()
    }

    /// The number of requests for paths with this prefix, successful or not, from the registry's log.
    pub fn request_count(&self, method: &str, prefix: &str) -> usize {
        let asked = format!("\"{method} {prefix}");
        self.log().lines().filter(|line| line.contains(&asked)).count()
    }

    fn log(&self) -> String {
        let logs = (0..self.starts).map(|start| log(self.directory.path(), start));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect()
    }

    /// Pushes an artifact and returns the digest of its manifest. Blocks.
    pub fn push(&self, repository: &str, tag: &str, layers: &[RegistryLayer<'_>]) -> std::io::Result<String> {
        let describe = |layer: &RegistryLayer<'_>| json!({"mediaType": layer.media_type, "digest": wire::digest(layer.content), "size": layer.content.len()});
        let config = RegistryLayer { media_type: "application/vnd.oci.empty.v1+json", content: b"{}" };
        for layer in layers.iter().chain([&config]) {
            self.upload(repository, layer.content)?;
        }
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "artifactType": "application/vnd.vmafx.model.v1",
            "config": describe(&config),
            "layers": layers.iter().map(describe).collect::<Vec<_>>(),
        })
        .to_string();
        let path = format!("/v2/{repository}/manifests/{tag}");
        let headers = [("content-type", "application/vnd.oci.image.manifest.v1+json")];
        self.send("PUT", &path, &headers, manifest.as_bytes())?;
        Ok(wire::digest(manifest.as_bytes()))
    }

    /// Pushes an index of existing manifests and returns its digest. Blocks.
    pub fn push_index(&self, repository: &str, tag: &str, manifests: &[String]) -> std::io::Result<String> {
        const INDEX: &str = "application/vnd.oci.image.index.v1+json";
        let entries = manifests.iter().map(|digest| {
            json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 2})
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries.collect::<Vec<_>>()});
        let (path, index) = (format!("/v2/{repository}/manifests/{tag}"), index.to_string());
        self.send("PUT", &path, &[("content-type", INDEX)], index.as_bytes())?;
        Ok(wire::digest(index.as_bytes()))
    }

    fn upload(&self, repository: &str, content: &[u8]) -> std::io::Result<()> {
        let location = self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), &[], b"")?;
        let location =
            location.ok_or_else(|| std::io::Error::other("the registry sent no upload location"))?;
        let path = location.strip_prefix(&format!("http://{}", self.address)).unwrap_or(&location);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}digest={}", wire::digest(content));
        self.send("PUT", &path, &[("content-type", "application/octet-stream")], content).map(drop)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Option<String>> {
        let login = (self.access == RegistryAuth::Password).then_some((USER, PASSWORD));
        wire::send(&self.address, method, path, headers, login, body)
    }
}

fn log(directory: &Path, start: usize) -> PathBuf {
    directory.join(format!("log-{start}"))
}

/// Starts the registry in a directory and returns its process and address. `start` numbers the log file.
async fn launch(
    directory: &Path,
    start: usize,
    address: &str,
    storage: RegistryStorage,
    access: RegistryAuth,
) -> Result<(ChildProcess, String), TestServerError> {
    let program = assets::ensure(&[Binary::Registry])?.path(Binary::Registry).to_owned();
    let (config, log) = (directory.join("config.yml"), log(directory, start));
    // JSON is valid YAML.
    let mut settings = json!({
        "version": "0.1",
        "log": {"level": "info"},
        "storage": storage.settings(&directory.join("data")),
        "http": {"addr": address},
    });
    if access == RegistryAuth::Password {
        settings["auth"] = json!({"htpasswd": {"realm": "testkit", "path": directory.join("htpasswd")}});
    }
    if access == RegistryAuth::Tls {
        let file = |end| directory.join(format!("{CERTIFICATE_NAME}.{end}"));
        settings["http"]["tls"] = json!({"certificate": file("crt"), "key": file("key")});
    }
    fs::write(&config, settings.to_string())?;
    let launch = storage.command(program, &log).arg("serve").arg(&config);
    // By default traces are sent to a port that nothing listens on.
    let mut process = ChildProcess::start(&launch.env("OTEL_TRACES_EXPORTER", "none"))?;
    let address = process.ready(READY_TIMEOUT, async || listening(&log)).await?;
    Ok((process, address))
}

/// The listen address from the log.
fn listening(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (_, after) = log.split_once("listening on ")?;
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    Some(after[..end].to_owned())
}
