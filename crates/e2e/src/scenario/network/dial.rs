//! Tries connections from inside the networks of Pods.
//!
//! Minimal images have no program for that, so a program of this machine enters the Pod's network namespace: its packets
//! have the Pod's address and route, which is all that policies look at.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;
use tokio::task::JoinSet;
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{Binary, ensure as programs};

use super::table::{Connectivity, Source, Target};
use crate::command;

/// Prints network namespace and address of every Pod.
const NETWORKS: &str = "cd /run/netns && for network in *; do \
    echo $network $(nsenter --net=$network ip -4 -o address show dev eth0); done";

#[derive(Debug)]
pub(super) struct Dialer {
    networks: BTreeMap<Source, String>,
    addresses: BTreeMap<Target, String>,
}

impl Dialer {
    /// `pods` has the addresses of the sources.
    pub(super) async fn new(
        cluster: &WholeNode,
        pods: &BTreeMap<Source, String>,
        addresses: BTreeMap<Target, String>,
    ) -> Result<Self> {
        let found = networks_of(cluster).await?;
        let network = |(from, address): (&Source, &String)| {
            let network = found
                .get(address)
                .with_context(|| format!("no network namespace has the address {address}"))?;
            Ok((*from, network.clone()))
        };
        Ok(Self { networks: pods.iter().map(network).collect::<Result<_>>()?, addresses })
    }

    /// Tries all `wanted` connections concurrently.
    pub(super) async fn all(
        &self,
        cluster: &WholeNode,
        wanted: impl Fn(Source, Target) -> bool,
    ) -> Result<Connectivity> {
        let dial = programs(&[Binary::Pause])?;
        let mut running = JoinSet::new();
        for (&from, network) in &self.networks {
            let to: Vec<_> = self.addresses.iter().filter(|(to, _)| wanted(from, **to)).collect();
            if to.is_empty() {
                continue;
            }
            let mut command = Command::from(cluster.command("nsenter")?);
            command.arg(format!("--net=/run/netns/{network}")).arg(dial.path(Binary::Pause)).arg("dial");
            command.args(to.iter().map(|(_, address)| address));
            running.spawn(async move { (from, command::output(command, "").await) });
        }
        let mut connectivity = Connectivity::new();
        while let Some(done) = running.join_next().await {
            let (from, output) = done?;
            let output = output?;
            for (&to, address) in self.addresses.iter().filter(|(to, _)| wanted(from, **to)) {
                connectivity.insert((from, to), is_open(&output, address)?);
            }
        }
        Ok(connectivity)
    }
}

/// The network namespace of the Pod with this address.
pub(super) async fn network_of(cluster: &WholeNode, address: &str) -> Result<String> {
    let found = networks_of(cluster).await?.remove(address);
    found.with_context(|| format!("no network namespace has the address {address}"))
}

async fn networks_of(cluster: &WholeNode) -> Result<BTreeMap<String, String>> {
    let mut command = Command::from(cluster.command("sh")?);
    command.args(["-c", NETWORKS]);
    Ok(networks(&command::output(command, "").await?))
}

/// Network namespaces by address, from the output of [`NETWORKS`].
fn networks(lines: &str) -> BTreeMap<String, String> {
    let network = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let address = words.skip_while(|word| *word != "inet").nth(1)?;
        Some((address.split('/').next()?.to_owned(), name))
    };
    lines.lines().filter_map(network).collect()
}

fn is_open(output: &str, address: &str) -> Result<bool> {
    let line = output.lines().find_map(|line| line.strip_prefix(address)?.strip_prefix(' '));
    let line = line.with_context(|| format!("no result for {address}: {output}"))?;
    // A refused connection was not blocked by a policy: nothing listens there.
    ensure!(!line.contains("refused"), "{address} {line}");
    Ok(line == "open")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_found_by_their_addresses() {
        let lines = "cni-a 2: eth0 inet 10.88.0.7/16 brd 10.88.255.255 scope global eth0 \\ valid_lft forever\ncni-b\n";
        assert_eq!(networks(lines), [("10.88.0.7".to_owned(), "cni-a".to_owned())].into());
    }

    #[test]
    fn the_result_of_an_address_is_not_taken_for_another() {
        let output = "10.0.0.1:80 open\n10.0.0.1:8080 closed: dial tcp 10.0.0.1:8080: i/o timeout\n";
        assert!(is_open(output, "10.0.0.1:80").unwrap());
        assert!(!is_open(output, "10.0.0.1:8080").unwrap());
        assert!(is_open(output, "10.0.0.1:8").is_err());
    }

    #[test]
    fn a_refused_connection_is_an_error() {
        assert!(is_open("a:1 closed: dial tcp a:1: connect: connection refused", "a:1").is_err());
    }
}
