//! A proxy that stops forwarding at a given statement, as a controller does that is stopped in the middle of it.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use vmafx_testkit::postgres::PostgresDatabase;

pub(crate) struct FrozenConnections {
    dsn: String,
    frozen: Arc<Notify>,
    _proxy: JoinSet<()>,
}

impl FrozenConnections {
    /// Forwards everything before the first message that contains `statement`, and nothing after it.
    pub(crate) async fn before(database: &PostgresDatabase, statement: &'static str) -> Self {
        let (login, address) = database.dsn().rsplit_once('@').unwrap();
        let (server, name) = address.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dsn = format!("{login}@{}/{name}?sslmode=disable", listener.local_addr().unwrap());
        let frozen = Arc::new(Notify::new());
        let mut proxy = JoinSet::new();
        proxy.spawn(accept(listener, server.to_owned(), statement, frozen.clone()));
        Self { dsn, frozen, _proxy: proxy }
    }

    pub(crate) fn dsn(&self) -> &str {
        &self.dsn
    }

    pub(crate) async fn until_frozen(&self) {
        self.frozen.notified().await;
    }
}

async fn accept(listener: TcpListener, server: String, statement: &'static str, frozen: Arc<Notify>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let upstream = TcpStream::connect(&server).await.unwrap();
        connections.spawn(forward(client, upstream, statement, frozen.clone()));
    }
}

async fn forward(client: TcpStream, server: TcpStream, statement: &'static str, frozen: Arc<Notify>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async { drop(tokio::io::copy(&mut from_server, &mut to_client).await) };
    let requests = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            let message = &buffer[..read];
            if message.windows(statement.len()).any(|part| part == statement.as_bytes()) {
                frozen.notify_one();
                // The connection stays open and silent until the server ends it.
                return std::future::pending().await;
            }
            if to_server.write_all(message).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = answers => {}
        () = requests => {}
    }
}
