use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tonic::transport::{Certificate, ClientTlsConfig};

use super::args::ChannelError;

/// Trusts the certificate authorities in `ca_file`, or those of the system without one; never both, because a private
/// CA is set exactly so that no public one can vouch for another server.
pub(super) fn client(ca_file: Option<&Path>, server_name: &str) -> Result<ClientTlsConfig, ChannelError> {
    let config = ClientTlsConfig::new().domain_name(server_name);
    let Some(file) = ca_file else { return Ok(config.with_native_roots()) };

    let pem = std::fs::read(file).map_err(|source| ChannelError::ReadCa { file: file.to_owned(), source })?;
    // Tonic accepts a file without certificates as an empty list, and every call would fail with "unknown issuer".
    if !matches!(CertificateDer::pem_slice_iter(&pem).next(), Some(Ok(_))) {
        return Err(ChannelError::NoCa { file: file.to_owned() });
    }
    Ok(config.ca_certificate(Certificate::from_pem(pem)))
}
