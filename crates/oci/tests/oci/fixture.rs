use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use vmafx_oci::{
    Artifact, ArtifactLayer, DirectTransport, RegistryClient, RegistryCredentials, RegistryLimits, Repository,
};

/// A client that makes two attempts, with short delays.
pub(crate) fn client(credentials: RegistryCredentials) -> RegistryClient {
    client_with(credentials, Vec::new())
}

pub(crate) fn client_with(credentials: RegistryCredentials, plain_http: Vec<String>) -> RegistryClient {
    let limits = RegistryLimits {
        attempts: 2,
        back_off: Duration::from_millis(1),
        operation: Duration::from_secs(20),
        ..RegistryLimits::default()
    };
    RegistryClient::with(
        Arc::new(DirectTransport::new(limits.connect).unwrap()),
        credentials,
        plain_http,
        limits,
    )
}

pub(crate) fn repository(address: &str) -> Repository {
    Repository::parse(&format!("{address}/team/models")).unwrap()
}

pub(crate) fn artifact(first: &[u8], second: &[u8]) -> Artifact {
    let layer = |kind: &str, content: &[u8]| ArtifactLayer {
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

/// Writes a docker configuration with one login.
pub(crate) fn login(directory: &Path, registry: &str, user: &str, password: &str) -> RegistryCredentials {
    let config = serde_json::json!({"auths": {registry: {"username": user, "password": password}}});
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
    RegistryCredentials::in_directory(directory)
}
