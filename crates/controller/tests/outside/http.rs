//! A client of the HTTP API.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// A string if the body is not JSON.
    pub(crate) body: Value,
}

impl Http {
    pub(crate) fn new(addr: SocketAddr, token: Option<&str>) -> Self {
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build().unwrap();
        Self { client, base: format!("http://{addr}"), token: token.map(ToOwned::to_owned) }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Result<ApiResponse> {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let content_type =
            response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(ApiResponse { status, content_type: content_type.unwrap_or_default(), body })
    }

    pub(crate) async fn try_get(&self, path: &str) -> reqwest::Result<ApiResponse> {
        self.send(self.request("GET", path)).await
    }

    pub(crate) async fn get(&self, path: &str) -> ApiResponse {
        self.try_get(path).await.unwrap()
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> ApiResponse {
        self.send(self.request("PATCH", path).body(body.to_string())).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> ApiResponse {
        self.send(self.request("POST", path).body(body.to_string())).await.unwrap()
    }
}

impl ApiResponse {
    /// The body, if this is the status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.body
    }

    /// The error message, if this is the status and the body has no other field.
    #[track_caller]
    pub(crate) fn refused(self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.content_type.starts_with("application/json"), "{self:?}");
        let fields = self.body.as_object().unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["error"], "{self:?}");
        fields["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}
