//! The HTTP client for the controller and for trainers.

use std::error::Error;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;
use vmafx_kit::tasks::BoxError;

/// A client whose certificate authorities are read again for each use, because their file is replaced at run time when an
/// authority is rotated. A file that cannot be used is ignored, and the previous client stays in use.
#[derive(Debug)]
pub struct ReloadingClient {
    ca_file: Option<PathBuf>,
    current: Mutex<CurrentClient>,
}

#[derive(Debug)]
struct CurrentClient {
    /// The content of the file.
    pem: Vec<u8>,
    client: reqwest::Client,
}

impl ReloadingClient {
    /// The file must be usable at the start. Without one, a client for HTTPS trusts the authorities of the system.
    pub async fn open(ca_file: Option<&Path>, https: bool) -> Result<Self, BoxError> {
        let current = match ca_file {
            Some(file) => CurrentClient::read(file).await?,
            None => CurrentClient { pem: Vec::new(), client: system_client(https)? },
        };
        Ok(Self { ca_file: ca_file.map(Path::to_owned), current: Mutex::new(current) })
    }

    pub async fn get(&self) -> reqwest::Client {
        let mut current = self.current.lock().await;
        if let Some(file) = &self.ca_file {
            match CurrentClient::read(file).await {
                Ok(read) if read.pem == current.pem => {}
                Ok(read) => {
                    tracing::info!(file = %file.display(), "the certificate authorities for the controller were replaced");
                    *current = read;
                }
                Err(error) => {
                    let error = error.as_ref() as &dyn Error;
                    tracing::warn!(error, "cannot reload the certificate authorities for the controller");
                }
            }
        }
        current.client.clone()
    }
}

impl From<reqwest::Client> for ReloadingClient {
    fn from(client: reqwest::Client) -> Self {
        Self { ca_file: None, current: Mutex::new(CurrentClient { pem: Vec::new(), client }) }
    }
}

impl CurrentClient {
    async fn read(file: &Path) -> Result<Self, BoxError> {
        let pem = tokio::fs::read(file)
            .await
            .map_err(|error| format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE): {error}", file.display()))?;
        let authorities = reqwest::Certificate::from_pem_bundle(&pem)?;
        if authorities.is_empty() {
            let file = file.display();
            return Err(format!("{file} contains no PEM certificate (VMAFX_CONTROLLER_CA_FILE)").into());
        }
        Ok(Self { client: builder().tls_certs_only(authorities).build()?, pem })
    }
}

/// A client that trusts the authorities of the system. A minimal image has none, which plain HTTP does not need.
pub fn system_client(https: bool) -> Result<reqwest::Client, reqwest::Error> {
    if https { builder().build() } else { builder().tls_certs_only([]).build() }
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority() -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::new([]).unwrap().self_signed(&key).unwrap().pem()
    }

    #[tokio::test]
    async fn authorities_that_were_replaced_are_used_unless_they_are_not_usable() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.crt");
        assert!(ReloadingClient::open(Some(&file), true).await.is_err());
        let (old, new) = (authority(), authority());
        std::fs::write(&file, &old).unwrap();
        let client = ReloadingClient::open(Some(&file), true).await.unwrap();
        for (content, used) in [("half writ", &old), (new.as_str(), &new)] {
            std::fs::write(&file, content).unwrap();
            client.get().await;
            assert_eq!(client.current.lock().await.pem, used.as_bytes());
        }
        std::fs::remove_file(&file).unwrap();
        client.get().await;
        assert_eq!(client.current.lock().await.pem, new.as_bytes());
    }
}
