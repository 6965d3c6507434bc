//! Running `initdb` and the server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{fs, io};

use tokio::process::Command;
use uuid::Uuid;

use super::account::SystemAccount;
use super::{PostgresError, database};
use crate::kube::process::{ChildCommand, ChildProcess, find_program};

/// Everything that a start needs, kept so that a restart is identical.
#[derive(Debug, Clone)]
pub(super) struct PostgresLauncher {
    binaries: PathBuf,
    account: Option<SystemAccount>,
    directory: PathBuf,
    /// Password of the superuser `postgres`.
    pub(super) password: String,
    pub(super) port: u16,
}

impl PostgresLauncher {
    pub(super) fn new(binaries: PathBuf, account: Option<SystemAccount>, directory: &Path) -> Self {
        let password = Uuid::new_v4().simple().to_string();
        Self { binaries, account, directory: directory.to_owned(), password, port: 0 }
    }

    pub(super) fn on(self, port: u16) -> Self {
        Self { port, ..self }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(super) fn backup(&self) -> PathBuf {
        self.directory.join("backup")
    }

    /// Replaces a directory with a copy of another, with the same owners and permissions.
    pub(super) async fn replace_directory(&self, from: &Path, to: &Path) -> Result<(), PostgresError> {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        let copied = Command::new("cp").arg("-a").arg(from).arg(to).stdin(Stdio::null()).status().await?;
        if copied.success() { Ok(()) } else { Err(io::Error::other("cp -a failed").into()) }
    }

    pub(super) fn superuser_dsn(&self, database: &str) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Runs `initdb`, without syncing: the files are worthless before the first test writes to them.
    pub(super) async fn initdb(&self, password: &Path) -> Result<(), PostgresError> {
        let (program, mut args) = self.as_account("initdb", &[])?;
        args.extend(
            ["--no-sync", "--username=postgres", "--encoding=UTF8", "--locale=C"].map(OsString::from),
        );
        // Plain passwords: stronger methods are slow by design, and every test connects many times.
        args.push("--auth=password".into());
        args.push(flag("--pwfile=", password));
        args.push(flag("--pgdata=", &self.data()));
        let output = Command::new(program)
            .args(args)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        let stderr = || String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(PostgresError::InitDb(stderr())) }
    }

    /// Starts the server and waits until it answers.
    pub(super) async fn start(&self, timeout: Duration) -> Result<ChildProcess, PostgresError> {
        let (program, args) = self.as_account("postgres", &["--pdeathsig", "QUIT"])?;
        let launch = ChildCommand::new("postgres", program, self.directory.join("log"))
            .args(args)
            .directory(&self.directory)
            .arg("-D")
            .arg(self.data())
            .args(["-c", "listen_addresses=127.0.0.1", "-c", &format!("port={}", self.port)])
            .arg("-c")
            .arg(flag("unix_socket_directories=", &self.data()))
            .args(["-c", "ssl=on", "-c"])
            .arg(flag("ssl_cert_file=", &self.directory.join("postgres.crt")))
            .arg("-c")
            .arg(flag("ssl_key_file=", &self.directory.join("postgres.key")));
        let mut process = ChildProcess::start(&launch)?;
        let dsn = self.superuser_dsn("postgres");
        process.ready(timeout, || database::execute(&dsn, "SELECT 1")).await?;
        Ok(process)
    }

    /// The command line that runs a program as the account. Changing the account clears the death signal, so `setpriv`
    /// sets it again, and the parent is checked again, as in [`crate::kube::process`]. The signal is QUIT, Postgres's
    /// immediate shutdown, because SIGKILL would leave shared memory behind.
    fn as_account(&self, program: &str, more: &[&str]) -> Result<(PathBuf, Vec<OsString>), PostgresError> {
        let program = self.binaries.join(program);
        let Some(setpriv) = find_program("setpriv") else {
            return if self.account.is_some() {
                Err(PostgresError::NoSetpriv)
            } else {
                Ok((program, vec![]))
            };
        };
        let mut args: Vec<OsString> = more.iter().map(OsString::from).collect();
        if let Some(SystemAccount { uid, gid }) = self.account {
            args.extend([
                format!("--reuid={uid}").into(),
                format!("--regid={gid}").into(),
                "--clear-groups".into(),
            ]);
        }
        args.extend(["--", "sh", "-c", r#"test "$PPID" = "$0" && exec "$@""#].map(OsString::from));
        args.push(std::process::id().to_string().into());
        args.push(program.into());
        Ok((setpriv, args))
    }
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}
