//! Kubeconfig files, written as JSON, which is valid YAML.

use std::io;
use std::path::Path;

use k8s_openapi::ByteString;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use serde_json::{Value, json};

use super::pki::{Authority, Identity};

/// The only context of every file written here.
pub(crate) const CONTEXT: &str = "vmafx-testkit";

/// Writes a self-contained kubeconfig for a client certificate.
pub(crate) fn write(path: &Path, server: &str, authority: &Authority, user: &Identity) -> io::Result<()> {
    let user = json!({
        "client-certificate-data": data(&user.certificate_pem),
        "client-key-data": data(&user.key_pem),
    });
    store(path, server, authority.certificate_pem(), &user)
}

/// Writes a self-contained kubeconfig for a token.
pub(crate) fn write_for_token(path: &Path, server: &str, authority_pem: &str, token: &str) -> io::Result<()> {
    store(path, server, authority_pem, &json!({"token": token}))
}

/// Serializes as base64, which the format requires.
fn data(pem: &str) -> ByteString {
    ByteString(pem.as_bytes().to_vec())
}

/// The file is readable by its owner only, because it contains a key.
fn store(path: &Path, server: &str, authority_pem: &str, user: &Value) -> io::Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "clusters": [{"name": CONTEXT, "cluster": {
            "server": server,
            "certificate-authority-data": data(authority_pem),
        }}],
        "users": [{"name": CONTEXT, "user": user}],
    });
    // Renamed into place, so that whoever waits for the file never reads half of it.
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    io::Write::write_all(&mut file, config.to_string().as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Reads a kubeconfig, independent of the variable `KUBECONFIG`.
pub(crate) async fn read(path: &Path) -> Result<Config, KubeconfigError> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A proxy variable in the environment must not redirect calls to a loopback address.
    config.proxy_url = None;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_written_file_is_read_back_and_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::create(directory.path()).unwrap();
        let admin = authority.client("admin", "system:masters").unwrap();
        let path = directory.path().join("kubeconfig");
        write(&path, "https://127.0.0.1:6443", &authority, &admin).unwrap();
        let config = read(&path).await.unwrap();
        assert_eq!(config.cluster_url.to_string(), "https://127.0.0.1:6443/");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
