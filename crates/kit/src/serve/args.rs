//! The settings of the two kinds of listeners.

use std::path::PathBuf;
use std::time::Duration;

use tonic::transport::Server;

use super::http::HttpOptions;
use super::limits::HttpLimits;
use crate::config::{GoDuration, Refusal};
use crate::tls::{ServerTls, TlsError, TlsFiles, TlsVariables};

const HTTP_TLS: TlsVariables =
    TlsVariables { switch: "VMAFX_HTTP_TLS=true", cert: "VMAFX_HTTP_CERT_FILE", key: "VMAFX_HTTP_KEY_FILE" };

const GRPC_TLS: TlsVariables =
    TlsVariables { switch: "VMAFX_GRPC_TLS=true", cert: "VMAFX_GRPC_CERT_FILE", key: "VMAFX_GRPC_KEY_FILE" };

/// Smaller heads than this refuse ordinary browsers.
const SMALLEST_HEADER: usize = 4096;

/// A connection that says nothing for this long is asked whether it still lives. Each connection is looked at that often,
/// also one that does speak, so this is what a thousand quiet nodes cost.
const PING_AFTER: Duration = Duration::from_mins(2);
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Calls that one connection may have open. A node has a handful, a proxy many.
const STREAMS: u32 = 1024;

/// Bytes of the metadata of one call, uncompressed: a token of 16 KiB and the rest.
const METADATA: u32 = 32 * 1024;

/// Why a listener cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Settings that cannot be used.
    #[error("the settings of a listener cannot be used")]
    Refused(#[from] Refusal),
    /// No TLS.
    #[error("a listener has no TLS")]
    Tls(#[from] TlsError),
}

/// How HTTP is served; a daemon flattens this into its own settings, beside the address.
#[derive(Clone, Debug, clap::Args)]
pub struct HttpArgs {
    /// How long a client may take to send a request's body; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_READ", value_name = "DURATION", default_value = "30s")]
    pub http_timeouts_read: GoDuration,

    /// How long a client may take to send a request's head; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_HEADER", value_name = "DURATION", default_value = "5s")]
    pub http_timeouts_header: GoDuration,

    /// How long a client may take nothing of its answer; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_WRITE", value_name = "DURATION", default_value = "60s")]
    pub http_timeouts_write: GoDuration,

    /// How long a connection may rest between two requests; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_IDLE", value_name = "DURATION", default_value = "120s")]
    pub http_timeouts_idle: GoDuration,

    /// Most bytes of a request's head.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_HEADER", value_name = "BYTES", default_value_t = 1024 * 1024)]
    pub http_limits_header: usize,

    /// Most bytes of a request's body.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_BODY", value_name = "BYTES", default_value_t = 10 * 1024 * 1024)]
    pub http_limits_body: usize,

    /// Bodies of any size. Only where every client is trusted.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_UNLIMITED")]
    pub http_limits_unlimited: bool,

    /// Most connections at a time.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_CONNECTIONS", value_name = "NUMBER", default_value_t = 4096)]
    pub http_limits_connections: usize,

    /// Serve HTTPS instead of HTTP.
    #[arg(long, env = "VMAFX_HTTP_TLS")]
    pub http_tls: bool,

    /// PEM file with the certificate chain; read again when it changes.
    #[arg(long, env = "VMAFX_HTTP_CERT_FILE", value_name = "FILE")]
    pub http_cert_file: Option<PathBuf>,

    /// PEM file with the certificate's key.
    #[arg(long, env = "VMAFX_HTTP_KEY_FILE", value_name = "FILE")]
    pub http_key_file: Option<PathBuf>,
}

impl HttpArgs {
    /// Checks the settings and reads the certificate.
    pub async fn options(&self) -> Result<HttpOptions, ServeError> {
        let limits = self.limits()?;
        let files =
            TlsFiles::of(self.http_tls, self.http_cert_file.as_ref(), self.http_key_file.as_ref(), HTTP_TLS)?;
        let tls = match files {
            Some(files) => Some(ServerTls::open(files, &["http/1.1"]).await?),
            None => None,
        };
        Ok(HttpOptions { limits, tls })
    }

    /// Most bytes of a body, for the router; `None` is no limit.
    pub fn body_limit(&self) -> Option<usize> {
        (!self.http_limits_unlimited).then_some(self.http_limits_body)
    }

    fn limits(&self) -> Result<HttpLimits, Refusal> {
        let refused = |variable: &str, value: usize, reason: &str| Refusal::Value {
            variable: variable.to_owned(),
            value: value.to_string(),
            reason: reason.to_owned(),
        };
        if self.http_limits_header < SMALLEST_HEADER {
            let reason = "ordinary requests would be refused: use at least 4096";
            return Err(refused("VMAFX_HTTP_LIMITS_HEADER", self.http_limits_header, reason));
        }
        if self.http_limits_connections == 0 {
            let reason = "nobody could connect: use at least 1";
            return Err(refused("VMAFX_HTTP_LIMITS_CONNECTIONS", self.http_limits_connections, reason));
        }
        let some = |limit: GoDuration| Some(limit.0).filter(|limit| !limit.is_zero());
        Ok(HttpLimits {
            read: some(self.http_timeouts_read),
            header: some(self.http_timeouts_header),
            write: some(self.http_timeouts_write),
            idle: some(self.http_timeouts_idle),
            header_bytes: self.http_limits_header,
            connections: self.http_limits_connections,
        })
    }
}

/// How gRPC is served; a daemon flattens this into its own settings, beside the address.
#[derive(Clone, Debug, clap::Args)]
pub struct GrpcArgs {
    /// Serve gRPC over TLS.
    #[arg(long, env = "VMAFX_GRPC_TLS")]
    pub grpc_tls: bool,

    /// PEM file with the certificate chain; read again when it changes.
    #[arg(long, env = "VMAFX_GRPC_CERT_FILE", value_name = "FILE")]
    pub grpc_cert_file: Option<PathBuf>,

    /// PEM file with the certificate's key.
    #[arg(long, env = "VMAFX_GRPC_KEY_FILE", value_name = "FILE")]
    pub grpc_key_file: Option<PathBuf>,

    /// Most bytes of a message we take.
    #[arg(long, env = "VMAFX_GRPC_MAX_RECV_SIZE", value_name = "BYTES", default_value_t = 4 * 1024 * 1024)]
    pub grpc_max_recv_size: usize,

    /// Most bytes of a message we send.
    #[arg(long, env = "VMAFX_GRPC_MAX_SEND_SIZE", value_name = "BYTES", default_value_t = 4 * 1024 * 1024)]
    pub grpc_max_send_size: usize,

    /// Most connections at a time.
    #[arg(long, env = "VMAFX_GRPC_MAX_CONNECTIONS", value_name = "NUMBER", default_value_t = 8192)]
    pub grpc_max_connections: usize,
}

impl GrpcArgs {
    /// Checks the settings and reads the certificate; `None` when TLS is off.
    pub async fn tls(&self) -> Result<Option<ServerTls>, ServeError> {
        let files =
            TlsFiles::of(self.grpc_tls, self.grpc_cert_file.as_ref(), self.grpc_key_file.as_ref(), GRPC_TLS)?;
        match files {
            Some(files) => Ok(Some(ServerTls::open(files, &["h2"]).await?)),
            None => Ok(None),
        }
    }

    /// A server with our limits; give it the connections of [`incoming`](super::incoming()). Message sizes are
    /// settings of each service.
    pub fn server(&self) -> Server {
        Server::builder()
            .http2_keepalive_interval(Some(PING_AFTER))
            .http2_keepalive_timeout(Some(PONG_WITHIN))
            .max_concurrent_streams(STREAMS)
            .http2_max_header_list_size(METADATA)
    }
}
