//! The processes that tests kill.
//!
//! ```text
//! testkit-helper control-plane          run a control plane until killed
//! testkit-helper postgres               run a Postgres server until killed
//! testkit-helper whole-node BASE        run a whole node until killed
//! testkit-helper role ROLE BASE         run one of the processes of a whole node
//! ```

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::iter::successors;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use vmafx_testkit::kube::node::{ProcessRole, RoleLauncher};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, WholeNode};
use vmafx_testkit::postgres::PostgresServer;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    let causes = successors(Some(&*error as &dyn Error), |&error| error.source());
    eprintln!("{}", causes.map(ToString::to_string).collect::<Vec<_>>().join(": "));
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["control-plane"] => own_control_plane(),
        ["postgres"] => own_postgres(),
        ["whole-node", base] => own_whole_node(Path::new(base)),
        ["role", role, base] => Ok(role.parse::<ProcessRole>()?.run(Path::new(base))?),
        other => {
            Err(format!("unknown command {other:?}; see the comment at the top of testkit-helper.rs").into())
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn own_control_plane() -> Result<(), Box<dyn Error>> {
    let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
    let control_plane = ControlPlane::start(options).await?;
    let directory = control_plane.kubeconfig_path().parent().unwrap_or(Path::new("/"));
    report(&json!({"pids": control_plane.pids(), "directory": directory}))
}

#[tokio::main(flavor = "current_thread")]
async fn own_postgres() -> Result<(), Box<dyn Error>> {
    let server = PostgresServer::start().await?;
    report(&json!({"pids": [server.pid().await], "directory": server.directory()}))
}

#[tokio::main(flavor = "current_thread")]
async fn own_whole_node(base: &Path) -> Result<(), Box<dyn Error>> {
    let launcher = RoleLauncher::new(std::env::current_exe()?, &["role"]);
    let node = WholeNode::start(base, &launcher).await?;
    report(&json!({"supervisor": node.supervisor()}))
}

/// Prints a report, then blocks until killed, or until the input ends because the test that started this has ended.
fn report(report: &Value) -> Result<(), Box<dyn Error>> {
    writeln!(io::stdout(), "{report}")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
