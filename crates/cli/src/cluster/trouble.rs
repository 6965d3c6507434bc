//! What can go wrong with a cluster, in words that say what to do.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use kube::client::AuthError;
use kube::config::KubeconfigError;
use kube::core::Status;

/// Most problems that are told at once.
const MOST: usize = 10;

/// Why a command about a cluster did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    /// Nobody to talk to.
    #[error(
        "no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or sign in so that ~/.kube/config is written"
    )]
    NoCluster,
    /// A file that is of no use.
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[source] KubeconfigError),
    /// No such context.
    #[error("there is no context {asked:?} in the kubeconfig; there is {}", list(contexts))]
    NoContext {
        /// What was asked for.
        asked: String,
        /// What there is.
        contexts: Vec<String>,
    },
    /// Many contexts, none of them current.
    #[error("the kubeconfig has no current context: give --context NAME ({})", list(contexts))]
    NoCurrentContext {
        /// What there is.
        contexts: Vec<String>,
    },
    /// Certificates or keys that cannot be read, or a command that does not sign in.
    #[error("the credentials of the kubeconfig do not work: {why}")]
    Credentials {
        /// Why.
        why: String,
    },
    /// A detour.
    #[error(
        "{server} is to be reached through the proxy {proxy}, which is not supported: add its host to NO_PROXY"
    )]
    Proxy {
        /// The cluster.
        server: String,
        /// The proxy.
        proxy: String,
    },
    /// Nobody answers there.
    #[error(
        "the cluster at {server} cannot be reached: {cause}. Does it run, and is the context right? (kubectl config get-contexts)"
    )]
    Unreachable {
        /// The cluster.
        server: String,
        /// The first cause.
        cause: String,
    },
    /// No answer in time.
    #[error("cannot {what}: the cluster at {server} does not answer within {within:?}")]
    TimedOut {
        /// What was to be done.
        what: String,
        /// The cluster.
        server: String,
        /// How long was waited.
        within: Duration,
    },
    /// Who?
    #[error(
        "the cluster at {server} does not know who you are: sign in again, or check the user of the context"
    )]
    Unauthenticated {
        /// The cluster.
        server: String,
    },
    /// Not this one.
    #[error("cannot {what}: {message}. Ask for the permission, or check the context and the namespace")]
    Forbidden {
        /// What was to be done.
        what: String,
        /// What the server said.
        message: String,
    },
    /// No such kind.
    #[error(
        "the cluster at {server} does not have the VMAFX resources: apply the chart (helm install vmafx \
         deploy/helm/vmafx), or the definitions alone (kubectl apply --server-side -f config/crd/bases)"
    )]
    NotInstalled {
        /// The cluster.
        server: String,
    },
    /// No such namespace.
    #[error("there is no namespace {0:?}: give another with -n, or make it (kubectl create namespace {0})")]
    NoNamespace(String),
    /// No such resource.
    #[error("{}", lines(.0))]
    NotFound(Vec<String>),
    /// What a label selector is not.
    #[error("cannot {what}: {message}")]
    Refused {
        /// What was to be done.
        what: String,
        /// What the server said.
        message: String,
    },
    /// The answer is none.
    #[error("cannot {what}: {cause}")]
    Failed {
        /// What was to be done.
        what: String,
        /// The first cause.
        cause: String,
    },
    /// What was asked makes no sense for these.
    #[error("{}", lines(.0))]
    Senseless(Vec<String>),
    /// Somebody has to say yes.
    #[error("{0}: give --yes, since nobody can be asked here")]
    Unconfirmed(String),
    /// Somebody said no.
    #[error("nothing was changed")]
    Declined,
    /// Rows that cannot become jobs.
    #[error("{file}: {} of {all} cannot be used; nothing was created{}", problems.len(), indented(problems))]
    Rows {
        /// Where they came from.
        file: String,
        /// How many there are.
        all: String,
        /// What is wrong, each with its place.
        problems: Vec<String>,
    },
    /// Jobs of these names that are not these jobs.
    #[error("{} of the jobs exist and differ; they were left as they are{}", .0.len(), indented(.0))]
    Differ(Vec<String>),
    /// Some were made and then it broke.
    #[error(
        "{made} of {all} jobs were made before the error below; the same command again goes on from there"
    )]
    Half {
        /// How many.
        made: usize,
        /// Of how many.
        all: usize,
        /// What happened.
        #[source]
        source: Box<KubeError>,
    },
}

impl KubeError {
    /// Sorts a failure by what is to be done about it.
    pub(super) fn of(what: &str, server: &str, error: kube::Error) -> Self {
        let (what, server) = (what.to_owned(), server.to_owned());
        match error {
            kube::Error::Api(status) => Self::of_status(what, server, &status),
            kube::Error::Auth(error) => Self::Credentials { why: why(&error) },
            kube::Error::Service(error) => Self::Unreachable { server, cause: root(error.as_ref()) },
            kube::Error::HyperError(error) => Self::Unreachable { server, cause: root(&error) },
            error => Self::Failed { what, cause: root(&error) },
        }
    }

    fn of_status(what: String, server: String, status: &Status) -> Self {
        let message = status.message.clone();
        let about = status.details.as_ref();
        match status.code {
            401 => Self::Unauthenticated { server },
            403 => Self::Forbidden { what, message },
            404 if about.is_some_and(|about| about.kind == "namespaces") => {
                Self::NoNamespace(about.map(|about| about.name.clone()).unwrap_or_default())
            }
            404 if about.is_none_or(|about| about.name.is_empty()) => Self::NotInstalled { server },
            _ => Self::Refused { what, message },
        }
    }

    /// Whether the same question may have an answer later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Failed { .. })
    }
}

/// Why nobody could sign in.
fn why(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { cmd, out } => {
            let said = String::from_utf8_lossy(&out.stderr);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            format!("{} ended with {}: {}", cmd.replace('"', ""), out.status, last.trim())
        }
        AuthError::AuthExecStart(error) => format!("the command that signs in cannot be started: {error}"),
        error => root(error),
    }
}

/// The first cause of an error: what lies above it is told by us.
fn root(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn lines(lines: &[String]) -> String {
    lines.join("\n       ")
}

/// A line for each, but not too many.
fn indented(problems: &[String]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(MOST) {
        let _ = write!(text, "\n  {problem}");
    }
    if let Some(more) = problems.len().checked_sub(MOST).filter(|more| *more > 0) {
        let _ = write!(text, "\n  and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn status(code: u16, kind: &str, name: &str) -> kube::Error {
        let details = serde_json::from_value(serde_json::json!({ "kind": kind, "name": name })).unwrap();
        kube::Error::Api(
            Status::failure("said the server", "x").with_code(code).with_details(details).boxed(),
        )
    }

    #[rstest]
    #[case(status(401, "", ""), "does not know who you are")]
    #[case(status(403, "vmafxjobs", ""), "cannot list jobs: said the server. Ask for the permission")]
    #[case(status(404, "", ""), "apply the chart")]
    #[case(status(404, "namespaces", "x"), "there is no namespace \"x\"")]
    #[case(status(422, "vmafxjobs", "a"), "cannot list jobs: said the server")]
    #[case(kube::Error::Service("no route".into()), "cannot be reached: no route. Does it run")]
    fn every_failure_says_what_to_do(#[case] error: kube::Error, #[case] expected: &str) {
        let said = KubeError::of("list jobs", "https://k8s", error).to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_long_list_of_problems_is_cut() {
        let problems: Vec<String> = (2..14).map(|line| format!("line {line}: bad")).collect();
        let said = KubeError::Rows { file: "a.csv".into(), all: "12 lines".into(), problems }.to_string();
        assert!(
            said.starts_with("a.csv: 12 of 12 lines cannot be used; nothing was created\n  line 2: bad\n"),
            "{said}"
        );
        assert!(said.ends_with("\n  and 2 more"), "{said}");
    }
}
