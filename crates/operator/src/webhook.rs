//! The validating admission webhooks.
//!
//! | module                  | holds                                                                  |
//! |-------------------------|------------------------------------------------------------------------|
//! | [`rules`]               | the rules                                                              |
//! | [`access`]              | what the author of a resource must be permitted to do                  |
//! | [`review`]              | decodes an `AdmissionReview` and answers it                            |
//! | [`server`]              | the HTTP routes and limits                                             |
//! | [`rotate`], [`publish`] | renewal of the server certificate and of the API server's CA bundle    |
//! | [`configuration`]       | the `ValidatingWebhookConfiguration`                                   |
//!
//! Every replica serves the webhooks, not only the leader. A replica writes only the webhooks' Secret and the CA bundles of
//! their configuration, each by resource version, so that these writes need no leader.

pub mod access;
pub mod args;
pub mod configuration;
pub mod publish;
pub mod review;
pub mod rotate;
pub mod rules;
pub mod server;

use kube::Client;
use vmafx_kit::health::Readiness;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{HttpOptions, listen, serve_with};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_kit::tls::{CertificateMetrics, CertificatePurpose, ServerTls};

use self::access::AccessReviewer;
pub use self::args::WebhookArgs;
use self::review::Reviewer;
use self::rotate::{CertificateRotator, WebhookNames};
use self::server::AdmissionMetrics;
use crate::authority::CertificateClock;
use crate::template_policy::TemplatePolicy;

/// What the webhooks are made from.
pub struct WebhookParts {
    /// The namespace of the release in it is that of the operator.
    pub templates: TemplatePolicy,
    /// Not gated by leadership.
    pub client: Client,
    pub certificates: CertificateMetrics,
}

/// Starts the webhooks if they have a port.
pub async fn start(
    args: &WebhookArgs,
    WebhookParts { templates, client, certificates }: WebhookParts,
    readiness: &Readiness,
    metrics: &mut Metrics,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    let files = args.files()?;
    let Some(listener) = listen("VMAFX_OPERATOR_WEBHOOK_PORT", &args.addr()?).await? else { return Ok(()) };
    let namespace = templates.release.namespace.clone();
    let reviewer = Reviewer { templates, access: AccessReviewer::new(client.clone()) };
    let tls = if let Some(files) = files {
        ServerTls::open(files, &["http/1.1"]).await?
    } else {
        let tls = ServerTls::in_memory(&["http/1.1"])?;
        let names = WebhookNames {
            secret: args.webhook_secret.clone(),
            configuration: args.webhook_configuration.clone(),
            hosts: args.hosts(&namespace),
        };
        let gate = readiness.gate("webhook", "the certificate is not issued yet");
        let rotator =
            CertificateRotator::new(client, &namespace, names, CertificateClock::wall(), tls.clone());
        certificates.authorities(CertificatePurpose::WebhookAuthorities, rotator.bundle());
        tasks.service("webhook-certificate", rotator.run(gate, tasks.shutdown()));
        tls
    };
    certificates.server(CertificatePurpose::WebhookServer, &tls);
    let router = server::router(AdmissionMetrics::new(metrics), reviewer);
    let options = HttpOptions { limits: server::limits(), tls: Some(tls), ..HttpOptions::default() };
    // A support task, because the Service still points here while the rest of the operator shuts down.
    tasks.support("webhook", |last_call| serve_with(listener, router, options, last_call));
    Ok(())
}
