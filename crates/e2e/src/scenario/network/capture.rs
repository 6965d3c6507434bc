//! What the connections to the controller begin with, as a packet capture in the network of its Pod shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;
use vmafx_testkit::kube::assets::{Binary, ensure as programs};

use super::dial::network_of;
use crate::platform::Platform;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The controller's ports for HTTP and gRPC.
pub(super) const PORTS: [u16; 2] = [8080, 9090];

/// Records the first bytes that each side of a new connection sends.
pub(super) struct PacketCapture {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl PacketCapture {
    /// Captures in the network of the Pod with this address.
    pub(super) async fn start(platform: &Platform, address: &str) -> Result<Self> {
        let network = network_of(platform.cluster(), address).await?;
        let program = programs(&[Binary::Pause])?;
        let mut command = Command::from(platform.cluster().command("nsenter")?);
        command.arg(format!("--net=/run/netns/{network}")).arg(program.path(Binary::Pause)).arg("capture");
        command.args(PORTS.map(|port| port.to_string()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let first = timeout(TIMEOUT, lines.next_line()).await??;
        ensure!(first.as_deref() == Some("capturing"), "the packet capture did not start: {first:?}");
        Ok(Self { child, lines })
    }

    /// Ends the capture. Fails unless every connection was TLS from its first byte, and each of `clients` made one by
    /// gRPC. Returns the number of connections to each port.
    pub(super) async fn verify(mut self, clients: &[&str]) -> Result<String> {
        // The end of its input ends the program.
        drop(self.child.stdin.take());
        let mut beginnings = Vec::new();
        while let Some(line) = timeout(TIMEOUT, self.lines.next_line()).await?? {
            beginnings.push(Beginning::parse(&line)?);
        }
        let plain: Vec<_> = beginnings.iter().filter(|one| !one.is_tls()).collect();
        ensure!(plain.is_empty(), "these are not TLS: {plain:?}");
        let [http, grpc] = PORTS.map(|port| connections(&beginnings, port));
        ensure!(!http.is_empty(), "the capture shows no connection by HTTP");
        let callers: BTreeSet<_> = grpc.iter().map(|client| client.ip().to_string()).collect();
        let missing: Vec<_> = clients.iter().filter(|client| !callers.contains(**client)).collect();
        ensure!(missing.is_empty(), "{missing:?} made no connection by gRPC: {callers:?}");
        Ok(format!("{} by HTTP, {} by gRPC", http.len(), grpc.len()))
    }
}

/// The first bytes that one side of a connection sent.
#[derive(Debug, PartialEq)]
struct Beginning {
    from: SocketAddr,
    to: SocketAddr,
    bytes: String,
}

impl Beginning {
    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let mut word = || words.next().with_context(|| format!("not a line of the capture: {line}"));
        Ok(Self { from: word()?.parse()?, to: word()?.parse()?, bytes: word()?.to_owned() })
    }

    /// Whether this is a record of a TLS handshake, or an alert.
    fn is_tls(&self) -> bool {
        ["1603", "1503"].iter().any(|record| self.bytes.starts_with(record))
    }
}

/// The clients of a port that got an answer.
fn connections(beginnings: &[Beginning], port: u16) -> BTreeSet<SocketAddr> {
    let mut sides: BTreeMap<SocketAddr, u8> = BTreeMap::new();
    for one in beginnings {
        if one.to.port() == port {
            *sides.entry(one.from).or_default() |= 1;
        } else if one.from.port() == port {
            *sides.entry(one.to).or_default() |= 2;
        }
    }
    sides.into_iter().filter(|(_, sides)| *sides == 3).map(|(client, _)| client).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginnings(lines: &[&str]) -> Vec<Beginning> {
        lines.iter().map(|line| Beginning::parse(line).unwrap()).collect()
    }

    #[test]
    fn a_connection_is_tls_if_it_begins_with_a_handshake_or_an_alert() {
        let tls = |bytes: &str| {
            let line = format!("10.0.0.2:40000 10.0.0.1:9090 {bytes}");
            Beginning::parse(&line).unwrap().is_tls()
        };
        assert!(tls("16030100fa010000f60303") && tls("15030300020228"));
        // `PRI * HTTP/2.0` and `GET /`.
        assert!(!tls("505249202a20485454502f322e30") && !tls("474554202f"));
        assert!(Beginning::parse("10.0.0.2:40000 capturing").is_err());
    }

    #[test]
    fn only_connections_with_an_answer_count() {
        let all = beginnings(&[
            "10.0.0.2:40000 10.0.0.1:9090 1603",
            "10.0.0.1:9090 10.0.0.2:40000 1603",
            "10.0.0.3:40000 10.0.0.1:9090 1603",
            "10.0.0.2:50000 10.0.0.1:8080 1603",
            "10.0.0.1:8080 10.0.0.2:50000 1603",
        ]);
        let clients = |port| connections(&all, port).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(clients(9090), ["10.0.0.2:40000"]);
        assert_eq!(clients(8080), ["10.0.0.2:50000"]);
    }
}
