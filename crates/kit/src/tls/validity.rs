//! The time for which certificates are valid, as metrics.
//!
//! | series                                           | value                                                      |
//! |--------------------------------------------------|------------------------------------------------------------|
//! | `vmafx_tls_certificate_not_before_seconds`       | start of the validity, in Unix time                        |
//! | `vmafx_tls_certificate_not_after_seconds`        | its end                                                    |
//!
//! Both are read at scrape time from the certificates in use, whose files are refreshed first: a certificate that was
//! renewed, but cannot be used, still shows the end of the previous one. The label `index` tells authorities of one
//! purpose apart, from the last to expire (`0`); a certificate has only `0`, the end of the part of its chain that expires
//! first.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use rustls::pki_types::CertificateDer;

use super::authorities::certificates;
use super::server::ServerTls;
use crate::channel::{GrpcChannel, SharedAuthorities};
use crate::metrics::{Collector, MetricLabel as _, Metrics};

/// Authorities of one purpose that are reported.
const MAX_AUTHORITIES: usize = 8;

crate::closed_label! {
    /// What a certificate is for.
    pub enum CertificatePurpose: "purpose" {
        GrpcServer = "grpc-server",
        HttpServer = "http-server",
        WebhookServer = "webhook-server",
        /// The client certificate of a node or a trainer.
        Client = "client",
        /// By which clients verify the controller.
        ControllerAuthorities = "controller-authorities",
        /// By which the controller verifies its clients.
        ClientAuthorities = "client-authorities",
        /// By which the API server verifies the webhooks.
        WebhookAuthorities = "webhook-authorities",
    }
}

/// In seconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CertificateValidity {
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
}

impl CertificateValidity {
    /// `None` if it is no certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let validity = parsed.validity();
        Some(Self { not_before: validity.not_before.timestamp(), not_after: validity.not_after.timestamp() })
    }

    fn of_chain(chain: &[CertificateDer<'_>]) -> Vec<Self> {
        chain.iter().filter_map(Self::of).min_by_key(|validity| validity.not_after).into_iter().collect()
    }

    fn of_authorities(pem: &[u8]) -> Vec<Self> {
        let mut all: Vec<_> = certificates(pem).filter_map(|der| Self::of(&der)).collect();
        all.sort_by_key(|validity| std::cmp::Reverse(validity.not_after));
        all.truncate(MAX_AUTHORITIES);
        all
    }
}

type Observe = Box<dyn Fn() -> Vec<CertificateValidity> + Send + Sync>;

/// The certificates that this process serves, presents and trusts. Clones share them.
#[derive(Clone, Default)]
pub struct CertificateMetrics(Arc<Mutex<Vec<(CertificatePurpose, Observe)>>>);

impl CertificateMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        let own = Self::default();
        metrics.collector(own.clone());
        own
    }

    /// The certificate of a server, and the authorities by which it verifies clients.
    pub fn server(&self, purpose: CertificatePurpose, tls: &ServerTls) {
        let served = tls.clone();
        self.observe(purpose, move || {
            served.refresh_now();
            CertificateValidity::of_chain(&served.chain())
        });
        let clients = tls.clone();
        self.observe(CertificatePurpose::ClientAuthorities, move || {
            clients
                .client_authorities()
                .map(|pem| CertificateValidity::of_authorities(&pem))
                .unwrap_or_default()
        });
    }

    /// The authorities by which a client of the controller verifies it, and its own certificate. Those of the system are
    /// not observed.
    pub fn channel(&self, channel: &GrpcChannel) {
        let trusting = channel.clone();
        self.observe(CertificatePurpose::ControllerAuthorities, move || {
            let pem = trusting.authorities_pem();
            pem.map(|pem| CertificateValidity::of_authorities(&pem)).unwrap_or_default()
        });
        let presenting = channel.clone();
        self.observe(CertificatePurpose::Client, move || {
            CertificateValidity::of_chain(&presenting.client_chain())
        });
    }

    pub fn authorities(&self, purpose: CertificatePurpose, authorities: SharedAuthorities) {
        self.observe(purpose, move || CertificateValidity::of_authorities(authorities.pem().as_bytes()));
    }

    fn observe(
        &self,
        purpose: CertificatePurpose,
        observe: impl Fn() -> Vec<CertificateValidity> + Send + Sync + 'static,
    ) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((purpose, Box::new(observe)));
    }
}

impl fmt::Debug for CertificateMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateMetrics").finish_non_exhaustive()
    }
}

impl Collector for CertificateMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let observed: Vec<_> = sources
            .iter()
            .flat_map(|(purpose, observe)| {
                observe().into_iter().enumerate().map(|(index, validity)| (*purpose, index, validity))
            })
            .collect();
        drop(sources);
        if observed.is_empty() {
            return Ok(());
        }
        let mut gauge = |name, help, value: fn(&CertificateValidity) -> i64| {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (purpose, index, validity) in &observed {
                let labels = [("purpose", purpose.value().to_owned()), ("index", index.to_string())];
                ConstGauge::new(value(validity)).encode(metric.encode_family(&labels)?)?;
            }
            fmt::Result::Ok(())
        };
        gauge(
            "vmafx_tls_certificate_not_before_seconds",
            "Start of the validity of a certificate in use, in Unix time",
            |validity| validity.not_before,
        )?;
        gauge(
            "vmafx_tls_certificate_not_after_seconds",
            "End of the validity of a certificate in use, in Unix time",
            |validity| validity.not_after,
        )
    }
}
