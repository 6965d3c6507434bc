//! The settings of HTTP listeners.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::http::HttpOptions;
use super::limits::{DEFAULT_HEADER_BYTES, HttpLimits};
use super::refused::LimitMetrics;
use crate::config::{GoDuration, SettingsError};
use crate::tls::{AuthoritiesError, ServerTls, TlsError, TlsFiles, TlsVariables};

const HTTP_TLS: TlsVariables =
    TlsVariables { switch: "VMAFX_HTTP_TLS=true", cert: "VMAFX_HTTP_CERT_FILE", key: "VMAFX_HTTP_KEY_FILE" };

/// A smaller limit would refuse ordinary browsers.
const MIN_HEADER_LIMIT: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the settings of a listener are invalid")]
    Settings(#[from] SettingsError),
    #[error("cannot set up TLS for a listener")]
    Tls(#[from] TlsError),
    #[error("cannot verify the certificates of clients")]
    ClientAuthorities(#[from] AuthoritiesError),
}

/// HTTP settings; a daemon flattens them into its own, beside the address.
#[derive(Clone, Debug, clap::Args)]
pub struct HttpArgs {
    /// Timeout for receiving a request's body; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_READ", value_name = "DURATION", default_value = "30s")]
    pub http_timeouts_read: GoDuration,

    /// Timeout for receiving a request's header; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_HEADER", value_name = "DURATION", default_value = "5s")]
    pub http_timeouts_header: GoDuration,

    /// How long a client may read nothing of its response; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_WRITE", value_name = "DURATION", default_value = "60s")]
    pub http_timeouts_write: GoDuration,

    /// How long a connection may be idle between two requests; 0 is no limit.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_IDLE", value_name = "DURATION", default_value = "120s")]
    pub http_timeouts_idle: GoDuration,

    /// Maximum size of a request's header.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_HEADER", value_name = "BYTES", default_value_t = DEFAULT_HEADER_BYTES)]
    pub http_limits_header: usize,

    /// Maximum size of a request's body.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_BODY", value_name = "BYTES", default_value_t = 10 * 1024 * 1024)]
    pub http_limits_body: usize,

    /// Accept bodies of any size. Use this only where every client is trusted.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_UNLIMITED")]
    pub http_limits_unlimited: bool,

    /// Maximum number of open connections.
    #[arg(long, env = "VMAFX_HTTP_LIMITS_CONNECTIONS", value_name = "NUMBER", default_value_t = 4096)]
    pub http_limits_connections: usize,

    /// Maximum number of open connections of one peer: an IPv4 address or an IPv6 /64.
    #[arg(
        long,
        env = "VMAFX_HTTP_LIMITS_CONNECTIONS_PER_PEER",
        value_name = "NUMBER",
        default_value = "1024"
    )]
    pub http_limits_connections_per_peer: NonZeroUsize,

    /// Maximum number of open connections without an authorized request. The oldest is closed for a new one.
    #[arg(
        long,
        env = "VMAFX_HTTP_LIMITS_CONNECTIONS_UNAUTHENTICATED",
        value_name = "NUMBER",
        default_value = "2048"
    )]
    pub http_limits_connections_unauthenticated: NonZeroUsize,

    /// Serve HTTPS instead of HTTP.
    #[arg(long, env = "VMAFX_HTTP_TLS")]
    pub http_tls: bool,

    /// Accept clients without TLS on the same port, while they are changed to use it.
    #[arg(long, env = "VMAFX_HTTP_TLS_OPTIONAL")]
    pub http_tls_optional: bool,

    /// PEM file with the certificate chain; read again when it changes.
    #[arg(long, env = "VMAFX_HTTP_CERT_FILE", value_name = "FILE")]
    pub http_cert_file: Option<PathBuf>,

    /// PEM file with the certificate's key.
    #[arg(long, env = "VMAFX_HTTP_KEY_FILE", value_name = "FILE")]
    pub http_key_file: Option<PathBuf>,
}

impl HttpArgs {
    /// Validates the settings and reads the certificate.
    pub async fn options(&self, metrics: LimitMetrics) -> Result<HttpOptions, ServeError> {
        let limits = self.limits()?;
        HTTP_TLS
            .check_optional(self.http_tls, self.http_tls_optional.then_some("VMAFX_HTTP_TLS_OPTIONAL"))?;
        let files =
            TlsFiles::of(self.http_tls, self.http_cert_file.as_ref(), self.http_key_file.as_ref(), HTTP_TLS)?;
        let tls = match files {
            Some(files) => {
                let tls = ServerTls::open(files, &["http/1.1"]).await?;
                Some(tls.optional(self.http_tls_optional))
            }
            None => None,
        };
        Ok(HttpOptions { limits, tls, metrics })
    }

    /// Maximum size of a body, for the router; `None` is no limit.
    pub fn body_limit(&self) -> Option<usize> {
        (!self.http_limits_unlimited).then_some(self.http_limits_body)
    }

    fn limits(&self) -> Result<HttpLimits, SettingsError> {
        let invalid = |variable: &str, value: usize, reason: &str| SettingsError::Value {
            variable: variable.to_owned(),
            value: value.to_string(),
            reason: reason.to_owned(),
        };
        if self.http_limits_header < MIN_HEADER_LIMIT {
            let reason = "ordinary requests would be invalid; use at least 4096";
            return Err(invalid("VMAFX_HTTP_LIMITS_HEADER", self.http_limits_header, reason));
        }
        if self.http_limits_connections == 0 {
            let reason = "nobody could connect; use at least 1";
            return Err(invalid("VMAFX_HTTP_LIMITS_CONNECTIONS", self.http_limits_connections, reason));
        }
        let nonzero = |limit: GoDuration| Some(limit.0).filter(|limit| !limit.is_zero());
        Ok(HttpLimits {
            read: nonzero(self.http_timeouts_read),
            header: nonzero(self.http_timeouts_header),
            write: nonzero(self.http_timeouts_write),
            idle: nonzero(self.http_timeouts_idle),
            header_bytes: self.http_limits_header,
            connections: self.http_limits_connections,
            connections_per_peer: self.http_limits_connections_per_peer.get(),
            connections_unauthenticated: Some(self.http_limits_connections_unauthenticated.get()),
        })
    }
}
