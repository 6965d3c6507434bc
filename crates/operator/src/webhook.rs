//! webhook
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {}

/// x
pub async fn start(
    _: &WebhookArgs,
    _: &str,
    _: kube::Client,
    _: &vmafx_kit::health::Readiness,
    _: &mut vmafx_kit::metrics::Metrics,
    _: &mut vmafx_kit::tasks::TaskSet,
) -> Result<(), vmafx_kit::tasks::BoxError> {
    Ok(())
}
