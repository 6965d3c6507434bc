//! A real OCI registry: CNCF Distribution, in memory or on disk, open, with a password or with TLS, healthy or not.

mod storage;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::kube::assets::{self, Binary};
use crate::kube::pki::Authority;
use crate::kube::process::Process;
use crate::rclone::ServerError;

pub use storage::Storage;

/// In its certificate.
const NAME: &str = "registry";

const READY: Duration = Duration::from_secs(30);

/// Who may use a registry with [`Access::Password`].
pub const USER: &str = "testkit";
/// The password.
pub const PASSWORD: &str = "registry-password";
/// `testkit` and the password, hashed by bcrypt.
const HTPASSWD: &str = "testkit:$2a$05$eiRTliqE.3F7hhjuYM.dYudxjw3x0m6XU66fjAduJUffLVzLG0pHu\n";

/// Whom it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// [`USER`] with [`PASSWORD`].
    Password,
    /// Everybody, over TLS, as 127.0.0.1 by a certificate of [`Registry::authority`].
    Tls,
}

/// A registry on this machine, until it is dropped.
#[derive(Debug)]
pub struct Registry {
    process: Process,
    address: String,
    access: Access,
    starts: usize,
    directory: tempfile::TempDir,
}

/// One layer of an artifact.
#[derive(Clone, Debug)]
pub struct Layer<'a> {
    /// What it is.
    pub media_type: &'a str,
    /// What is in it.
    pub content: &'a [u8],
}

impl Registry {
    /// Starts one with everything in memory.
    pub async fn start(access: Access) -> Result<Self, ServerError> {
        Self::start_on(Storage::Memory, access).await
    }

    /// Starts one that keeps what it has there.
    pub async fn start_on(storage: Storage, access: Access) -> Result<Self, ServerError> {
        let directory = tempfile::Builder::new().prefix("vmafx-registry-").tempdir()?;
        fs::write(directory.path().join("htpasswd"), HTPASSWD)?;
        if access == Access::Tls {
            Authority::create(directory.path())?.server(NAME, None, &["127.0.0.1"])?;
        }
        let (process, address) = launch(directory.path(), 0, "127.0.0.1:0", storage, access).await?;
        Ok(Self { process, address, access, starts: 1, directory })
    }

    /// Ends it, if it still runs, and starts it again at the same address; what was on disk is still there.
    pub async fn restart_on(&mut self, storage: Storage) -> Result<(), ServerError> {
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

    /// The file of the authority that vouches for it, if it speaks TLS.
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.crt")
    }

    /// Ends it, as a registry that is down.
    pub fn stop(&mut self) -> std::io::Result<()> {
        self.process.kill()
    }

    /// How often a path was asked for with success, by its own log.
    pub fn served(&self, path: &str) -> usize {
        let asked = format!("\"GET {path} ");
        self.log().lines().filter(|line| line.contains(&asked) && line.contains(" 200 ")).count()
    }

    /// How often something below a path was asked for, with success or without.
    pub fn asked(&self, method: &str, below: &str) -> usize {
        let asked = format!("\"{method} {below}");
        self.log().lines().filter(|line| line.contains(&asked)).count()
    }

    fn log(&self) -> String {
        let logs = (0..self.starts).map(|start| log(self.directory.path(), start));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect()
    }

    /// Pushes an artifact; its manifest's digest. Blocks.
    pub fn push(&self, repository: &str, tag: &str, layers: &[Layer<'_>]) -> std::io::Result<String> {
        let describe = |layer: &Layer<'_>| json!({"mediaType": layer.media_type, "digest": wire::digest(layer.content), "size": layer.content.len()});
        let config = Layer { media_type: "application/vnd.oci.empty.v1+json", content: b"{}" };
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
        let kind = [("content-type", "application/vnd.oci.image.manifest.v1+json")];
        self.send("PUT", &path, &kind, manifest.as_bytes())?;
        Ok(wire::digest(manifest.as_bytes()))
    }

    /// Pushes an index of manifests that are there; its digest. Blocks.
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
        let place = self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), &[], b"")?;
        let place = place.ok_or_else(|| std::io::Error::other("the registry names no place to upload to"))?;
        let path = place.strip_prefix(&format!("http://{}", self.address)).unwrap_or(&place);
        let mark = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{mark}digest={}", wire::digest(content));
        self.send("PUT", &path, &[("content-type", "application/octet-stream")], content).map(drop)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Option<String>> {
        let login = (self.access == Access::Password).then_some((USER, PASSWORD));
        wire::send(&self.address, method, path, headers, login, body)
    }
}

fn log(directory: &Path, start: usize) -> PathBuf {
    directory.join(format!("log-{start}"))
}

/// Starts it in a directory, for the first time or again; its process and its address.
async fn launch(
    directory: &Path,
    start: usize,
    address: &str,
    storage: Storage,
    access: Access,
) -> Result<(Process, String), ServerError> {
    let program = assets::ensure(&[Binary::Registry])?.path(Binary::Registry).to_owned();
    let (config, log) = (directory.join("config.yml"), log(directory, start));
    // JSON is YAML.
    let mut settings = json!({
        "version": "0.1",
        "log": {"level": "info"},
        "storage": storage.settings(&directory.join("data")),
        "http": {"addr": address},
    });
    if access == Access::Password {
        settings["auth"] = json!({"htpasswd": {"realm": "testkit", "path": directory.join("htpasswd")}});
    }
    if access == Access::Tls {
        let file = |end| directory.join(format!("{NAME}.{end}"));
        settings["http"]["tls"] = json!({"certificate": file("crt"), "key": file("key")});
    }
    fs::write(&config, settings.to_string())?;
    let launch = storage.launch(program, &log).arg("serve").arg(&config);
    // Traces would be sent to a port that nobody listens on.
    let mut process = Process::start(&launch.env("OTEL_TRACES_EXPORTER", "none"))?;
    let address = process.ready(READY, async || listening(&log)).await?;
    Ok((process, address))
}

/// The address that it says it listens on.
fn listening(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (_, after) = log.split_once("listening on ")?;
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    Some(after[..end].to_owned())
}
