//! Somebody with curl.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

const CALL: Duration = Duration::from_secs(30);

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) body: Value,
}

impl Http {
    /// With a token, or without.
    pub(crate) fn new(addr: SocketAddr, token: Option<&str>) -> Self {
        let client = reqwest::Client::builder().timeout(CALL).no_proxy().build().unwrap();
        Self { client, base: format!("http://{addr}"), token: token.map(ToOwned::to_owned) }
    }

    /// A request that is not sent yet.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// The answer to it.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Answer { status, kind: kind.unwrap_or_default(), body })
    }

    pub(crate) async fn try_get(&self, path: &str) -> reqwest::Result<Answer> {
        self.send(self.request("GET", path)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.try_get(path).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request("POST", path).body(body.to_string())).await.unwrap()
    }
}

impl Answer {
    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.body
    }

    /// The text of a refusal with this status; the body has nothing else.
    #[track_caller]
    pub(crate) fn refused(self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.kind.starts_with("application/json"), "{self:?}");
        let fields = self.body.as_object().unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["error"], "{self:?}");
        fields["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}
