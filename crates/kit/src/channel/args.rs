use std::path::PathBuf;
use std::time::Duration;

use http::uri::{Authority, Scheme};

use super::authorities::TrustedAuthorities;
use super::connections::Connections;
use super::dial::Dialer;
use super::service::{CallSettings, GrpcChannel};
use super::tls::ClientTls;
use super::token::TokenSource;
use crate::config::{GoDuration, HostPorts, SecretString, SettingsError};
use crate::tls::{AuthoritiesError, KeyPairError, TlsFiles, TlsVariables};

const TLS: &str = "VMAFX_CONTROLLER_TLS=true";
pub(super) const CA_FILE: &str = "VMAFX_CONTROLLER_CA_FILE";
const TOKEN_FILE: &str = "VMAFX_CONTROLLER_TOKEN_FILE";
pub(super) const TOKEN: &str = "VMAFX_CONTROLLER_TOKEN";
const CERTIFICATE: TlsVariables =
    TlsVariables { switch: TLS, cert: "VMAFX_CONTROLLER_CERT_FILE", key: "VMAFX_CONTROLLER_KEY_FILE" };
const RPC_TIMEOUT: &str = "VMAFX_CONTROLLER_RPC_TIMEOUT";

/// Longest time that one address may take to accept a connection. It is shorter than the timeout of most calls, which
/// leaves time for another address.
const MAX_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How to reach the controller; a daemon flattens this into its own settings, beside the address.
#[derive(Clone, Debug, clap::Args)]
pub struct ChannelArgs {
    /// Use TLS for the connection to the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_TLS")]
    pub controller_tls: bool,

    /// PEM file with the certificate authorities that the controller's certificate may be signed by; the system's by
    /// default. Read again for each connection.
    #[arg(long, env = "VMAFX_CONTROLLER_CA_FILE", value_name = "FILE")]
    pub controller_ca_file: Option<PathBuf>,

    /// PEM file with the certificate chain to present to the controller. Read again for each connection.
    #[arg(long, env = "VMAFX_CONTROLLER_CERT_FILE", value_name = "FILE")]
    pub controller_cert_file: Option<PathBuf>,

    /// PEM file with the key of that certificate.
    #[arg(long, env = "VMAFX_CONTROLLER_KEY_FILE", value_name = "FILE")]
    pub controller_key_file: Option<PathBuf>,

    /// Name that the controller's certificate must be valid for; the host of its address by default.
    #[arg(long, env = "VMAFX_CONTROLLER_SERVER_NAME", value_name = "NAME")]
    pub controller_server_name: Option<String>,

    /// File with the bearer token to send; read again for each call.
    #[arg(long, env = "VMAFX_CONTROLLER_TOKEN_FILE", value_name = "FILE")]
    pub controller_token_file: Option<PathBuf>,

    /// Bearer token to send.
    #[arg(long, env = "VMAFX_CONTROLLER_TOKEN", value_name = "TOKEN")]
    pub controller_token: Option<SecretString>,

    /// Timeout of a call to the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_RPC_TIMEOUT", value_name = "DURATION", default_value = "10s")]
    pub controller_rpc_timeout: GoDuration,
}

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("the settings for the connection to the controller are invalid")]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Authorities(#[from] AuthoritiesError),
    #[error("the client certificate is not usable")]
    Certificate(#[from] KeyPairError),
    #[error("{target} is not an address of a server")]
    Address {
        target: HostPorts,
        #[source]
        source: http::uri::InvalidUri,
    },
}

impl ChannelArgs {
    /// A channel to one of the servers at `target`. It connects on first use, so the controller may start later.
    pub fn open(&self, target: &HostPorts) -> Result<GrpcChannel, ChannelError> {
        self.open_trusting(target, self.trusted())
    }

    /// The authorities in the CA file, or those of the system.
    pub fn trusted(&self) -> TrustedAuthorities {
        self.controller_ca_file.clone().map_or(TrustedAuthorities::System, TrustedAuthorities::File)
    }

    /// The same with other authorities than those of the settings.
    pub fn open_trusting(
        &self,
        target: &HostPorts,
        trusted: TrustedAuthorities,
    ) -> Result<GrpcChannel, ChannelError> {
        self.check()?;
        let name = target.iter().next().map(ToString::to_string).unwrap_or_default();
        let authority: Authority =
            name.parse().map_err(|source| ChannelError::Address { target: target.clone(), source })?;
        let certificate = self.certificate()?;
        let tls = self
            .controller_tls
            .then(|| ClientTls::open(trusted, certificate, self.controller_server_name.as_deref()))
            .transpose()?;
        let token = self.token();
        if token.is_some() && !self.controller_tls && !target.is_loopback() {
            tracing::warn!(address = %target, "the token is sent without encryption; set {TLS}");
        }
        let deadline = self.controller_rpc_timeout.0;
        let connect_timeout = deadline.min(MAX_CONNECT_TIMEOUT);
        let scheme = if self.controller_tls { Scheme::HTTPS } else { Scheme::HTTP };
        let connections = Connections::new(Dialer { targets: target.clone(), tls, connect_timeout }).into();
        Ok(GrpcChannel::new(CallSettings { connections, scheme, authority, token, deadline }))
    }

    fn check(&self) -> Result<(), SettingsError> {
        if self.controller_token.is_some() && self.controller_token_file.is_some() {
            return Err(SettingsError::Both { first: TOKEN_FILE, second: TOKEN });
        }
        if self.controller_ca_file.is_some() && !self.controller_tls {
            return Err(SettingsError::Without { variable: CA_FILE, needs: TLS });
        }
        if self.controller_rpc_timeout.0.is_zero() {
            let (variable, value) = (RPC_TIMEOUT.to_owned(), self.controller_rpc_timeout.to_string());
            let reason = "every call would fail; use a timeout such as 10s".to_owned();
            return Err(SettingsError::Value { variable, value, reason });
        }
        Ok(())
    }

    /// The client's own certificate, which is optional.
    fn certificate(&self) -> Result<Option<TlsFiles>, SettingsError> {
        let (cert, key) = (self.controller_cert_file.as_ref(), self.controller_key_file.as_ref());
        let presented = self.controller_tls && (cert.is_some() || key.is_some());
        TlsFiles::of(presented, cert, key, CERTIFICATE)
    }

    fn token(&self) -> Option<TokenSource> {
        match (&self.controller_token_file, &self.controller_token) {
            (Some(file), _) => Some(TokenSource::File(file.clone())),
            (None, Some(token)) => Some(TokenSource::Inline(token.clone())),
            (None, None) => None,
        }
    }
}
