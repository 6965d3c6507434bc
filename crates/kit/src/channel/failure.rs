//! What a caller reads when a call did not get through.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::CertificateError::{BadSignature, UnknownIssuer};
use tonic::{Code, Status};

use super::args::CA_FILE;
use crate::causes::chain;
use crate::config::{GoDuration, HostPort};

/// No answer in time.
pub(super) fn late(target: &HostPort, after: std::time::Duration) -> Status {
    Status::deadline_exceeded(format!("{target} did not answer within {}", GoDuration(after)))
}

/// The connection failed or broke. Tonic says "transport error" and keeps the rest to itself, so the whole chain
/// is put into the message: it is what ends up in conditions and logs.
pub(super) fn transport(target: &HostPort, ca_file: Option<&Path>, error: tonic::transport::Error) -> Status {
    let mut text = format!("cannot reach {target}: {}", chain(&error));
    if is_foreign(&error) {
        let trusted = match ca_file {
            Some(file) => format!("{} ({CA_FILE})", file.display()),
            None => format!("the system's authorities; is {CA_FILE} missing?"),
        };
        text = format!("cannot reach {target}: its certificate was not signed by {trusted}");
    }
    let error = Arc::new(error);
    let code = match Status::from_error(Box::new(Arc::clone(&error))).code() {
        // A connection that breaks is no verdict on the request: it may be tried again.
        Code::Unknown | Code::Cancelled => Code::Unavailable,
        code => code,
    };
    let mut status = Status::new(code, text);
    status.set_source(error);
    status
}

/// The token could not be had. Not sent, so this is our word and not the server's.
pub(super) fn token(error: super::TokenError) -> Status {
    let mut status = Status::unauthenticated(chain(&error));
    status.set_source(Arc::new(error));
    status
}

/// Whether somebody else signed the certificate. An authority made anew under its old name does not match by
/// signature, one with another name is not found at all.
fn is_foreign(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        // An I/O error does not count what it wraps among its sources.
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
