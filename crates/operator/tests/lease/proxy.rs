//! A proxy to the API server that can be blocked.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use vmafx_kit::tasks::Shutdown;

/// Forwards bytes until it is blocked; from then on connections stay open and nothing is forwarded.
pub(crate) struct BlockableProxy {
    config: kube::Config,
    blocked: Shutdown,
    #[expect(dead_code, reason = "stops when the proxy is dropped")]
    forwarding: JoinSet<()>,
}

impl BlockableProxy {
    pub(crate) async fn start(config: &kube::Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let server = config.cluster_url.authority().unwrap().as_str().to_owned();
        let mut config = config.clone();
        config.cluster_url = format!("https://{address}").parse().unwrap();
        let blocked = Shutdown::new();
        let mut forwarding = JoinSet::new();
        forwarding.spawn(accept(listener, server, blocked.clone()));
        Self { config, blocked, forwarding }
    }

    pub(crate) fn config(&self) -> &kube::Config {
        &self.config
    }

    pub(crate) fn block(&self) {
        self.blocked.begin();
    }
}

async fn accept(listener: TcpListener, server: String, blocked: Shutdown) {
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let (server, blocked) = (server.clone(), blocked.clone());
        connections.spawn(async move {
            let mut server = TcpStream::connect(server).await.unwrap();
            let forwarded = blocked.run_until_begun(copy_bidirectional(&mut client, &mut server)).await;
            if forwarded.is_none() {
                std::future::pending::<()>().await;
            }
        });
    }
}
