//! Requests to registries, made with the client that inputs are fetched with.

use std::sync::Arc;

use reqwest::{Method, RequestBuilder};
use url::Url;
use vmafx_oci::transport::classify;
use vmafx_oci::{Transport, TransportError};

use crate::fetch::web::of_client;
use crate::fetch::{Problem, Tools};
use crate::paths::network::Reach;

/// Registries live in private networks. Never link-local, whoever sends us there.
const REACH: Reach = Reach::Named;

/// The node's care about addresses.
#[derive(Debug)]
pub(super) struct Guarded(pub(super) Arc<Tools>);

impl Transport for Guarded {
    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, TransportError> {
        self.0
            .web
            .request(method, url, REACH)
            .map_err(|problem| TransportError::Forbidden(problem.to_string()))
    }

    fn classify(&self, error: &reqwest::Error) -> TransportError {
        match of_client(error) {
            inside @ Problem::AddressInside(_) => TransportError::Forbidden(inside.to_string()),
            _ => classify(error),
        }
    }
}
