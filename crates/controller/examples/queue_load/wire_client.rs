//! gRPC calls straight on HTTP/2.
//!
//! The load shares two cores with what it measures, so each microsecond of the client is taken from the server. This
//! client has no layers: no buffer between caller and connection, no boxed bodies.

use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::{self, SendRequest};
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderValue, Request, Uri};
use prost::Message;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const SERVICE: &str = "vmafx.controller.v1.VmafxController";

/// Flag and length before each message.
const PREFIX: usize = 5;

/// A connection with a token; copies share it.
#[derive(Clone)]
pub(crate) struct Client {
    requests: SendRequest<Bytes>,
    base: Arc<str>,
    token: HeaderValue,
    /// What moves the bytes; it ends with the last copy.
    _driver: Arc<JoinSet<()>>,
}

impl Client {
    /// Connects.
    pub(crate) async fn connect(address: &str, token: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
        stream.set_nodelay(true)?;
        let (requests, connection) = client::handshake(stream).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async {
            // Callers hear of a connection that ended.
            let _ = connection.await;
        });
        let token = format!("Bearer {token}").parse().context("the token")?;
        Ok(Self {
            requests,
            base: format!("http://{address}/{SERVICE}/").into(),
            token,
            _driver: Arc::new(driver),
        })
    }

    /// One message there, one back.
    pub(crate) async fn call<Q: Message, A: Message + Default>(
        &mut self,
        method: &str,
        question: &Q,
    ) -> anyhow::Result<A> {
        let mut frame = BytesMut::with_capacity(PREFIX + question.encoded_len());
        frame.put_u8(0);
        frame.put_u32(u32::try_from(question.encoded_len())?);
        question.encode(&mut frame)?;
        let request = Request::post(format!("{}{method}", self.base).parse::<Uri>()?)
            .header(TE, HeaderValue::from_static("trailers"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
            .header(AUTHORIZATION, self.token.clone())
            .body(())?;
        let mut ready = self.requests.clone().ready().await?;
        let (answer, mut body) = ready.send_request(request, false)?;
        body.send_data(frame.freeze(), true)?;

        let (head, mut body) = answer.await?.into_parts();
        let mut received = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            received.extend_from_slice(&piece);
        }
        // A refusal without a message has its status in the head.
        let trailers = body.trailers().await?.unwrap_or(head.headers);
        let status = trailers.get("grpc-status").and_then(|value| value.to_str().ok()).unwrap_or("missing");
        if status != "0" {
            bail!("{method}: status {status}: {:?}", trailers.get("grpc-message"));
        }
        ensure!(received.len() >= PREFIX, "{method}: an answer without a message");
        Ok(A::decode(&received[PREFIX..])?)
    }
}
