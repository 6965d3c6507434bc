//! Credentials for registries, from docker's configuration.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use vmafx_kit::config::SecretString;

/// File names: docker's own, and that of a mounted Secret of type `kubernetes.io/dockerconfigjson`.
const FILE_NAMES: [&str; 2] = ["config.json", ".dockerconfigjson"];

/// The source of credentials. The file is read at every sign-in, because a mounted Secret changes.
#[derive(Clone, Debug, Default)]
pub struct RegistryCredentials {
    directory: Option<PathBuf>,
}

/// The credentials for one registry.
#[derive(Clone, Debug)]
pub(crate) enum RegistryLogin {
    Password {
        user: String,
        password: SecretString,
    },
    /// A refresh token, to be exchanged for access tokens.
    IdentityToken(SecretString),
}

impl RegistryLogin {
    /// The `Authorization` header of basic authentication.
    pub(crate) fn basic(&self) -> Option<SecretString> {
        let Self::Password { user, password } = self else { return None };
        Some(secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal())))))
    }
}

pub(crate) fn secret(text: &str) -> SecretString {
    text.parse().unwrap_or_else(|never| match never {})
}

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(default)]
    auths: HashMap<String, DockerConfigEntry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerConfigEntry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl RegistryCredentials {
    pub fn none() -> Self {
        Self::default()
    }

    /// From `config.json` or `.dockerconfigjson` in this directory.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// From `DOCKER_CONFIG`, or `.docker` in the home directory.
    pub fn of_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { directory: set("DOCKER_CONFIG").or_else(|| set("HOME").map(|home| home.join(".docker"))) }
    }

    pub(crate) fn find(&self, registry: &str) -> Option<RegistryLogin> {
        let directory = self.directory.as_ref()?;
        let text = FILE_NAMES.iter().find_map(|name| std::fs::read(directory.join(name)).ok())?;
        let Ok(config) = serde_json::from_slice::<DockerConfig>(&text) else {
            tracing::warn!(directory = %directory.display(), "cannot parse the docker configuration");
            return None;
        };
        config
            .auths
            .into_iter()
            .find(|(name, _)| is_entry_of(name, registry))
            .and_then(|(_, entry)| login(entry))
    }
}

/// Entries have the form `host`, `https://host` or `https://host/v1/`.
fn is_entry_of(entry: &str, registry: &str) -> bool {
    let entry = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let host = entry.split('/').next().unwrap_or_default();
    host.eq_ignore_ascii_case(registry) || (is_docker_hub(host) && is_docker_hub(registry))
}

/// Docker Hub is the one registry with several names.
pub(crate) fn is_docker_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

fn login(entry: DockerConfigEntry) -> Option<RegistryLogin> {
    if !entry.identitytoken.is_empty() {
        return Some(RegistryLogin::IdentityToken(secret(&entry.identitytoken)));
    }
    if !entry.username.is_empty() {
        return Some(RegistryLogin::Password { user: entry.username, password: secret(&entry.password) });
    }
    let plain = String::from_utf8(STANDARD.decode(entry.auth).ok()?).ok()?;
    let (user, password) = plain.split_once(':')?;
    Some(RegistryLogin::Password { user: user.to_owned(), password: secret(password) })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn credentials_for(name: &str, text: &str, registry: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), text).unwrap();
        RegistryCredentials::in_directory(directory.path()).find(registry).map(|login| match login {
            RegistryLogin::Password { user, password } => format!("{user}:{}", password.reveal()),
            RegistryLogin::IdentityToken(token) => format!("identity:{}", token.reveal()),
        })
    }

    const CONFIG: &str = r#"{"auths": {
        "a.example:5000": {"auth": "dTpwOnE="},
        "https://b.example/v1/": {"username": "u", "password": "p"},
        "c.example": {"auth": "dTpw", "identitytoken": "t"},
        "https://index.docker.io/v1/": {"auth": "dTpw"}
    }, "credsStore": "desktop"}"#;

    #[rstest]
    #[case("a.example:5000", Some("u:p:q"))]
    #[case("a.example", None)]
    #[case("b.example", Some("u:p"))]
    #[case("c.example", Some("identity:t"))]
    #[case("docker.io", Some("u:p"))]
    #[case("d.example", None)]
    fn an_entry_is_found_by_its_host(#[case] registry: &str, #[case] expected: Option<&str>) {
        assert_eq!(credentials_for("config.json", CONFIG, registry).as_deref(), expected);
        assert_eq!(credentials_for(".dockerconfigjson", CONFIG, registry).as_deref(), expected);
    }

    #[test]
    fn a_broken_file_gives_no_credentials() {
        assert_eq!(credentials_for("config.json", "{", "a.example"), None);
    }

    #[test]
    fn a_login_does_not_print_its_secret() {
        let login = login(DockerConfigEntry {
            username: "u".into(),
            password: "hunter2".into(),
            ..DockerConfigEntry::default()
        });
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
