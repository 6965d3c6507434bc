//! Verifies the certificates of clients by the authorities in a file.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};

use super::authorities::{AuthoritiesFile, roots};

/// Accepts clients without a certificate too: a listener has clients of several kinds, and whoever authorizes their calls
/// decides which of them need one.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    authorities: AuthoritiesFile,
    current: Mutex<CurrentVerifier>,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
struct CurrentVerifier {
    pem: Arc<[u8]>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientVerifier {
    /// Blocks on file I/O.
    pub(super) fn new(
        authorities: AuthoritiesFile,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        let pem = authorities.newest();
        let verifier = verifier(&pem, &provider)?;
        Ok(Self { authorities, current: Mutex::new(CurrentVerifier { pem, verifier }), provider })
    }

    /// Reads the file again. Blocks on file I/O.
    pub(super) fn refresh(&self) {
        let pem = self.authorities.newest();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if pem == current.pem {
            return;
        }
        match verifier(&pem, &self.provider) {
            Ok(verifier) => *current = CurrentVerifier { pem, verifier },
            Err(error) => {
                let (file, error) = (self.authorities.path().display(), &error as &dyn std::error::Error);
                tracing::warn!(%file, error, "clients cannot be verified by these authorities; the previous ones stay in use");
            }
        }
    }

    /// PEM of the authorities in use.
    pub(super) fn pem(&self) -> Arc<[u8]> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).pem)
    }

    fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).verifier)
    }
}

fn verifier(
    pem: &[u8],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, rustls::Error> {
    let roots = Arc::new(roots(pem).unwrap_or_else(rustls::RootCertStore::empty));
    let built = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
    built.map_err(|error| rustls::Error::General(error.to_string()))
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None, because the authorities change while the configuration of the listener stays. A client presents what it has.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.verifier().verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier().verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier().verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier().supported_verify_schemes()
    }
}
