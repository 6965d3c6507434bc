use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::AuthInfo;

type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The API server behind the proxy. There are two clients, because a certificate belongs to a connection and would take
/// precedence over a caller's own token.
#[derive(Debug)]
pub(super) struct Upstream {
    with_certificate: Https,
    without_certificate: Https,
    address: Uri,
}

impl Upstream {
    pub(super) fn new(config: &Config) -> Result<Self, kube::Error> {
        let mut bare = config.clone();
        bare.auth_info = AuthInfo::default();
        let client = |config: &Config| {
            let connector = config.rustls_https_connector()?;
            Ok::<_, kube::Error>(Client::builder(TokioExecutor::new()).build(connector))
        };
        Ok(Self {
            with_certificate: client(config)?,
            without_certificate: client(&bare)?,
            address: config.cluster_url.clone(),
        })
    }

    /// Forwards a request with the caller's own token, or with the cluster's certificate when it has none.
    ///
    /// There is no timeout here: when the caller gives up, its connection closes and this future is dropped.
    pub(super) async fn send(&self, head: &Parts, body: Bytes) -> Result<Response<Incoming>, UpstreamError> {
        let mut uri = self.address.clone().into_parts();
        uri.path_and_query = head.uri.path_and_query().cloned();
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = Uri::from_parts(uri).map_err(http::Error::from)?;
        *request.headers_mut() = head.headers.clone();
        for header in [HOST, CONNECTION, TRANSFER_ENCODING] {
            request.headers_mut().remove(header);
        }
        let has_token = head.headers.contains_key(AUTHORIZATION);
        let client = if has_token { &self.without_certificate } else { &self.with_certificate };
        let mut response = client.request(request).await?;
        for header in [CONNECTION, TRANSFER_ENCODING] {
            response.headers_mut().remove(header);
        }
        Ok(response)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    #[error("cannot forward the request")]
    Request(#[from] http::Error),
    #[error("the API server did not answer")]
    NoAnswer(#[from] Error),
}
