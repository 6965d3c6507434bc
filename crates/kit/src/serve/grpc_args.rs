//! The settings of gRPC listeners.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::age::ConnectionAge;
use super::args::ServeError;
use super::calls::{CallLimits, GrpcLimits};
use super::limits::ConnectionLimits;
use super::refused::LimitMetrics;
use crate::config::{GoDuration, SettingsError};
use crate::tls::{AuthoritiesFile, ServerTls, TlsFiles, TlsVariables};

const GRPC_TLS: TlsVariables =
    TlsVariables { switch: "VMAFX_GRPC_TLS=true", cert: "VMAFX_GRPC_CERT_FILE", key: "VMAFX_GRPC_KEY_FILE" };

const CLIENT_CA_FILE: &str = "VMAFX_GRPC_CLIENT_CA_FILE";

/// gRPC settings; a daemon flattens them into its own, beside the address.
#[derive(Clone, Debug, clap::Args)]
pub struct GrpcArgs {
    /// Serve gRPC over TLS.
    #[arg(long, env = "VMAFX_GRPC_TLS")]
    pub grpc_tls: bool,

    /// Accept clients without TLS on the same port, while they are changed to use it.
    #[arg(long, env = "VMAFX_GRPC_TLS_OPTIONAL")]
    pub grpc_tls_optional: bool,

    /// PEM file with the certificate chain; read again when it changes.
    #[arg(long, env = "VMAFX_GRPC_CERT_FILE", value_name = "FILE")]
    pub grpc_cert_file: Option<PathBuf>,

    /// PEM file with the certificate's key.
    #[arg(long, env = "VMAFX_GRPC_KEY_FILE", value_name = "FILE")]
    pub grpc_key_file: Option<PathBuf>,

    /// PEM file with the certificate authorities that may sign certificates of clients; read again when it changes. A client
    /// without a certificate is still accepted.
    #[arg(long, env = "VMAFX_GRPC_CLIENT_CA_FILE", value_name = "FILE")]
    pub grpc_client_ca_file: Option<PathBuf>,

    /// Refuse calls of nodes on connections without a client certificate that names their namespace. It needs
    /// `VMAFX_GRPC_CLIENT_CA_FILE`.
    #[arg(long, env = "VMAFX_GRPC_CLIENT_CERTS_REQUIRED")]
    pub grpc_client_certs_required: bool,

    /// Maximum size of a received message.
    #[arg(long, env = "VMAFX_GRPC_MAX_RECV_SIZE", value_name = "BYTES", default_value_t = 4 * 1024 * 1024)]
    pub grpc_max_recv_size: usize,

    /// Maximum size of a sent message.
    #[arg(long, env = "VMAFX_GRPC_MAX_SEND_SIZE", value_name = "BYTES", default_value_t = 4 * 1024 * 1024)]
    pub grpc_max_send_size: usize,

    /// Maximum number of open connections.
    #[arg(long, env = "VMAFX_GRPC_MAX_CONNECTIONS", value_name = "NUMBER", default_value_t = 8192)]
    pub grpc_max_connections: usize,

    /// Maximum number of open connections of one peer: an IPv4 address or an IPv6 /64.
    #[arg(long, env = "VMAFX_GRPC_MAX_CONNECTIONS_PER_PEER", value_name = "NUMBER", default_value = "1024")]
    pub grpc_max_connections_per_peer: NonZeroUsize,

    /// Maximum number of open connections without an authorized call. The oldest is closed for a new one.
    #[arg(
        long,
        env = "VMAFX_GRPC_MAX_CONNECTIONS_UNAUTHENTICATED",
        value_name = "NUMBER",
        default_value = "2048"
    )]
    pub grpc_max_connections_unauthenticated: NonZeroUsize,

    /// Maximum number of open calls of one peer.
    #[arg(long, env = "VMAFX_GRPC_MAX_CALLS_PER_PEER", value_name = "NUMBER", default_value = "2048")]
    pub grpc_max_calls_per_peer: NonZeroUsize,

    /// Maximum number of open calls of methods that need no token.
    #[arg(long, env = "VMAFX_GRPC_MAX_CALLS_UNAUTHENTICATED", value_name = "NUMBER", default_value = "1024")]
    pub grpc_max_calls_unauthenticated: NonZeroUsize,

    /// Maximum size of all unfinished messages of one peer.
    #[arg(long, env = "VMAFX_GRPC_MAX_MESSAGE_BYTES_PER_PEER", value_name = "BYTES", default_value_t = 16 * 1024 * 1024)]
    pub grpc_max_message_bytes_per_peer: usize,

    /// Maximum size of all unfinished messages.
    #[arg(long, env = "VMAFX_GRPC_MAX_MESSAGE_BYTES", value_name = "BYTES", default_value_t = 64 * 1024 * 1024)]
    pub grpc_max_message_bytes: usize,

    /// Timeout from the start of a connection to the end of its TLS handshake and HTTP/2 preface.
    #[arg(long, env = "VMAFX_GRPC_TIMEOUTS_PREFACE", value_name = "DURATION", default_value = "5s")]
    pub grpc_timeouts_preface: GoDuration,

    /// Timeout for receiving a message, from its first byte, or of the first message of a call, from its headers.
    #[arg(long, env = "VMAFX_GRPC_TIMEOUTS_MESSAGE", value_name = "DURATION", default_value = "10s")]
    pub grpc_timeouts_message: GoDuration,

    /// Maximum time of a call that does not wait for a job, a score or the next item of a stream.
    #[arg(long, env = "VMAFX_GRPC_TIMEOUTS_CALL", value_name = "DURATION", default_value = "60s")]
    pub grpc_timeouts_call: GoDuration,

    /// Age at which a client is asked to use a new connection, changed by up to a tenth at random; 0 is no limit.
    #[arg(long, env = "VMAFX_GRPC_MAX_CONNECTION_AGE", value_name = "DURATION", default_value = "10m")]
    pub grpc_max_connection_age: GoDuration,

    /// How long calls may still run on a connection that is to be closed, because it is too old or because this process
    /// lost its store; 0 is no limit.
    #[arg(long, env = "VMAFX_GRPC_MAX_CONNECTION_AGE_GRACE", value_name = "DURATION", default_value = "35m")]
    pub grpc_max_connection_age_grace: GoDuration,
}

impl GrpcArgs {
    /// Validates the settings and reads the certificate; `None` when TLS is off.
    pub async fn tls(&self) -> Result<Option<ServerTls>, ServeError> {
        GRPC_TLS
            .check_optional(self.grpc_tls, self.grpc_tls_optional.then_some("VMAFX_GRPC_TLS_OPTIONAL"))?;
        let files =
            TlsFiles::of(self.grpc_tls, self.grpc_cert_file.as_ref(), self.grpc_key_file.as_ref(), GRPC_TLS)?;
        let clients = self.client_authorities()?;
        match files {
            Some(files) => {
                let tls = ServerTls::open_verifying(files, clients, &["h2"]).await?;
                Ok(Some(tls.optional(self.grpc_tls_optional)))
            }
            None => Ok(None),
        }
    }

    fn client_authorities(&self) -> Result<Option<AuthoritiesFile>, ServeError> {
        let without = |variable, needs| Err(SettingsError::Without { variable, needs });
        let Some(file) = self.grpc_client_ca_file.clone() else {
            if self.grpc_client_certs_required {
                without("VMAFX_GRPC_CLIENT_CERTS_REQUIRED", CLIENT_CA_FILE)?;
            }
            return Ok(None);
        };
        if !self.grpc_tls {
            without(CLIENT_CA_FILE, GRPC_TLS.switch)?;
        }
        Ok(Some(AuthoritiesFile::open(file, CLIENT_CA_FILE)?))
    }

    pub fn connection_age(&self) -> ConnectionAge {
        let nonzero = |limit: GoDuration| Some(limit.0).filter(|limit| !limit.is_zero());
        ConnectionAge {
            max: nonzero(self.grpc_max_connection_age),
            grace: nonzero(self.grpc_max_connection_age_grace),
        }
    }
    pub fn connection_limits(&self) -> Result<ConnectionLimits, SettingsError> {
        let opening = positive("VMAFX_GRPC_TIMEOUTS_PREFACE", self.grpc_timeouts_preface)?;
        Ok(ConnectionLimits {
            connections: self.grpc_max_connections,
            per_peer: self.grpc_max_connections_per_peer.get(),
            unauthenticated: Some(self.grpc_max_connections_unauthenticated.get()),
            opening: Some(opening),
            ..ConnectionLimits::http2()
        })
    }

    /// `methods` are the limits of each method, by its path.
    pub fn call_limits(
        &self,
        methods: impl Fn(&str) -> CallLimits + Send + Sync + 'static,
        metrics: LimitMetrics,
    ) -> Result<GrpcLimits, SettingsError> {
        Ok(GrpcLimits {
            calls_per_peer: self.grpc_max_calls_per_peer.get(),
            calls_unauthenticated: self.grpc_max_calls_unauthenticated.get(),
            message_bytes_per_peer: self.message_bytes(
                "VMAFX_GRPC_MAX_MESSAGE_BYTES_PER_PEER",
                self.grpc_max_message_bytes_per_peer,
            )?,
            message_bytes: self.message_bytes("VMAFX_GRPC_MAX_MESSAGE_BYTES", self.grpc_max_message_bytes)?,
            message_timeout: positive("VMAFX_GRPC_TIMEOUTS_MESSAGE", self.grpc_timeouts_message)?,
            methods: Arc::new(methods),
            metrics,
        })
    }

    /// Maximum time of a call that waits for nothing.
    pub fn max_call_time(&self) -> Result<Duration, SettingsError> {
        positive("VMAFX_GRPC_TIMEOUTS_CALL", self.grpc_timeouts_call)
    }

    fn message_bytes(&self, variable: &str, bytes: usize) -> Result<usize, SettingsError> {
        if bytes >= self.grpc_max_recv_size {
            return Ok(bytes);
        }
        let reason = "one message of VMAFX_GRPC_MAX_RECV_SIZE would not fit";
        Err(invalid(variable, &bytes, reason))
    }
}

fn positive(variable: &str, timeout: GoDuration) -> Result<Duration, SettingsError> {
    if timeout.0.is_zero() {
        return Err(invalid(variable, &timeout, "every client would be too slow; use a positive duration"));
    }
    Ok(timeout.0)
}

fn invalid(variable: &str, value: &dyn fmt::Display, reason: &str) -> SettingsError {
    SettingsError::Value {
        variable: variable.to_owned(),
        value: value.to_string(),
        reason: reason.to_owned(),
    }
}
