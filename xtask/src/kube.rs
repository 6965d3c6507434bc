//! The local Kubernetes: start, stop, look at, use.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::kube::node::{self, NodeError, ProcessRole, RoleLauncher, StateDirectory};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

/// A real Kubernetes on this machine.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start a cluster with one node, and return when the node is ready
    Up(Place),
    /// End the cluster, and return when nothing of it is left
    Down(Place),
    /// Say whether a cluster runs, and how to reach it
    Status(Place),
    /// Say in one line whether this machine can run a whole node; exit code 1 if not
    Probe,
    /// Run kubectl against the cluster
    Kubectl {
        #[command(flatten)]
        place: Place,
        /// What kubectl gets
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Load an image, from a tar file in OCI layout, so that Pods can use it
    LoadImage {
        #[command(flatten)]
        place: Place,
        /// The tar file
        tar: PathBuf,
    },
    /// Build what is missing of the cluster's programs, and say where each is
    Assets {
        /// Only what tests against a control plane need
        #[arg(long)]
        control_plane: bool,
    },
    /// Be one of the cluster's own processes
    #[command(hide = true)]
    Role {
        /// Which
        role: ProcessRole,
        /// Where the cluster's files are
        state: PathBuf,
    },
}

/// Where the cluster's files are.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// Where the cluster's files are; one cluster per place [default: the user's state directory]
    #[arg(long = "state", env = "VMAFX_STATE_DIR", value_name = "DIRECTORY")]
    base: Option<PathBuf>,
}

impl Place {
    /// The directory.
    pub(crate) fn base(&self) -> Result<PathBuf> {
        let base = self.base.clone().or_else(node::default_base);
        base.context("no place for the cluster's files: set VMAFX_STATE_DIR, XDG_STATE_HOME or HOME")
    }

    /// The cluster's files in it.
    pub(crate) fn state(&self) -> Result<StateDirectory> {
        Ok(StateDirectory::new(&self.base()?)?)
    }

    /// The state of a cluster that runs.
    fn running(&self) -> Result<StateDirectory> {
        let state = self.state()?;
        if !state.is_running()? || !state.kubeconfig().exists() {
            bail!("no cluster runs: start one with `make kube-up`");
        }
        Ok(state)
    }
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Up(place) => up(&place),
        Command::Down(place) => down(&place),
        Command::Status(place) => status(&place),
        Command::Probe => {
            let verdict = probe();
            println!("{verdict}");
            if verdict != ProbeResult::Possible {
                process::exit(1);
            }
            Ok(())
        }
        Command::Kubectl { place, args } => kubectl(&place, &args),
        Command::LoadImage { place, tar } => Ok(node::load_image(&place.running()?, &tar)?),
        Command::Assets { control_plane } => list_assets(control_plane),
        Command::Role { role, state } => Ok(role.run(&state)?),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn up(place: &Place) -> Result<()> {
    let (base, state) = (place.base()?, place.state()?);
    let launcher = RoleLauncher::new(std::env::current_exe()?, &["kube", "role"]);
    let started = Instant::now();
    match WholeNode::start(&base, &launcher).await {
        Ok(cluster) => {
            cluster.detach()?;
            eprintln!("node ready in {:.1} s; `make kube-down` ends it", started.elapsed().as_secs_f64());
        }
        Err(NodeError::AlreadyRunning { .. }) => {
            eprintln!("a cluster runs already; `make kube-down` ends it");
        }
        Err(error) => return Err(error.into()),
    }
    say_how_to_reach(&state);
    Ok(())
}

/// The only thing on standard output, so that a shell can evaluate it.
fn say_how_to_reach(state: &StateDirectory) {
    println!("export KUBECONFIG={}", state.kubeconfig().display());
}

fn down(place: &Place) -> Result<()> {
    let started = Instant::now();
    if node::stop(&place.state()?)? {
        eprintln!("nothing of the cluster is left after {:.1} s", started.elapsed().as_secs_f64());
    } else {
        eprintln!("no cluster runs");
    }
    Ok(())
}

fn status(place: &Place) -> Result<()> {
    let state = place.running()?;
    if let Some(record) = state.record() {
        eprintln!("{} runs, logs in {}", record.id, state.log_directory().display());
    }
    say_how_to_reach(&state);
    Ok(())
}

fn kubectl(place: &Place, args: &[String]) -> Result<()> {
    let state = place.running()?;
    let assets = assets::ensure(&[Binary::Kubectl])?;
    let mut command = process::Command::new(assets.path(Binary::Kubectl));
    let error = command.args(args).env("KUBECONFIG", state.kubeconfig()).exec();
    Err(error).context("kubectl could not be run")
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
