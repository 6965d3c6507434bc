//! `http` and `https`, by our own requests.
//!
//! Every request is one hop: redirects are followed here and not by the client, because each of them must be checked
//! against the roots. [`vmafx_kit::egress`] connects only to those IP addresses that the roots permit.

mod response;
mod source;

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use tokio::time::timeout;
use url::Url;
use vmafx_kit::egress::{ClientOptions, GuardedClient, NetworkAccess, private_address};

use super::error::{FetchProblem, error_kind};
use super::settings::FetchLimits;

pub(crate) use response::status_problem;
pub(super) use source::WebSource;

#[derive(Clone, Debug)]
pub(crate) struct WebClient {
    client: GuardedClient,
    headers: Duration,
    pub(crate) redirects: usize,
}

impl WebClient {
    pub(crate) fn new(limits: &FetchLimits) -> Result<Self, reqwest::Error> {
        let client = GuardedClient::new(ClientOptions {
            user_agent: concat!("vmafx-node/", env!("CARGO_PKG_VERSION")),
            connect_timeout: limits.connect,
            max_idle: 4,
        })?;
        Ok(Self { client, headers: limits.headers, redirects: limits.redirects })
    }

    /// A request to one URL.
    pub(crate) fn request(
        &self,
        method: Method,
        url: &Url,
        access: NetworkAccess,
    ) -> Result<RequestBuilder, FetchProblem> {
        self.client.request(method, url, access).map_err(|refused| FetchProblem::PrivateAddress(refused.0))
    }

    /// Sends a request and waits for the headers of the response.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, FetchProblem> {
        let timed_out = FetchProblem::TimedOut { what: "the server", limit: self.headers };
        timeout(self.headers, self.send_long(request)).await.map_err(|_| timed_out)?
    }

    /// Sends a request with a body, without a timeout.
    pub(crate) async fn send_long(&self, request: RequestBuilder) -> Result<Response, FetchProblem> {
        request.send().await.map_err(|error| client_problem(&error))
    }
}

/// Without the text of the error, which quotes the address.
pub(crate) fn client_problem(error: &reqwest::Error) -> FetchProblem {
    if let Some(refused) = private_address(error) {
        return FetchProblem::PrivateAddress(refused.0);
    }
    if error.is_body() || error.is_decode() {
        return FetchProblem::Cut { received: 0, of: String::new() };
    }
    if error.is_timeout() {
        return FetchProblem::Unreachable("no connection in time".to_owned());
    }
    FetchProblem::Unreachable(error_kind(error))
}
