//! `cargo xtask kube`: start, stop and use a local cluster.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::kube::node::{self, NodeError, ProcessRole, RoleLauncher, StateDirectory};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start a cluster with one node, and return when the node is ready
    Up(ClusterArgs),
    /// Stop the cluster, and return when nothing of it is left
    Down(ClusterArgs),
    /// Print whether a cluster runs, and how to reach it
    Status(ClusterArgs),
    /// Print in one line whether this machine can run a whole node; exit code 1 if not
    Probe,
    /// Run kubectl against the cluster
    Kubectl {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// Arguments for kubectl
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Load an image, from a tar file in OCI layout, so that Pods can use it
    LoadImage {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// The tar file
        tar: PathBuf,
    },
    /// Build the missing programs of the cluster, and print the path of each
    Assets {
        /// Only the programs that tests with a control plane need
        #[arg(long)]
        control_plane: bool,
    },
    /// Run as one of the cluster's own processes
    #[command(hide = true)]
    Role {
        role: ProcessRole,
        /// Directory of the cluster's files
        state: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Directory of the cluster's files, one per cluster [default: the user's state directory]
    #[arg(long = "state", env = "VMAFX_STATE_DIR", value_name = "DIRECTORY")]
    base: Option<PathBuf>,
}

impl ClusterArgs {
    pub(crate) fn base(&self) -> Result<PathBuf> {
        let base = self.base.clone().or_else(node::default_base);
        base.context("no directory for the cluster's files; set VMAFX_STATE_DIR, XDG_STATE_HOME or HOME")
    }

    pub(crate) fn state(&self) -> Result<StateDirectory> {
        Ok(StateDirectory::new(&self.base()?)?)
    }

    /// The state of a running cluster; an error if none runs.
    fn running(&self) -> Result<StateDirectory> {
        let state = self.state()?;
        if !state.is_running()? || !state.kubeconfig().exists() {
            bail!("no cluster is running; start one with `make kube-up`");
        }
        Ok(state)
    }
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Up(cluster) => up(&cluster),
        Command::Down(cluster) => down(&cluster),
        Command::Status(cluster) => status(&cluster),
        Command::Probe => {
            let verdict = probe();
            println!("{verdict}");
            if verdict != ProbeResult::Possible {
                process::exit(1);
            }
            Ok(())
        }
        Command::Kubectl { cluster, args } => kubectl(&cluster, &args),
        Command::LoadImage { cluster, tar } => Ok(node::load_image(&cluster.running()?, &tar)?),
        Command::Assets { control_plane } => list_assets(control_plane),
        Command::Role { role, state } => Ok(role.run(&state)?),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn up(cluster: &ClusterArgs) -> Result<()> {
    let (base, state) = (cluster.base()?, cluster.state()?);
    let launcher = RoleLauncher::new(std::env::current_exe()?, &["kube", "role"]);
    let started = Instant::now();
    match WholeNode::start(&base, &launcher).await {
        Ok(cluster) => {
            cluster.detach()?;
            eprintln!("node ready in {:.1} s; `make kube-down` stops it", started.elapsed().as_secs_f64());
        }
        Err(NodeError::AlreadyRunning { .. }) => {
            eprintln!("a cluster is already running; `make kube-down` stops it");
        }
        Err(error) => return Err(error.into()),
    }
    print_kubeconfig(&state);
    Ok(())
}

/// Nothing else goes to standard output, so that a shell can evaluate it.
fn print_kubeconfig(state: &StateDirectory) {
    println!("export KUBECONFIG={}", state.kubeconfig().display());
}

fn down(cluster: &ClusterArgs) -> Result<()> {
    let started = Instant::now();
    if node::stop(&cluster.state()?)? {
        eprintln!("the cluster was stopped and removed in {:.1} s", started.elapsed().as_secs_f64());
    } else {
        eprintln!("no cluster is running");
    }
    Ok(())
}

fn status(cluster: &ClusterArgs) -> Result<()> {
    let state = cluster.running()?;
    if let Some(record) = state.record() {
        eprintln!("{} runs, logs in {}", record.id, state.log_directory().display());
    }
    print_kubeconfig(&state);
    Ok(())
}

fn kubectl(cluster: &ClusterArgs, args: &[String]) -> Result<()> {
    let state = cluster.running()?;
    let assets = assets::ensure(&[Binary::Kubectl])?;
    let mut command = process::Command::new(assets.path(Binary::Kubectl));
    let error = command.args(args).env("KUBECONFIG", state.kubeconfig()).exec();
    Err(error).context("cannot run kubectl")
}

fn list_assets(control_plane: bool) -> Result<()> {
    let wanted: &[Binary] = if control_plane {
        &[Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager, Binary::Kubectl]
    } else {
        &Binary::CLUSTER
    };
    let assets = assets::ensure(wanted)?;
    for binary in wanted {
        println!("{:<24} {:<8} {}", binary.name(), binary.version(), assets.path(*binary).display());
    }
    Ok(())
}
