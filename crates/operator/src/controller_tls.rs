//! TLS between the controller and its clients: its certificate, the authorities by which workers and trainers verify it,
//! and their own certificates.
//!
//! | module          | holds                                                                                   |
//! |-----------------|-----------------------------------------------------------------------------------------|
//! | [`args`]        | the settings                                                                            |
//! | [`certificate`] | a Secret with a certificate, and when it is renewed; pure                               |
//! | [`issue`]       | rotates the authorities and renews the controller's certificate                         |
//! | [`clients`]     | the Secret with a client certificate, in the same namespaces                            |
//! | [`distribute`]  | the `ConfigMap` with the authorities, in every namespace with Pods that mount it        |
//!
//! Only the leader does any of this. The authorities are those of the operator itself, if it issues the certificate,
//! or the content of `VMAFX_CONTROLLER_CA_FILE`, if somebody else does.

pub mod args;
pub mod certificate;
pub mod clients;
pub mod distribute;
pub mod issue;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use vmafx_kit::causes::chain;
use vmafx_kit::channel::TrustedAuthorities;
use vmafx_kit::config::SettingsError;
use vmafx_kit::tasks::{BoxError, Shutdown};

pub use self::args::{ClientCertificateSource, ControllerCertificateArgs};
pub use self::clients::{CLIENT_SECRET, ClientCertificates};
pub use self::distribute::{CA_CONFIG_MAP, CaDistributor};
use self::issue::{CertificateIssuer, IssuedNames};
use crate::authority::{CertificateClock, PublishBundle as _};
use crate::settings::ControllerArgs;

const CHECK_INTERVAL: Duration = Duration::from_mins(1);

const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Who signs the controller's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// This operator.
    Issued(IssuedNames),
    /// Somebody else, whose authorities are in this file.
    File(PathBuf),
    /// A public authority, or nobody: there is nothing to distribute.
    Elsewhere,
}

impl CertificateSource {
    pub fn of(args: &ControllerArgs, namespace: &str) -> Result<Self, SettingsError> {
        Ok(match (args.certificate.names(&args.channel, namespace)?, &args.channel.controller_ca_file) {
            (Some(names), _) => Self::Issued(names),
            (None, Some(file)) => Self::File(file.clone()),
            (None, None) => Self::Elsewhere,
        })
    }

    /// The authorities that this operator trusts as a client of the controller.
    pub fn trusted(&self, distributor: &CaDistributor) -> TrustedAuthorities {
        match self {
            Self::Issued(_) => TrustedAuthorities::Shared(distributor.authorities().clone()),
            Self::File(file) => TrustedAuthorities::File(file.clone()),
            Self::Elsewhere => TrustedAuthorities::System,
        }
    }

    /// Keeps certificate and authorities up to date while this operator leads.
    pub async fn lead(
        self,
        client: Client,
        distributor: CaDistributor,
        shutdown: Shutdown,
    ) -> Result<(), Infallible> {
        let mut task = match self {
            Self::Issued(names) => {
                let clock = CertificateClock::wall();
                TlsTask::Issue(Box::new(CertificateIssuer::new(client, names, clock, distributor)))
            }
            Self::File(file) => TlsTask::Distribute(file, distributor),
            Self::Elsewhere => return Ok(()),
        };
        // Each problem is logged once.
        let mut logged: Option<String> = None;
        loop {
            // Boxed, because the state of a refresh is large.
            let refresh = Box::pin(task.refresh());
            let Some(done) = shutdown.run_until_begun(refresh).await else { return Ok(()) };
            let problem = done.err().map(|error| chain(error.as_ref()));
            if let Some(problem) = problem.as_ref().filter(|problem| logged.as_ref() != Some(problem)) {
                tracing::warn!(
                    problem,
                    "cannot refresh the controller's certificate or its authorities; retrying"
                );
            }
            let delay = if problem.is_none() { CHECK_INTERVAL } else { RETRY_DELAY };
            logged = problem;
            if shutdown.run_until_begun(tokio::time::sleep(delay)).await.is_none() {
                return Ok(());
            }
        }
    }
}

enum TlsTask {
    Issue(Box<CertificateIssuer>),
    Distribute(PathBuf, CaDistributor),
}

impl TlsTask {
    async fn refresh(&mut self) -> Result<(), BoxError> {
        match self {
            Self::Issue(issuer) => Ok(issuer.refresh().await?),
            Self::Distribute(file, distributor) => {
                distributor.publish(&read(file).await?).await?;
                Ok(())
            }
        }
    }
}

async fn read(file: &Path) -> Result<String, BoxError> {
    let text = tokio::fs::read_to_string(file).await;
    let text =
        text.map_err(|error| format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE): {error}", file.display()))?;
    if text.contains("BEGIN CERTIFICATE") {
        Ok(text)
    } else {
        // A file that is being replaced must not take the authorities away from all workers.
        Err(format!("{} contains no PEM certificate (VMAFX_CONTROLLER_CA_FILE)", file.display()).into())
    }
}
