//! The way from the host to the API server: a port of the host's loopback, a socket in the state directory, and the
//! API server's port inside the network namespace. The socket is the one thing that both sides can see.

use std::io;
use std::path::Path;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Host side: from a port to the socket, for ever.
pub(super) async fn port_to_socket(listener: &TcpListener, socket: &Path) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (mut caller, _) = listener.accept().await?;
        let socket = socket.to_owned();
        connections.spawn(async move {
            // Before the API server is up there is nothing to connect to: the caller sees a closed connection.
            let mut server = UnixStream::connect(socket).await?;
            caller.set_nodelay(true)?;
            copy_bidirectional(&mut caller, &mut server).await
        });
        forget_finished(&mut connections);
    }
}

/// Inside: from the socket to a port, for ever.
pub(super) async fn socket_to_port(listener: &UnixListener, port: u16) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (mut caller, _) = listener.accept().await?;
        connections.spawn(async move {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
            server.set_nodelay(true)?;
            copy_bidirectional(&mut caller, &mut server).await
        });
        forget_finished(&mut connections);
    }
}

/// A broken connection is its caller's business; kept, its result would be memory lost.
fn forget_finished<T: 'static>(connections: &mut JoinSet<T>) {
    while connections.try_join_next().is_some() {}
}
