//! All other stores, by the `rclone` program.
//!
//! `lsjson --stat` describes a file and `cat` writes its content to a pipe, from which it is downloaded like any other: with
//! the same limits and the same check of the length. A process that is not needed any more is killed with its group. The
//! messages of rclone quote options of remotes, so they are classified and not passed on.

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

use super::FetchContext;
use super::error::FetchProblem;
use super::settings::{FetchSettings, StoreVariables};
use super::source::{FileMetadata, FileVersion, OpenedSource};

/// Limit on output that should be one line.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

const CHUNK_BYTES: usize = 256 << 10;

/// Variables that rclone inherits besides those of stores: locations of programs, configuration, CA certificates and proxies.
const INHERITED_VARIABLES: [&str; 14] = [
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

#[derive(Debug)]
pub(crate) struct Rclone {
    program: PathBuf,
    config: Option<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
}

impl Rclone {
    pub(crate) fn new(settings: &FetchSettings, variables: &StoreVariables) -> Self {
        let inherited =
            INHERITED_VARIABLES.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        let stores = ["RCLONE_", "AWS_", "GOOGLE_", "AZURE_"]
            .iter()
            .flat_map(|prefix| variables.starting_with(prefix));
        let environment = inherited.chain(stores.map(|(name, value)| (name.into(), value.into()))).collect();
        Self { program: settings.rclone_bin.clone(), config: settings.rclone_config.clone(), environment }
    }

    /// The target comes after `--`, so that nothing in it is parsed as an option.
    fn start(
        &self,
        command: &str,
        options: &[&str],
        target: &str,
        input: Stdio,
    ) -> Result<RcloneProcess, FetchProblem> {
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
        // A group of its own, so that processes that it starts, such as ssh, are killed with it.
        rclone.process_group(0).kill_on_drop(true);
        let child = rclone.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => FetchProblem::Settings(
                "it needs rclone, which this node does not have (VMAFX_RCLONE_BIN)".to_owned(),
            ),
            kind => FetchProblem::Settings(format!("cannot start rclone: {kind} (VMAFX_RCLONE_BIN)")),
        })?;
        Ok(RcloneProcess { child })
    }

    pub(crate) async fn put(
        &self,
        target: &str,
        mut content: tokio::fs::File,
        limit: Duration,
    ) -> Result<(), FetchProblem> {
        let mut process = self.start("rcat", &[], target, Stdio::piped())?;
        let mut input = process.child.stdin.take();
        let sent = async {
            if let Some(input) = &mut input {
                tokio::io::copy(&mut content, input).await?;
                input.shutdown().await?;
            }
            drop(input);
            process.wait().await
        };
        let (status, stderr) = timeout(limit, sent)
            .await
            .map_err(|_| FetchProblem::Overdue(limit))?
            .map_err(|error| broken(&error))?;
        if status.success() { Ok(()) } else { Err(exit_problem(status, &stderr)) }
    }
}

/// Killed on drop, with the processes that it started.
struct RcloneProcess {
    child: Child,
}

impl RcloneProcess {
    /// Waits until it exits; returns its standard error.
    async fn wait(&mut self) -> std::io::Result<(ExitStatus, String)> {
        let mut stderr = Vec::new();
        if let Some(errors) = &mut self.child.stderr {
            errors.take(MAX_OUTPUT_BYTES).read_to_end(&mut stderr).await?;
        }
        Ok((self.child.wait().await?, String::from_utf8_lossy(&stderr).into_owned()))
    }
}

impl Drop for RcloneProcess {
    fn drop(&mut self) {
        // `id` is `None` once the process is reaped, so the group cannot belong to another process.
        let group =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[derive(Debug)]
pub(super) struct RcloneSource {
    context: Arc<FetchContext>,
    target: String,
}

/// Output of `lsjson --stat`.
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
    pub(super) fn new(context: &Arc<FetchContext>, remote: &str, path: &str) -> Self {
        Self { context: Arc::clone(context), target: format!("{remote}:{path}") }
    }

    pub(super) async fn stat(&self) -> Result<FileMetadata, FetchProblem> {
        let limit = self.context.limits.headers;
        let list = async {
            let mut process =
                self.context.rclone.start("lsjson", &["--stat"], &self.target, Stdio::null())?;
            let mut output = Vec::new();
            if let Some(stdout) = &mut process.child.stdout {
                stdout
                    .take(MAX_OUTPUT_BYTES)
                    .read_to_end(&mut output)
                    .await
                    .map_err(|error| broken(&error))?;
            }
            let (status, stderr) = process.wait().await.map_err(|error| broken(&error))?;
            if status.success() { Ok(output) } else { Err(exit_problem(status, &stderr)) }
        };
        let output =
            timeout(limit, list).await.map_err(|_| FetchProblem::TimedOut { what: "rclone", limit })??;
        let stat: Stat = serde_json::from_slice(&output)
            .map_err(|_| FetchProblem::NotFound("rclone does not list it".to_owned()))?;
        if stat.is_dir {
            return Err(FetchProblem::NotFound("it is a directory".to_owned()));
        }
        let length = u64::try_from(stat.size).ok();
        // A time in seconds and a length identify a version well enough to share a download, as with a web server.
        let version = length
            .filter(|_| !stat.mod_time.is_empty())
            .map(|length| FileVersion(format!("{} {length}", stat.mod_time)));
        Ok(FileMetadata { length, version })
    }

    pub(super) async fn open(
        &self,
        from: u64,
        version: Option<&FileVersion>,
    ) -> Result<OpenedSource, FetchProblem> {
        let metadata = self.stat().await?;
        if version.is_some() && metadata.version.as_ref() != version {
            return Err(FetchProblem::Changed);
        }
        let process = self.context.rclone.start(
            "cat",
            &["--offset", &from.to_string()],
            &self.target,
            Stdio::null(),
        )?;
        let length = metadata.length;
        let body = stream::unfold(Some((process, from)), move |state| async move {
            let (mut process, received) = state?;
            match next_chunk(&mut process).await {
                Ok(Some(chunk)) => {
                    let received = received + chunk.len() as u64;
                    Some((Ok(chunk), Some((process, received))))
                }
                // rclone succeeded with another length than it listed: no connection broke, so there is nothing to resume.
                Ok(None) if length.is_some_and(|length| length != received) => {
                    Some((Err(FetchProblem::Changed), None))
                }
                Ok(None) => None,
                Err(problem) => Some((Err(problem), None)),
            }
        });
        Ok(OpenedSource { metadata, start: from, body: body.boxed() })
    }
}

/// The next bytes of its output; at the end, whether it succeeded.
async fn next_chunk(process: &mut RcloneProcess) -> Result<Option<bytes::Bytes>, FetchProblem> {
    let mut buffer = bytes::BytesMut::with_capacity(CHUNK_BYTES);
    let Some(stdout) = &mut process.child.stdout else { return Ok(None) };
    if stdout.read_buf(&mut buffer).await.map_err(|error| broken(&error))? > 0 {
        return Ok(Some(buffer.freeze()));
    }
    let (status, stderr) = process.wait().await.map_err(|error| broken(&error))?;
    if status.success() { Ok(None) } else { Err(exit_problem(status, &stderr)) }
}

fn broken(error: &std::io::Error) -> FetchProblem {
    FetchProblem::Unreachable(format!("rclone: {}", error.kind()))
}

/// Classifies by the exit code, and the general exit code by known parts of the messages.
fn exit_problem(status: ExitStatus, stderr: &str) -> FetchProblem {
    let stderr = stderr.to_ascii_lowercase();
    let contains = |parts: &[&str]| parts.iter().any(|part| stderr.contains(part));
    match status.code() {
        Some(3) => FetchProblem::NotFound("no such directory".to_owned()),
        Some(4) => FetchProblem::NotFound("no such file".to_owned()),
        _ if contains(&["didn't find section in config file", "didn't find backend called"]) => {
            FetchProblem::Denied("there is no such remote in VMAFX_RCLONE_CONFIG".to_owned())
        }
        _ if contains(&["object not found", "file not found", "404 not found", "no such file"]) => {
            FetchProblem::NotFound("no such file".to_owned())
        }
        _ if contains(&[
            "accessdenied",
            "access denied",
            "permission denied",
            "401 ",
            "403 ",
            "unable to authenticate",
        ]) =>
        {
            FetchProblem::Denied("the remote rejects the credentials of this node".to_owned())
        }
        Some(code) => FetchProblem::Unreachable(format!("rclone failed with exit code {code}")),
        None => FetchProblem::Unreachable("rclone was killed".to_owned()),
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
        FailureReason::InputDeniedOnNode,
        false
    )]
    #[case(
        1,
        "ERROR : AccessDenied: Access Denied status code: 403",
        FailureReason::InputDeniedOnNode,
        false
    )]
    #[case(1, "ERROR : dial tcp: connection refused", FailureReason::SourceUnreachable, true)]
    #[case(5, "", FailureReason::SourceUnreachable, true)]
    fn an_exit_has_a_reason(
        #[case] code: i32,
        #[case] stderr: &str,
        #[case] reason: FailureReason,
        #[case] transient: bool,
    ) {
        let problem = exit_problem(ExitStatus::from_raw(code << 8), stderr);
        assert_eq!((problem.reason(), problem.is_transient()), (reason, transient));
        assert!(stderr.is_empty() || !problem.to_string().contains(stderr));
    }
}
