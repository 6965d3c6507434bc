//! Requests to registries, with the client of the fetcher.

use std::sync::Arc;

use reqwest::{Method, RequestBuilder};
use url::Url;
use vmafx_oci::transport::classify;
use vmafx_oci::{Transport, TransportError};

use crate::fetch::web::client_problem;
use crate::fetch::{FetchContext, FetchProblem};
use crate::paths::network::NetworkAccess;

/// Registries are in private networks. Link-local addresses are denied, also as the target of a redirect.
const ACCESS: NetworkAccess = NetworkAccess::Named;

#[derive(Debug)]
pub(super) struct GuardedTransport(pub(super) Arc<FetchContext>);

impl Transport for GuardedTransport {
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError> {
        self.0
            .web
            .request(method, url, ACCESS)
            .map_err(|problem| TransportError::Forbidden(problem.to_string()))
    }

    fn classify(&self, error: &reqwest::Error) -> TransportError {
        match client_problem(error) {
            private @ FetchProblem::PrivateAddress(_) => TransportError::Forbidden(private.to_string()),
            _ => classify(error),
        }
    }
}
