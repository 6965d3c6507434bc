//! The connection to a cluster: its configuration, and calls with a timeout.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::core::DynamicObject;
use kube::{Api, Client};

use super::error::KubeError;
use super::kind::ResourceKind;

const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Shorter than the timeout of a call, so that an unreachable cluster is reported soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The cluster and the namespace.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ConnectionArgs {
    /// Kubeconfig file; by default the files in KUBECONFIG, ~/.kube/config, or the service account of the Pod
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; the current one by default
    #[arg(long, value_name = "NAME", global = true)]
    context: Option<String>,

    /// Namespace; that of the context by default
    #[arg(short, long, value_name = "NAME", global = true)]
    namespace: Option<String>,
}

/// A client for a cluster and a namespace. It connects with the first call.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// URL of the API server, for messages.
    pub(super) server: String,
}

impl ConnectionArgs {
    /// The namespace of the command line, if it was given.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Reads the options from an incomplete command line, which clap cannot parse.
    pub(super) fn from_incomplete(words: &[String]) -> Self {
        let value = |names: [&str; 2]| {
            words.iter().enumerate().find_map(|(index, word)| match word.split_once('=') {
                Some((name, value)) if names.contains(&name) => Some(value.to_owned()),
                None if names.contains(&word.as_str()) => words.get(index + 1).cloned(),
                _ => None,
            })
        };
        Self {
            kubeconfig: value(["--kubeconfig", "--kubeconfig"]).map(PathBuf::from),
            context: value(["--context", "--context"]),
            namespace: value(["-n", "--namespace"]),
        }
    }

    pub(super) async fn connect(&self) -> Result<Cluster, KubeError> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        if config.proxy_url.is_some()
            && bypasses_proxy(&config.cluster_url, env::var("NO_PROXY").ok().as_deref())
        {
            config.proxy_url = None;
        }
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        if let Some(proxy) = &config.proxy_url {
            return Err(KubeError::Proxy { server, proxy: proxy.to_string() });
        }
        let client =
            Client::try_from(config).map_err(|error| KubeError::from_kube("sign in", &server, error))?;
        Ok(Cluster { client, namespace, server })
    }

    async fn config(&self) -> Result<Config, KubeError> {
        let read = match &self.kubeconfig {
            Some(file) => Kubeconfig::read_from(file),
            None => from_environment().unwrap_or_else(Kubeconfig::read),
        };
        let kubeconfig = match read {
            Ok(kubeconfig) => kubeconfig,
            Err(error) if self.may_use_service_account(&error) => {
                return Config::incluster().map_err(|_| KubeError::NoCluster);
            }
            Err(error) => return Err(KubeError::Kubeconfig(error)),
        };
        let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| match error {
            KubeconfigError::LoadContext(context) => KubeError::NoContext { context, contexts },
            KubeconfigError::CurrentContextNotSet if contexts.is_empty() => KubeError::NoCluster,
            KubeconfigError::CurrentContextNotSet => KubeError::NoCurrentContext { contexts },
            error => KubeError::Kubeconfig(error),
        })
    }

    /// Whether there is no kubeconfig, and neither a kubeconfig nor a context was given.
    fn may_use_service_account(&self, error: &KubeconfigError) -> bool {
        let given =
            self.kubeconfig.is_some() || env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
        let missing = match error {
            KubeconfigError::FindPath => true,
            KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        };
        missing && !given && self.context.is_none()
    }
}

/// The merged files in `KUBECONFIG`; `None` if it is not set. As with `kubectl`, files that do not exist are skipped.
fn from_environment() -> Option<Result<Kubeconfig, KubeconfigError>> {
    let variable = env::var_os("KUBECONFIG")?;
    let paths: Vec<PathBuf> =
        env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty()).collect();
    let existing: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
    // If none exists, reading the first one reports the missing file.
    let files = if existing.is_empty() { paths.iter().collect() } else { existing };
    if files.is_empty() {
        return None;
    }
    let merge = |all: Kubeconfig, path: &PathBuf| all.merge(Kubeconfig::read_from(path)?);
    Some(files.into_iter().try_fold(Kubeconfig::default(), merge))
}

/// Whether the proxy is bypassed: for loopback addresses, and for hosts in `NO_PROXY`.
fn bypasses_proxy(server: &http::Uri, no_proxy: Option<&str>) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let local =
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let matches = |pattern: &str| {
        let domain = pattern.trim_start_matches(['*', '.']);
        pattern == "*" || (!domain.is_empty() && (host == domain || host.ends_with(&format!(".{domain}"))))
    };
    local || no_proxy.unwrap_or_default().split(',').map(str::trim).any(matches)
}

impl Cluster {
    pub(super) fn objects(&self, kind: ResourceKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind.resource())
    }

    pub(super) fn objects_in_all_namespaces(&self, kind: ResourceKind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }

    /// Runs one call with a timeout. `what` completes "cannot …".
    pub(super) async fn call<T>(
        &self,
        what: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, KubeError> {
        match tokio::time::timeout(CALL_TIMEOUT, request).await {
            Ok(answer) => answer.map_err(|error| KubeError::from_kube(what, &self.server, error)),
            Err(_) => Err(KubeError::TimedOut {
                what: what.to_owned(),
                server: self.server.clone(),
                timeout: CALL_TIMEOUT,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://127.0.0.1:6443", None, true)]
    #[case("https://[::1]:6443", None, true)]
    #[case("https://k8s.example.com", None, false)]
    #[case("https://k8s.example.com", Some("a.com, .example.com"), true)]
    #[case("https://example.com.evil.net", Some("example.com"), false)]
    #[case("https://k8s.example.com", Some("*"), true)]
    fn local_hosts_and_those_in_no_proxy_bypass_the_proxy(
        #[case] server: &str,
        #[case] no_proxy: Option<&str>,
        #[case] expected: bool,
    ) {
        assert_eq!(bypasses_proxy(&server.parse().unwrap(), no_proxy), expected);
    }
}
