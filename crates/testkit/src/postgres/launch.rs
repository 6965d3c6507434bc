//! How the cluster is made and the server is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use uuid::Uuid;

use super::account::Account;
use super::{PostgresError, database};
use crate::kube::process::{Launch, Process, find_program};

/// Everything that a start needs, so that a restart is the same.
#[derive(Debug, Clone)]
pub(super) struct Launcher {
    binaries: PathBuf,
    account: Option<Account>,
    directory: PathBuf,
    /// Of the superuser `postgres`.
    pub(super) password: String,
    pub(super) port: u16,
}

impl Launcher {
    pub(super) fn new(binaries: PathBuf, account: Option<Account>, directory: &Path) -> Self {
        let password = Uuid::new_v4().simple().to_string();
        Self { binaries, account, directory: directory.to_owned(), password, port: 0 }
    }

    pub(super) fn on(self, port: u16) -> Self {
        Self { port, ..self }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Where the superuser connects.
    pub(super) fn superuser(&self, database: &str) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Makes the cluster. Not synced: it is worth nothing before the first test writes to it.
    pub(super) async fn initialise(&self, password: &Path) -> Result<(), PostgresError> {
        let (program, mut args) = self.as_account("initdb", &[])?;
        args.extend(
            ["--no-sync", "--username=postgres", "--encoding=UTF8", "--locale=C"].map(OsString::from),
        );
        // Plain passwords: the stronger methods are slow on purpose, and every test connects many times.
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
        let told = || String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(PostgresError::Initialise(told())) }
    }

    /// Starts it and waits until it answers.
    pub(super) async fn start(&self, patience: Duration) -> Result<Process, PostgresError> {
        let (program, args) = self.as_account("postgres", &["--pdeathsig", "QUIT"])?;
        let launch = Launch::new("postgres", program, self.directory.join("log"))
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
        let mut process = Process::start(&launch)?;
        let dsn = self.superuser("postgres");
        process.ready(patience, || database::execute(&dsn, "SELECT 1")).await?;
        Ok(process)
    }

    /// A program and its first arguments, run as the account. With the account the death signal is lost, so it is set
    /// again afterwards, and the parent is looked at again, as in [`crate::kube::process`]. The signal is the one for
    /// an immediate end: a server that is killed outright leaves shared memory behind.
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
        if let Some(Account { uid, gid }) = self.account {
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
