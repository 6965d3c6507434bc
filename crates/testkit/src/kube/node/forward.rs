//! Forwarding from the host to the API server: from a port of the host's loopback through a socket in the state
//! directory, which both sides can see, to the API server's port inside the network namespace.

use std::io;
use std::path::Path;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

/// The host's side: from a port to the socket.
pub(super) async fn port_to_socket(listener: &TcpListener, socket: &Path) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (mut caller, _) = listener.accept().await?;
        let socket = socket.to_owned();
        connections.spawn(async move {
            // Before the API server is up this fails, and the caller sees a closed connection.
            let mut server = UnixStream::connect(socket).await?;
            caller.set_nodelay(true)?;
            copy_bidirectional(&mut caller, &mut server).await
        });
        discard_finished(&mut connections);
    }
}

/// The side of the namespace: from the socket to a port.
pub(super) async fn socket_to_port(listener: &UnixListener, port: u16) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (mut caller, _) = listener.accept().await?;
        connections.spawn(async move {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
            server.set_nodelay(true)?;
            copy_bidirectional(&mut caller, &mut server).await
        });
        discard_finished(&mut connections);
    }
}

/// Results of finished connections would accumulate in memory; errors are visible to the caller.
fn discard_finished<T: 'static>(connections: &mut JoinSet<T>) {
    while connections.try_join_next().is_some() {}
}
