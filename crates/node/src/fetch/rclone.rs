//! Everything else, by the `rclone` program.
//!
//! It is asked what is there (`lsjson --stat`) and then for the content (`cat`), which comes through a pipe into the same
//! download as every other: the same limits, the same check of the length. A process that is not needed any more is
//! killed with its group. Its output is not passed on, because it quotes options of remotes; what it means is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Tools;
use super::error::Problem;
use super::settings::{FetchSettings, StoreVariables};
use super::source::{Meta, Opened, Version};

/// What is read of its output where a line is expected.
const ANSWER: u64 = 64 << 10;

/// What is read of its file at once.
const PIECE: usize = 256 << 10;

/// Variables that it inherits besides those of stores: how to find programs, configuration, authorities and proxies.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The program.
#[derive(Debug)]
pub(crate) struct Rclone {
    program: PathBuf,
    config: Option<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
}

impl Rclone {
    pub(crate) fn new(settings: &FetchSettings, variables: &StoreVariables) -> Self {
        let inherited = INHERITED.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        let stores = ["RCLONE_", "AWS_", "GOOGLE_", "AZURE_"]
            .iter()
            .flat_map(|prefix| variables.starting_with(prefix));
        let environment = inherited.chain(stores.map(|(name, value)| (name.into(), value.into()))).collect();
        Self { program: settings.rclone_bin.clone(), config: settings.rclone_config.clone(), environment }
    }

    /// Starts it. The target stands after `--`, so that nothing in it is taken for an option.
    fn start(&self, command: &str, options: &[&str], target: &str, input: Stdio) -> Result<Running, Problem> {
        let mut rclone = Command::new(&self.program);
        rclone.arg(command).args([
            "--retries=1",
            "--low-level-retries=3",
            "--contimeout=10s",
            "--log-level=ERROR",
        ]);
        if let Some(config) = &self.config {
            rclone.arg("--config").arg(config);
        }
        rclone.args(options).arg("--").arg(target);
        rclone.env_clear().envs(&self.environment).current_dir("/");
        rclone.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, for what it starts itself (ssh, for one).
        rclone.process_group(0).kill_on_drop(true);
        let child = rclone.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Problem::Settings(
                "rclone is needed for it and is not on this node (VMAFX_RCLONE_BIN)".to_owned(),
            ),
            kind => Problem::Settings(format!("rclone could not be started: {kind} (VMAFX_RCLONE_BIN)")),
        })?;
        Ok(Running { child })
    }

    /// Writes a file to a remote.
    pub(crate) async fn put(
        &self,
        target: &str,
        mut content: tokio::fs::File,
        limit: Duration,
    ) -> Result<(), Problem> {
        let mut running = self.start("rcat", &[], target, Stdio::piped())?;
        let mut input = running.child.stdin.take();
        let sent = async {
            if let Some(input) = &mut input {
                tokio::io::copy(&mut content, input).await?;
                input.shutdown().await?;
            }
            drop(input);
            running.end().await
        };
        let (status, said) = timeout(limit, sent)
            .await
            .map_err(|_| Problem::Overdue(limit))?
            .map_err(|error| broken(&error))?;
        if status.success() { Ok(()) } else { Err(judge(status, &said)) }
    }
}

/// A running rclone; dropping it kills it and what it started.
struct Running {
    child: Child,
}

impl Running {
    /// Waits for its end, and gives what it complained about.
    async fn end(&mut self) -> std::io::Result<(ExitStatus, String)> {
        let mut said = Vec::new();
        if let Some(errors) = &mut self.child.stderr {
            errors.take(ANSWER).read_to_end(&mut said).await?;
        }
        Ok((self.child.wait().await?, String::from_utf8_lossy(&said).into_owned()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Not yet reaped, or there is no number any more: it cannot be somebody else's.
        let group =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[derive(Debug)]
pub(super) struct RcloneSource {
    tools: Arc<Tools>,
    target: String,
}

/// What `lsjson --stat` says.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Stat {
    size: i64,
    #[serde(default)]
    mod_time: String,
    #[serde(default)]
    is_dir: bool,
}

impl RcloneSource {
    pub(super) fn new(tools: &Arc<Tools>, remote: &str, path: &str) -> Self {
        Self { tools: Arc::clone(tools), target: format!("{remote}:{path}") }
    }

    pub(super) async fn stat(&self) -> Result<Meta, Problem> {
        let limit = self.tools.limits.headers;
        let ask = async {
            let mut running = self.tools.rclone.start("lsjson", &["--stat"], &self.target, Stdio::null())?;
            let mut answer = Vec::new();
            if let Some(output) = &mut running.child.stdout {
                output.take(ANSWER).read_to_end(&mut answer).await.map_err(|error| broken(&error))?;
            }
            let (status, said) = running.end().await.map_err(|error| broken(&error))?;
            if status.success() { Ok(answer) } else { Err(judge(status, &said)) }
        };
        let answer = timeout(limit, ask).await.map_err(|_| Problem::Silent { what: "rclone", limit })??;
        let stat: Stat = serde_json::from_slice(&answer)
            .map_err(|_| Problem::NotFound("rclone lists nothing".to_owned()))?;
        if stat.is_dir {
            return Err(Problem::NotFound("it is a directory".to_owned()));
        }
        let length = u64::try_from(stat.size).ok();
        // A time in whole seconds and a length tell versions apart well enough to share, as with a web server.
        let version = length
            .filter(|_| !stat.mod_time.is_empty())
            .map(|length| Version(format!("{} {length}", stat.mod_time)));
        Ok(Meta { length, version })
    }

    pub(super) async fn open(&self, from: u64, version: Option<&Version>) -> Result<Opened, Problem> {
        let meta = self.stat().await?;
        if version.is_some() && meta.version.as_ref() != version {
            return Err(Problem::Changed);
        }
        let running =
            self.tools.rclone.start("cat", &["--offset", &from.to_string()], &self.target, Stdio::null())?;
        let length = meta.length;
        let body = stream::unfold(Some((running, from)), move |state| async move {
            let (mut running, got) = state?;
            match piece(&mut running).await {
                Ok(Some(piece)) => {
                    let got = got + piece.len() as u64;
                    Some((Ok(piece), Some((running, got))))
                }
                // It was content with less than it had listed: no connection broke, so there is nothing to resume.
                Ok(None) if length.is_some_and(|length| length != got) => Some((Err(Problem::Changed), None)),
                Ok(None) => None,
                Err(problem) => Some((Err(problem), None)),
            }
        });
        Ok(Opened { meta, start: from, body: body.boxed() })
    }
}

/// The next bytes of its output; at the end, whether it was content with its work.
async fn piece(running: &mut Running) -> Result<Option<bytes::Bytes>, Problem> {
    let mut buffer = bytes::BytesMut::with_capacity(PIECE);
    let Some(output) = &mut running.child.stdout else { return Ok(None) };
    if output.read_buf(&mut buffer).await.map_err(|error| broken(&error))? > 0 {
        return Ok(Some(buffer.freeze()));
    }
    let (status, said) = running.end().await.map_err(|error| broken(&error))?;
    if status.success() { Ok(None) } else { Err(judge(status, &said)) }
}

fn broken(error: &std::io::Error) -> Problem {
    Problem::Unreachable(format!("rclone: {}", error.kind()))
}

/// What the end of rclone means: by its exit code, and for the general one by what is known of its complaints.
fn judge(status: ExitStatus, said: &str) -> Problem {
    let said = said.to_ascii_lowercase();
    let tells = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match status.code() {
        Some(3) => Problem::NotFound("no such directory".to_owned()),
        Some(4) => Problem::NotFound("no such file".to_owned()),
        _ if tells(&["didn't find section in config file", "didn't find backend called"]) => {
            Problem::Denied("there is no such remote in VMAFX_RCLONE_CONFIG".to_owned())
        }
        _ if tells(&["object not found", "file not found", "404 not found", "no such file"]) => {
            Problem::NotFound("no such file".to_owned())
        }
        _ if tells(&[
            "accessdenied",
            "access denied",
            "permission denied",
            "401 ",
            "403 ",
            "unable to authenticate",
        ]) =>
        {
            Problem::Denied("the remote does not accept the credentials of this node".to_owned())
        }
        Some(code) => Problem::Unreachable(format!("rclone ended with code {code}")),
        None => Problem::Unreachable("rclone was killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use rstest::rstest;

    use super::*;
    use vmafx_job::FailureReason;

    #[rstest]
    #[case(3, "", FailureReason::InputNotFound, false)]
    #[case(4, "", FailureReason::InputNotFound, false)]
    #[case(
        1,
        "Failed to create file system: didn't find section in config file (\"x\")",
        FailureReason::InputDenied,
        false
    )]
    #[case(1, "ERROR : AccessDenied: Access Denied status code: 403", FailureReason::InputDenied, false)]
    #[case(1, "ERROR : dial tcp: connection refused", FailureReason::SourceUnreachable, true)]
    #[case(5, "", FailureReason::SourceUnreachable, true)]
    fn an_end_has_a_reason(
        #[case] code: i32,
        #[case] said: &str,
        #[case] reason: FailureReason,
        #[case] again: bool,
    ) {
        let problem = judge(ExitStatus::from_raw(code << 8), said);
        assert_eq!((problem.reason(), problem.is_transient()), (reason, again));
        assert!(said.is_empty() || !problem.to_string().contains(said));
    }
}
