//! Port-forwards of the fake kubelet, by the protocol `v4.channel.k8s.io`: each message starts with the number of its channel,
//! of which a port has one for data and one for errors. Pods have the network of this machine.

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

const DATA: u8 = 0;
const ERROR: u8 = 1;

pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, head: &str) {
    let path = head.split_whitespace().nth(1).unwrap();
    let port: u16 =
        path.split(['?', '&']).find_map(|one| one.strip_prefix("port=")).unwrap().parse().unwrap();
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let key =
        lines.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key")).map(|(_, key)| key).next();
    let accept = derive_accept_key(key.unwrap().trim().as_bytes());
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"
    );
    if stream.write_all(response.as_bytes()).await.is_err() {
        return;
    }
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    for channel in [DATA, ERROR] {
        let [low, high] = port.to_le_bytes();
        if socket.send(Message::binary(vec![channel, low, high])).await.is_err() {
            return;
        }
    }
    match TcpStream::connect(("127.0.0.1", port)).await {
        Ok(pod) => copy(&mut socket, pod).await,
        Err(error) => {
            let _ = socket.send(Message::binary([&[ERROR], error.to_string().as_bytes()].concat())).await;
        }
    }
    let _ = socket.close(None).await;
}

async fn copy<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<S>, mut pod: TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            read = pod.read(&mut buffer) => {
                let Ok(length @ 1..) = read else { return };
                if socket.send(Message::binary([&[DATA], &buffer[..length]].concat())).await.is_err() {
                    return;
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) if bytes.first() == Some(&DATA) => {
                    if pod.write_all(&bytes[1..]).await.is_err() {
                        return;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}
