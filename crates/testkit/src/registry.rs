//! A real OCI registry: CNCF Distribution, with everything in memory.

mod wire;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::kube::assets::{self, Binary};
use crate::kube::process::{Launch, Process};
use crate::rclone::ServerError;

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
}

/// A registry on this machine, until it is dropped.
#[derive(Debug)]
pub struct Registry {
    process: Process,
    address: String,
    access: Access,
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
    /// Starts one.
    pub async fn start(access: Access) -> Result<Self, ServerError> {
        let program = assets::ensure(&[Binary::Registry])?.path(Binary::Registry).to_owned();
        let directory = tempfile::Builder::new().prefix("vmafx-registry-").tempdir()?;
        let (config, users, log) = (
            directory.path().join("config.yml"),
            directory.path().join("htpasswd"),
            directory.path().join("log"),
        );
        fs::write(&users, HTPASSWD)?;
        // JSON is YAML.
        let mut settings = json!({
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"inmemory": {}, "delete": {"enabled": true}},
            "http": {"addr": "127.0.0.1:0"},
        });
        if access == Access::Password {
            settings["auth"] = json!({"htpasswd": {"realm": "testkit", "path": users}});
        }
        fs::write(&config, settings.to_string())?;
        let launch = Launch::new("registry", program, &log).arg("serve").arg(&config);
        // Traces would be sent to a port that nobody listens on.
        let mut process = Process::start(&launch.env("OTEL_TRACES_EXPORTER", "none"))?;
        let address = process.ready(READY, async || listening(&log)).await?;
        Ok(Self { process, address, access, directory })
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it, as a registry that is down.
    pub fn stop(&mut self) -> std::io::Result<()> {
        self.process.kill()
    }

    /// How often a path was asked for with success, by its own log.
    pub fn served(&self, path: &str) -> usize {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let asked = format!("\"GET {path} ");
        log.lines().filter(|line| line.contains(&asked) && line.contains(" 200 ")).count()
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

/// The address that it says it listens on.
fn listening(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    let (_, after) = log.split_once("listening on ")?;
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':')?;
    Some(after[..end].to_owned())
}
