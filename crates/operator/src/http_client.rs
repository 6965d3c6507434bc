//! The HTTP client for the controller and for trainers.

use std::error::Error;
use std::path::Path;

use tokio::sync::Mutex;
use vmafx_kit::channel::TrustedAuthorities;
use vmafx_kit::tasks::BoxError;

/// A client whose certificate authorities are read again for each use, because they are replaced at run time when an
/// authority is rotated. A file that cannot be used is ignored, and the previous client stays in use.
#[derive(Debug)]
pub struct ReloadingClient {
    trusted: TrustedAuthorities,
    current: Mutex<CurrentClient>,
}

#[derive(Debug)]
struct CurrentClient {
    /// The certificate authorities that are trusted; empty for those of the system.
    pem: Vec<u8>,
    client: reqwest::Client,
}

impl ReloadingClient {
    /// A file must be usable at the start.
    pub async fn open(trusted: TrustedAuthorities, https: bool) -> Result<Self, BoxError> {
        let current = match &trusted {
            TrustedAuthorities::File(file) => CurrentClient::read(file).await?,
            // No server is trusted before the first authorities are there.
            TrustedAuthorities::Shared(_) => CurrentClient { pem: Vec::new(), client: system_client(false)? },
            TrustedAuthorities::System => CurrentClient { pem: Vec::new(), client: system_client(https)? },
        };
        Ok(Self { trusted, current: Mutex::new(current) })
    }

    pub async fn get(&self) -> reqwest::Client {
        let mut current = self.current.lock().await;
        let newest = match &self.trusted {
            TrustedAuthorities::File(file) => CurrentClient::read(file).await.map(Some),
            TrustedAuthorities::Shared(shared) => match shared.pem() {
                pem if pem.as_bytes() == current.pem => Ok(None),
                pem => CurrentClient::trusting(pem.as_bytes().to_vec()).map(Some),
            },
            TrustedAuthorities::System => Ok(None),
        };
        match newest {
            Ok(Some(newest)) if newest.pem != current.pem => {
                tracing::info!("the certificate authorities for the controller were replaced");
                *current = newest;
            }
            Ok(_) => {}
            Err(error) => {
                let error = error.as_ref() as &dyn Error;
                tracing::warn!(error, "cannot reload the certificate authorities for the controller");
            }
        }
        current.client.clone()
    }
}

impl From<reqwest::Client> for ReloadingClient {
    fn from(client: reqwest::Client) -> Self {
        let current = Mutex::new(CurrentClient { pem: Vec::new(), client });
        Self { trusted: TrustedAuthorities::System, current }
    }
}

impl CurrentClient {
    async fn read(file: &Path) -> Result<Self, BoxError> {
        let pem = tokio::fs::read(file)
            .await
            .map_err(|error| format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE): {error}", file.display()))?;
        Self::trusting(pem).map_err(|error| {
            format!("{} cannot be used (VMAFX_CONTROLLER_CA_FILE): {error}", file.display()).into()
        })
    }

    fn trusting(pem: Vec<u8>) -> Result<Self, BoxError> {
        let authorities = reqwest::Certificate::from_pem_bundle(&pem)?;
        if authorities.is_empty() {
            return Err("there is no PEM certificate".into());
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
        let trusted = || TrustedAuthorities::File(file.clone());
        assert!(ReloadingClient::open(trusted(), true).await.is_err());
        let (old, new) = (authority(), authority());
        std::fs::write(&file, &old).unwrap();
        let client = ReloadingClient::open(trusted(), true).await.unwrap();
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
