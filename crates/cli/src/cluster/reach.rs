//! The cluster: which one, who asks, and one way to call it.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::core::DynamicObject;
use kube::{Api, Client};

use super::kind::Kind;
use super::trouble::KubeError;

/// How long an answer of the API server is waited for.
const WITHIN: Duration = Duration::from_secs(30);
/// How long a connection may take: nobody wants to look at a command that says nothing for longer.
const CONNECT: Duration = Duration::from_secs(10);

/// Which cluster, and where in it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ReachArgs {
    /// The kubeconfig; by default what KUBECONFIG names, ~/.kube/config, or inside a Pod its service account
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig other than the current one
    #[arg(long, value_name = "NAME", global = true)]
    context: Option<String>,

    /// The namespace; that of the context by default
    #[arg(short, long, value_name = "NAME", global = true)]
    namespace: Option<String>,
}

/// A cluster that can be asked. Nothing is connected before the first question.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// Where it is, for messages.
    pub(super) server: String,
}

impl ReachArgs {
    /// The namespace that was asked for, if one was.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// What an unfinished command line says of it.
    pub(super) fn of_words(words: &[String]) -> Self {
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
        config.connect_timeout = Some(CONNECT);
        if config.proxy_url.is_some() && is_direct(&config.cluster_url, env::var("NO_PROXY").ok().as_deref())
        {
            config.proxy_url = None;
        }
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        if let Some(proxy) = &config.proxy_url {
            return Err(KubeError::Proxy { server, proxy: proxy.to_string() });
        }
        let client = Client::try_from(config).map_err(|error| KubeError::of("sign in", &server, error))?;
        Ok(Cluster { client, namespace, server })
    }

    async fn config(&self) -> Result<Config, KubeError> {
        let read = match &self.kubeconfig {
            Some(file) => Kubeconfig::read_from(file),
            None => from_environment().unwrap_or_else(Kubeconfig::read),
        };
        let kubeconfig = match read {
            Ok(kubeconfig) => kubeconfig,
            Err(error) if self.is_absent(&error) => {
                return Config::incluster().map_err(|_| KubeError::NoCluster);
            }
            Err(error) => return Err(KubeError::Kubeconfig(error)),
        };
        let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| match error {
            KubeconfigError::LoadContext(asked) => KubeError::NoContext { asked, contexts },
            KubeconfigError::CurrentContextNotSet if contexts.is_empty() => KubeError::NoCluster,
            KubeconfigError::CurrentContextNotSet => KubeError::NoCurrentContext { contexts },
            error => KubeError::Kubeconfig(error),
        })
    }

    /// Whether there simply is no kubeconfig, and none was asked for.
    fn is_absent(&self, error: &KubeconfigError) -> bool {
        let named =
            self.kubeconfig.is_some() || env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
        let missing = match error {
            KubeconfigError::FindPath => true,
            KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        };
        missing && !named && self.context.is_none()
    }
}

/// What the files in `KUBECONFIG` say together; nothing if none is named. As with `kubectl`, one of several may be missing.
fn from_environment() -> Option<Result<Kubeconfig, KubeconfigError>> {
    let named = env::var_os("KUBECONFIG")?;
    let paths: Vec<PathBuf> = env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    let there: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
    let read = if there.is_empty() { paths.iter().collect() } else { there };
    if read.is_empty() {
        return None;
    }
    let merge = |all: Kubeconfig, path: &PathBuf| all.merge(Kubeconfig::read_from(path)?);
    Some(read.into_iter().try_fold(Kubeconfig::default(), merge))
}

/// Whether a host is not to be reached through a proxy: one of this machine, or one that `NO_PROXY` names.
fn is_direct(server: &http::Uri, no_proxy: Option<&str>) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let local =
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let named = |pattern: &str| {
        let domain = pattern.trim_start_matches(['*', '.']);
        pattern == "*" || (!domain.is_empty() && (host == domain || host.ends_with(&format!(".{domain}"))))
    };
    local || no_proxy.unwrap_or_default().split(',').map(str::trim).any(named)
}

impl Cluster {
    /// The resources of a kind in the namespace.
    pub(super) fn objects(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind.resource())
    }

    /// The resources of a kind in all namespaces.
    pub(super) fn everywhere(&self, kind: Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }

    /// One call, with its deadline. `what` completes "cannot …".
    pub(super) async fn call<T>(
        &self,
        what: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, KubeError> {
        match tokio::time::timeout(WITHIN, request).await {
            Ok(answer) => answer.map_err(|error| KubeError::of(what, &self.server, error)),
            Err(_) => Err(KubeError::TimedOut {
                what: what.to_owned(),
                server: self.server.clone(),
                within: WITHIN,
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
    fn a_proxy_is_for_far_hosts_that_are_not_excepted(
        #[case] server: &str,
        #[case] no_proxy: Option<&str>,
        #[case] expected: bool,
    ) {
        assert_eq!(is_direct(&server.parse().unwrap(), no_proxy), expected);
    }
}
