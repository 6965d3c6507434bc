//! Connections that are tried from inside the networks of Pods.
//!
//! Minimal images have nothing to try them with. So a program of this machine enters the Pod's network: its packets
//! come from the Pod's address and take the Pod's way, which is all that policies know.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;
use tokio::task::JoinSet;
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{Binary, ensure as programs};

use super::table::{Seen, Who, Whom};
use crate::command;

/// Prints `NETWORK ADDRESS` of every Pod.
const NETWORKS: &str = "cd /run/netns && for network in *; do \
    echo $network $(nsenter --net=$network ip -4 -o address show dev eth0); done";

/// Where connections begin and where they lead.
#[derive(Debug)]
pub(super) struct Dial {
    networks: BTreeMap<Who, String>,
    addresses: BTreeMap<Whom, String>,
}

impl Dial {
    /// `pods` by their addresses.
    pub(super) async fn new(
        cluster: &WholeNode,
        pods: &BTreeMap<Who, String>,
        addresses: BTreeMap<Whom, String>,
    ) -> Result<Self> {
        let mut command = Command::from(cluster.command("sh")?);
        command.args(["-c", NETWORKS]);
        let found = networks(&command::output(command, "").await?);
        let network = |(from, address): (&Who, &String)| {
            let network = found.get(address).with_context(|| format!("no network has {address}"))?;
            Ok((*from, network.clone()))
        };
        Ok(Self { networks: pods.iter().map(network).collect::<Result<_>>()?, addresses })
    }

    /// Tries every wanted connection, all at once.
    pub(super) async fn all(&self, cluster: &WholeNode, wanted: impl Fn(Who, Whom) -> bool) -> Result<Seen> {
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
        let mut seen = Seen::new();
        while let Some(done) = running.join_next().await {
            let (from, said) = done?;
            let said = said?;
            for (&to, address) in self.addresses.iter().filter(|(to, _)| wanted(from, **to)) {
                seen.insert((from, to), is_open(&said, address)?);
            }
        }
        Ok(seen)
    }
}

/// Addresses and whose they are.
fn networks(lines: &str) -> BTreeMap<String, String> {
    let network = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let address = words.skip_while(|word| *word != "inet").nth(1)?;
        Some((address.split('/').next()?.to_owned(), name))
    };
    lines.lines().filter_map(network).collect()
}

fn is_open(said: &str, address: &str) -> Result<bool> {
    let line = said.lines().find_map(|line| line.strip_prefix(address)?.strip_prefix(' '));
    let line = line.with_context(|| format!("nothing was said of {address}: {said}"))?;
    // Refused is not blocked: there is nobody to be kept from.
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
    fn what_was_said_of_an_address_is_not_taken_for_another() {
        let said = "10.0.0.1:80 open\n10.0.0.1:8080 closed: dial tcp 10.0.0.1:8080: i/o timeout\n";
        assert!(is_open(said, "10.0.0.1:80").unwrap());
        assert!(!is_open(said, "10.0.0.1:8080").unwrap());
        assert!(is_open(said, "10.0.0.1:8").is_err());
    }

    #[test]
    fn nobody_there_is_an_error() {
        assert!(is_open("a:1 closed: dial tcp a:1: connect: connection refused", "a:1").is_err());
    }
}
