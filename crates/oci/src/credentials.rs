//! Who we are to a registry, as docker's configuration says.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use vmafx_kit::config::SecretString;

/// The names that the file has: docker's own, and that of a mounted SecretString of type `kubernetes.io/dockerconfigjson`.
const NAMES: [&str; 2] = ["config.json", ".dockerconfigjson"];

/// Where credentials are looked up. The file is read at every sign-in, because a mounted SecretString changes.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    directory: Option<PathBuf>,
}

/// What is shown to a registry.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    Password {
        user: String,
        password: SecretString,
    },
    /// To be exchanged for tokens.
    Identity(SecretString),
}

impl Login {
    /// What a request shows to whoever asks for user and password.
    pub(crate) fn basic(&self) -> Option<SecretString> {
        let Self::Password { user, password } = self else { return None };
        Some(secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal())))))
    }
}

/// A text that does not print itself.
pub(crate) fn secret(text: &str) -> SecretString {
    text.parse().unwrap_or_else(|never| match never {})
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: HashMap<String, Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl Credentials {
    /// Nobody.
    pub fn none() -> Self {
        Self::default()
    }

    /// From a directory with `config.json` or `.dockerconfigjson`.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// From `DOCKER_CONFIG`, or `.docker` in the home directory.
    pub fn of_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { directory: set("DOCKER_CONFIG").or_else(|| set("HOME").map(|home| home.join(".docker"))) }
    }

    /// Those for a registry, if there are any.
    pub(crate) fn find(&self, registry: &str) -> Option<Login> {
        let directory = self.directory.as_ref()?;
        let text = NAMES.iter().find_map(|name| std::fs::read(directory.join(name)).ok())?;
        let Ok(config) = serde_json::from_slice::<Config>(&text) else {
            tracing::warn!(directory = %directory.display(), "the docker configuration cannot be read");
            return None;
        };
        config.auths.into_iter().find(|(name, _)| same(name, registry)).and_then(|(_, entry)| login(entry))
    }
}

/// Entries are written as `host`, `https://host` or `https://host/v1/`.
fn same(entry: &str, registry: &str) -> bool {
    let entry = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let host = entry.split('/').next().unwrap_or_default();
    host.eq_ignore_ascii_case(registry) || (is_hub(host) && is_hub(registry))
}

/// The one registry that has several names.
pub(crate) fn is_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

fn login(entry: Entry) -> Option<Login> {
    if !entry.identitytoken.is_empty() {
        return Some(Login::Identity(secret(&entry.identitytoken)));
    }
    if !entry.username.is_empty() {
        return Some(Login::Password { user: entry.username, password: secret(&entry.password) });
    }
    let plain = String::from_utf8(STANDARD.decode(entry.auth).ok()?).ok()?;
    let (user, password) = plain.split_once(':')?;
    Some(Login::Password { user: user.to_owned(), password: secret(password) })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn shown(name: &str, text: &str, registry: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), text).unwrap();
        Credentials::in_directory(directory.path()).find(registry).map(|login| match login {
            Login::Password { user, password } => format!("{user}:{}", password.reveal()),
            Login::Identity(token) => format!("identity:{}", token.reveal()),
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
        assert_eq!(shown("config.json", CONFIG, registry).as_deref(), expected);
        assert_eq!(shown(".dockerconfigjson", CONFIG, registry).as_deref(), expected);
    }

    #[test]
    fn a_broken_file_is_nobody() {
        assert_eq!(shown("config.json", "{", "a.example"), None);
    }

    #[test]
    fn a_login_does_not_print_its_secret() {
        let login = login(Entry { username: "u".into(), password: "hunter2".into(), ..Entry::default() });
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
