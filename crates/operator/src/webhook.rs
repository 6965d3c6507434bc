//! What is refused before it is stored.
//!
//! | module            | holds                                                                        |
//! |-------------------|------------------------------------------------------------------------------|
//! | [`rules`]         | the rules, and the names in a Pod template that belong to the operator       |
//! | [`review`]        | from the bytes of a review to its answer                                     |
//! | [`server`]        | the HTTPS server                                                             |
//! | [`ca`], [`authorities`] | our own authority, and how one follows the other                             |
//! | [`rotate`], [`publish`] | the certificate that is shown, and the bundle that the API server has  |
//! | [`configuration`] | what must be installed for it                                                |
//!
//! It runs on every replica, whoever leads: an API server asks whichever it reaches. It writes only its own Secret and
//! the bundles of its configuration, each by resource version, so that several replicas do not need a leader for it.

pub mod args;
pub mod authorities;
pub mod ca;
pub mod clock;
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
use vmafx_kit::tls::ServerTls;

pub use self::args::WebhookArgs;
use self::clock::WebhookClock;
use self::rotate::{CertificateRotator, WebhookNames};
use self::server::AdmissionMetrics;

/// Starts the webhook, if it is wanted. `client` must be able to write on replicas that do not lead, too.
pub async fn start(
    args: &WebhookArgs,
    namespace: &str,
    client: Client,
    readiness: &Readiness,
    metrics: &mut Metrics,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    let files = args.files()?;
    let Some(listener) = listen("VMAFX_OPERATOR_WEBHOOK_PORT", &args.addr()?).await? else { return Ok(()) };
    let tls = if let Some(files) = files {
        ServerTls::open(files, &["http/1.1"]).await?
    } else {
        let tls = ServerTls::in_memory(&["http/1.1"])?;
        let names = WebhookNames {
            secret: args.webhook_secret.clone(),
            configuration: args.webhook_configuration.clone(),
            hosts: args.hosts(namespace),
        };
        let gate = readiness.gate("webhook", "its certificate is not made yet");
        let rotator = CertificateRotator::new(client, namespace, names, WebhookClock::wall(), tls.clone());
        tasks.service("webhook-certificate", rotator.run(gate, tasks.shutdown()));
        tls
    };
    let router = server::router(AdmissionMetrics::new(metrics));
    let options = HttpOptions { limits: server::limits(), tls: Some(tls) };
    // A support task: while the rest of the operator finishes, endpoints still point here.
    tasks.support("webhook", |last_call| serve_with(listener, router, options, last_call));
    Ok(())
}
