//! Failures of commands on a cluster, with what to do about them.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use kube::client::AuthError;
use kube::config::KubeconfigError;
use kube::core::Status;

/// Maximum number of problems in one message.
const MAX_PROBLEMS: usize = 10;

/// `what` completes "cannot …"; `server` is the URL of the API server.
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    #[error(
        "no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or sign in so that ~/.kube/config is written"
    )]
    NoCluster,
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[source] KubeconfigError),
    #[error("the kubeconfig has no context {context:?} (contexts: {})", list(contexts))]
    NoContext { context: String, contexts: Vec<String> },
    #[error("the kubeconfig has no current context: give --context NAME (contexts: {})", list(contexts))]
    NoCurrentContext { contexts: Vec<String> },
    /// A certificate or key cannot be read, or the credential plugin failed.
    #[error("the credentials of the kubeconfig do not work: {cause}")]
    Credentials { cause: String },
    #[error(
        "{server} would be reached through the proxy {proxy}, which is not supported: add its host to NO_PROXY"
    )]
    Proxy { server: String, proxy: String },
    #[error(
        "the cluster at {server} cannot be reached: {cause}. Is it running, and is the context right? (kubectl config get-contexts)"
    )]
    Unreachable { server: String, cause: String },
    #[error("cannot {what}: the cluster at {server} does not answer within {timeout:?}")]
    TimedOut { what: String, server: String, timeout: Duration },
    #[error(
        "the cluster at {server} does not accept your credentials: sign in again, or check the user of the context"
    )]
    Unauthenticated { server: String },
    #[error("cannot {what}: {message}. Ask for the permission, or check the context and the namespace")]
    Forbidden { what: String, message: String },
    #[error(
        "the cluster at {server} does not have the VMAFX resources: install the chart (helm install vmafx \
         deploy/helm/vmafx), or only the CRDs (kubectl apply --server-side -f config/crd/bases)"
    )]
    NotInstalled { server: String },
    #[error(
        "there is no namespace {0:?}: give another one with -n, or create it (kubectl create namespace {0})"
    )]
    NoNamespace(String),
    #[error("{}", lines(.0))]
    NotFound(Vec<String>),
    /// The API server rejected the request.
    #[error("cannot {what}: {message}")]
    Rejected { what: String, message: String },
    #[error("cannot {what}: {cause}")]
    Failed { what: String, cause: String },
    /// The arguments do not fit together, or do not fit the state of the jobs.
    #[error("{}", lines(.0))]
    InvalidRequest(Vec<String>),
    #[error("{0}: give --yes, because standard input is not a terminal")]
    ConfirmationRequired(String),
    #[error("nothing was changed")]
    Declined,
    #[error("{input}: {} of {pairs} cannot be used; nothing was created{}", problems.len(), indented(problems))]
    InvalidPairs {
        /// The CSV file, or the command line.
        input: String,
        /// Their number and unit, such as "40 lines".
        pairs: String,
        /// Each starts with its line and column.
        problems: Vec<String>,
    },
    #[error("{} of the jobs exist and differ; they were left as they are{}", .0.len(), indented(.0))]
    Conflict(Vec<String>),
    #[error(
        "{created} of {all} jobs were created before the error below; repeat the command to create the rest"
    )]
    PartlySubmitted {
        created: usize,
        all: usize,
        #[source]
        source: Box<KubeError>,
    },
}

impl KubeError {
    pub(super) fn from_kube(what: &str, server: &str, error: kube::Error) -> Self {
        let (what, server) = (what.to_owned(), server.to_owned());
        match error {
            kube::Error::Api(status) => Self::from_status(what, server, &status),
            kube::Error::Auth(error) => Self::Credentials { cause: credentials_cause(&error) },
            kube::Error::Service(error) => Self::Unreachable { server, cause: root(error.as_ref()) },
            kube::Error::HyperError(error) => Self::Unreachable { server, cause: root(&error) },
            error => Self::Failed { what, cause: root(&error) },
        }
    }

    fn from_status(what: String, server: String, status: &Status) -> Self {
        let message = status.message.clone();
        let details = status.details.as_ref();
        match status.code {
            401 => Self::Unauthenticated { server },
            403 => Self::Forbidden { what, message },
            404 if details.is_some_and(|details| details.kind == "namespaces") => {
                Self::NoNamespace(details.map(|details| details.name.clone()).unwrap_or_default())
            }
            // A missing object has a name; a missing resource type has none.
            404 if details.is_none_or(|details| details.name.is_empty()) => Self::NotInstalled { server },
            _ => Self::Rejected { what, message },
        }
    }

    /// Whether the same call may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Failed { .. })
    }
}

fn credentials_cause(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { cmd, out } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message");
            format!("{} ended with {}: {}", cmd.replace('"', ""), out.status, last.trim())
        }
        AuthError::AuthExecStart(error) => format!("the credential plugin cannot be started: {error}"),
        error => root(error),
    }
}

/// The root cause: our own message replaces the layers above it.
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

/// One line per problem, up to the maximum.
fn indented(problems: &[String]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(MAX_PROBLEMS) {
        let _ = write!(text, "\n  {problem}");
    }
    if let Some(more) = problems.len().checked_sub(MAX_PROBLEMS).filter(|more| *more > 0) {
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
        kube::Error::Api(Status::failure("the reason", "x").with_code(code).with_details(details).boxed())
    }

    #[rstest]
    #[case(status(401, "", ""), "does not accept your credentials")]
    #[case(status(403, "vmafxjobs", ""), "cannot list jobs: the reason. Ask for the permission")]
    #[case(status(404, "", ""), "install the chart")]
    #[case(status(404, "namespaces", "x"), "there is no namespace \"x\"")]
    #[case(status(422, "vmafxjobs", "a"), "cannot list jobs: the reason")]
    #[case(kube::Error::Service("no route".into()), "cannot be reached: no route. Is it running")]
    fn every_failure_says_what_to_do(#[case] error: kube::Error, #[case] expected: &str) {
        let message = KubeError::from_kube("list jobs", "https://k8s", error).to_string();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_long_list_of_problems_is_cut() {
        let problems: Vec<String> = (2..14).map(|line| format!("line {line}: bad")).collect();
        let message =
            KubeError::InvalidPairs { input: "a.csv".into(), pairs: "12 lines".into(), problems }.to_string();
        assert!(
            message.starts_with("a.csv: 12 of 12 lines cannot be used; nothing was created\n  line 2: bad\n"),
            "{message}"
        );
        assert!(message.ends_with("\n  and 2 more"), "{message}");
    }
}
