//! The gRPC statuses of calls that failed on the client's side.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::CertificateError::{BadSignature, UnknownIssuer};
use tonic::{Code, Status};

use super::args::CA_FILE;
use super::authorities::TrustedAuthorities;
use super::dial::Dialer;
use super::tls::ClientTls;
use crate::causes::chain;
use crate::config::{GoDuration, HostPorts};

pub(super) fn deadline_exceeded(target: &HostPorts, after: std::time::Duration) -> Status {
    Status::deadline_exceeded(format!("{target} did not answer within {}", GoDuration(after)))
}

/// The connection failed or broke. Its error alone says little, so the whole chain of causes becomes the message, which
/// ends up in conditions and logs.
pub(super) fn transport(dialer: &Dialer, error: impl Error + Send + Sync + 'static) -> Status {
    let target = &dialer.targets;
    let mut text = format!("cannot reach {target}: {}", chain(&error));
    if is_unknown_issuer(&error) {
        let trusted = match dialer.tls.as_ref().map(ClientTls::trusted) {
            Some(TrustedAuthorities::File(file)) => format!("{} ({CA_FILE})", file.display()),
            Some(TrustedAuthorities::Shared(_)) => "this program's own certificate authority".to_owned(),
            Some(TrustedAuthorities::System) | None => {
                format!("any of the system's certificate authorities; set {CA_FILE}")
            }
        };
        text = format!("cannot reach {target}: its certificate was not signed by {trusted}");
    }
    if let Some((files, alert)) = dialer.tls.as_ref().and_then(ClientTls::refused_certificate) {
        let (file, variable) = (files.cert.display(), files.variables.cert);
        text = format!(
            "cannot reach {target}: it refused the client certificate in {file} ({variable}): {alert:?}"
        );
    }
    let error = Arc::new(error);
    let code = match Status::from_error(Box::new(Arc::clone(&error))).code() {
        // A broken connection says nothing about the request, which may be retried.
        Code::Unknown | Code::Cancelled => Code::Unavailable,
        code => code,
    };
    let mut status = Status::new(code, text);
    status.set_source(error);
    status
}

/// The token could not be read. The call was not sent: this status is the client's own, not the server's.
pub(super) fn token(error: super::TokenError) -> Status {
    let mut status = Status::unauthenticated(chain(&error));
    status.set_source(Arc::new(error));
    status
}

/// Whether the certificate was signed by an authority that is not trusted. A CA that was recreated under its old
/// name gives `BadSignature`, one with another name `UnknownIssuer`.
fn is_unknown_issuer(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        // `io::Error::source` skips the error that it wraps.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = match wrapped {
            Some(wrapped) => wrapped.downcast_ref::<rustls::Error>(),
            None => error.downcast_ref::<rustls::Error>(),
        };
        if let Some(rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature)) = tls {
            return true;
        }
        next = error.source();
    }
    false
}
