//! Forwarding from Pods to servers on this machine, through a port of the node's address.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::thread;

use rustix::process::Pid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::network::NODE_ADDRESS;

/// Forwards connections of Pods to a server on this machine's loopback, until it is dropped.
#[derive(Debug)]
pub struct HostForward {
    address: String,
    _forwarding: JoinSet<io::Result<()>>,
}

impl HostForward {
    /// A socket belongs to the network namespace in which it was created, whoever uses it. So a thread enters the
    /// namespace to create the listener, and the connections to the server are opened on the host.
    pub(super) fn open(first: Pid, server: SocketAddr) -> io::Result<Self> {
        let network = File::open(format!("/proc/{}/ns/net", first.as_raw_nonzero()))?;
        let listener = thread::spawn(move || {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
            let listener = TcpListener::bind((NODE_ADDRESS, 0))?;
            listener.set_nonblocking(true)?;
            io::Result::Ok(listener)
        });
        let listener =
            listener.join().map_err(|_| io::Error::other("the thread in the namespace panicked"))??;
        let address = listener.local_addr()?.to_string();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut forwarding = JoinSet::new();
        forwarding.spawn(forward(listener, server));
        Ok(Self { address, _forwarding: forwarding })
    }

    /// `host:port`, for Pods.
    pub fn address(&self) -> &str {
        &self.address
    }
}

async fn forward(listener: tokio::net::TcpListener, server: SocketAddr) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (mut caller, _) = listener.accept().await?;
        connections.spawn(async move {
            let mut server = TcpStream::connect(server).await?;
            caller.set_nodelay(true)?;
            server.set_nodelay(true)?;
            copy_bidirectional(&mut caller, &mut server).await
        });
        while connections.try_join_next().is_some() {}
    }
}
