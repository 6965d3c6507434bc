//! Enforcement of `NetworkPolicies`.
//!
//! A whole node's network connects every Pod with every other and ignores policies. `kube-network-policies` enforces
//! them: it watches them, and accepts or drops the first packet of every connection that the kernel puts into its
//! queue. It requests those packets through nftables' `queue`, which not every kernel has; without it, it still handles
//! what is queued. So iptables' `NFQUEUE` queues the packets, which other kernels have. Where both exist, a packet is
//! handled twice, with the same result.
//!
//! Packets from the node itself (the kubelet's probes, the API server) are accepted, as in Kubernetes. Only first
//! packets are queued: a connection that existed before a policy stays.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use super::super::assets::{self, Binary};
use super::super::process::{ChildCommand, ChildProcess};
use super::error::{NodeError, ResultExt as _};
use super::state::StateDirectory;
use super::{NODE_NAME, namespace, whole_node};

const READY_TIMEOUT: Duration = Duration::from_mins(1);

/// The default queue of `kube-network-policies`.
const QUEUE: &str = "100";

/// The arguments of `nft` that delete the table of `kube-network-policies`.
const DELETE_TABLE: [&str; 4] = ["delete", "table", "inet", "kube-network-policies"];

/// The queued packets: those between Pods and beyond, after Services are translated, and those from Pods to the node.
const QUEUED_PACKETS: [&str; 2] = ["FORWARD", "INPUT ! -i lo"];

/// Policies are enforced until this is dropped.
#[derive(Debug)]
pub struct PolicyEnforcement {
    state: StateDirectory,
    _process: ChildProcess,
}

impl PolicyEnforcement {
    pub(super) async fn enforce(state: &StateDirectory) -> Result<Self, NodeError> {
        let ensured = tokio::task::spawn_blocking(|| assets::ensure(&[Binary::NetworkPolicies])).await;
        let assets = ensured.map_err(io::Error::other).step("looking for programs")??;
        let first = namespace::first(state);
        let first = first.ok_or_else(|| NodeError::NotRunning { state: state.directory().to_owned() })?;
        let name = Binary::NetworkPolicies.name();
        let command = ChildCommand::new(name, "nsenter", state.log_directory().join(format!("{name}.log")))
            .args(namespace::nsenter_args(first))
            // As nsenter's child it would otherwise survive nsenter.
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .arg(assets.path(Binary::NetworkPolicies))
            .path("--kubeconfig", StateDirectory::inside().directory().join("inside.kubeconfig"))
            .arg(format!("--hostname-override={NODE_NAME}"))
            .arg(format!("--nfqueue-id={QUEUE}"))
            .args(["--fail-open=false", "--strict-mode=false", "--netfilter-bug-1766-fix=false"])
            // The API server provides everything it needs, and its metrics are not used.
            .args(["--disable-nri", "--metrics-bind-address=127.0.0.1:0"]);
        let mut process = ChildProcess::start(&command)?;
        process.ready(READY_TIMEOUT, async || queue_has_reader(state)).await?;
        // Constructed before the rules are added, so that dropping it removes them.
        let enforcement = Self { state: state.clone(), _process: process };
        enforcement.rules("-A")?;
        Ok(enforcement)
    }

    fn rules(&self, verb: &str) -> Result<(), NodeError> {
        for rule in QUEUED_PACKETS {
            let (chain, which) = rule.split_once(' ').unwrap_or((rule, ""));
            let which: Vec<_> = which.split_whitespace().collect();
            let target = ["-m", "conntrack", "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num", QUEUE];
            run(&self.state, "iptables", &[&["-t", "mangle", verb, chain][..], &which, &target].concat())?;
        }
        Ok(())
    }
}

impl Drop for PolicyEnforcement {
    fn drop(&mut self) {
        // Errors are ignored: a cluster that has ended has no rules either.
        let _ = self.rules("-D");
        let _ = run(&self.state, "nft", &DELETE_TABLE);
    }
}

/// Whether a process reads the queue.
fn queue_has_reader(state: &StateDirectory) -> Result<(), String> {
    let queues = run(state, "cat", &["/proc/net/netfilter/nfnetlink_queue"]);
    let queues = queues.map_err(|error| error.to_string())?;
    let ours = |line: &str| line.split_whitespace().next() == Some(QUEUE);
    if queues.lines().any(ours) { Ok(()) } else { Err(format!("no process reads queue {QUEUE}")) }
}

fn run(state: &StateDirectory, program: &str, args: &[&str]) -> Result<String, NodeError> {
    let output = whole_node::enter(state, program)?.args(args).stdin(Stdio::null()).output();
    let output = output.step("running nsenter")?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: format!("{program} {}", args.join(" ")), output: stderr })
}
