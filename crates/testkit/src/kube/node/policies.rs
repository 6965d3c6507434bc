//! `NetworkPolicies` that are enforced.
//!
//! A whole node's network connects every Pod with every other and knows of no policies. `kube-network-policies` does:
//! it watches them, and judges the first packet of every connection that the kernel puts into its queue. It asks for
//! those packets by nftables' `queue`, which not every kernel has; without it, it still judges what comes. So the
//! packets are sent its way by iptables' `NFQUEUE`, which kernels have that lack the other. Where both are there, a
//! packet is judged twice, with the same result.
//!
//! Packets from the node itself (the kubelet's probes, the API server) are let through, as Kubernetes wants it. First
//! packets only: a connection that was there before a policy stays.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use super::super::assets::{self, Binary};
use super::super::process::{Launch, Process};
use super::error::{NodeError, Step as _};
use super::state::State;
use super::{NODE_NAME, namespace, whole};

const READY: Duration = Duration::from_mins(1);

/// Its queue, by its own default.
const QUEUE: &str = "100";

/// Its table, where the kernel has `queue`.
const TABLE: [&str; 4] = ["delete", "table", "inet", "kube-network-policies"];

/// What is sent its way: from Pod to Pod and beyond, after Services are translated; and from Pods to the node.
const RULES: [&str; 2] = ["FORWARD", "INPUT ! -i lo"];

/// While this is held, policies hold. Dropped, everything may talk to everything again.
#[derive(Debug)]
pub struct Policies {
    state: State,
    _process: Process,
}

impl Policies {
    pub(super) async fn enforce(state: &State) -> Result<Self, NodeError> {
        let ensured = tokio::task::spawn_blocking(|| assets::ensure(&[Binary::NetworkPolicies])).await;
        let assets = ensured.map_err(io::Error::other).step("looking for programs")??;
        let first = namespace::first(state);
        let first = first.ok_or_else(|| NodeError::NotRunning { state: state.directory().to_owned() })?;
        let name = Binary::NetworkPolicies.name();
        let launch = Launch::new(name, "nsenter", state.logs().join(format!("{name}.log")))
            .args(namespace::way_in(first))
            // It is nsenter's child, which would survive nsenter's end.
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .arg(assets.path(Binary::NetworkPolicies))
            .path("--kubeconfig", State::inside().directory().join("inside.kubeconfig"))
            .arg(format!("--hostname-override={NODE_NAME}"))
            .arg(format!("--nfqueue-id={QUEUE}"))
            .args(["--fail-open=false", "--strict-mode=false", "--netfilter-bug-1766-fix=false"])
            // What the API server knows is enough, and nobody reads its metrics.
            .args(["--disable-nri", "--metrics-bind-address=127.0.0.1:0"]);
        let mut process = Process::start(&launch)?;
        process.ready(READY, async || listens(state)).await?;
        // From here on there is something to undo.
        let policies = Self { state: state.clone(), _process: process };
        policies.rules("-A")?;
        Ok(policies)
    }

    fn rules(&self, verb: &str) -> Result<(), NodeError> {
        for rule in RULES {
            let (chain, which) = rule.split_once(' ').unwrap_or((rule, ""));
            let which: Vec<_> = which.split_whitespace().collect();
            let target = ["-m", "conntrack", "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num", QUEUE];
            run(&self.state, "iptables", &[&["-t", "mangle", verb, chain][..], &which, &target].concat())?;
        }
        Ok(())
    }
}

impl Drop for Policies {
    fn drop(&mut self) {
        // A cluster that is gone has no rules either.
        let _ = self.rules("-D");
        let _ = run(&self.state, "nft", &TABLE);
    }
}

/// Whether somebody reads the queue.
fn listens(state: &State) -> Result<(), String> {
    let queues = run(state, "cat", &["/proc/net/netfilter/nfnetlink_queue"]);
    let queues = queues.map_err(|error| error.to_string())?;
    let ours = |line: &str| line.split_whitespace().next() == Some(QUEUE);
    if queues.lines().any(ours) { Ok(()) } else { Err(format!("nobody reads queue {QUEUE}")) }
}

fn run(state: &State, program: &str, args: &[&str]) -> Result<String, NodeError> {
    let output = whole::enter(state, program)?.args(args).stdin(Stdio::null()).output();
    let output = output.step("running nsenter")?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: format!("{program} {}", args.join(" ")), output: stderr })
}
