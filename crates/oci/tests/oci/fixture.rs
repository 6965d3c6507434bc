//! Clients and artifacts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use vmafx_oci::{Artifact, Client, Credentials, Direct, Layer, Limits, Repository};

/// Somebody who tries twice and does not wait long.
pub(crate) fn client(credentials: Credentials) -> Client {
    client_with(credentials, Vec::new())
}

pub(crate) fn client_with(credentials: Credentials, plain: Vec<String>) -> Client {
    let limits = Limits {
        attempts: 2,
        back_off: Duration::from_millis(1),
        whole: Duration::from_secs(20),
        ..Limits::default()
    };
    Client::with(Arc::new(Direct::new(limits.connect).unwrap()), credentials, plain, limits)
}

pub(crate) fn repository(address: &str) -> Repository {
    Repository::parse(&format!("{address}/team/models")).unwrap()
}

/// An artifact of two layers.
pub(crate) fn artifact(first: &[u8], second: &[u8]) -> Artifact {
    let layer = |kind: &str, content: &[u8]| Layer {
        media_type: format!("application/vnd.example.{kind}"),
        title: kind.to_owned(),
        content: Bytes::copy_from_slice(content),
    };
    Artifact {
        artifact_type: "application/vnd.example.v1".to_owned(),
        annotations: BTreeMap::from([("dev.example.number".to_owned(), "7".to_owned())]),
        layers: vec![layer("first", first), layer("second", second)],
    }
}

/// Docker's configuration with one login.
pub(crate) fn login(directory: &Path, registry: &str, user: &str, password: &str) -> Credentials {
    let config = serde_json::json!({"auths": {registry: {"username": user, "password": password}}});
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
    Credentials::in_directory(directory)
}
