//! The chart's `NetworkPolicies` allow exactly the connections that are needed.
//!
//! The release is installed with its policies, so all Pods start behind them. Then connections are tried from inside the
//! networks of the Pods: those that the [`table`] allows succeed and no others. Removing any single rule breaks one of
//! them, and without policies all connections succeed. While worker and trainer start, a packet [`capture`] shows that
//! every connection to the controller is encrypted.

mod capture;
mod dial;
mod fixture;
mod release;
mod rules;
mod table;

use anyhow::Result;

use super::metrics;
use crate::platform::Platform;
use crate::steps::Steps;
use fixture::NetworkFixture;
use release::NAMESPACE;

/// Installs with policies, tries all connections, scores, checks all metrics, and uninstalls.
pub async fn network(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let enforced = async { Ok(platform.cluster().enforce_policies().await?) };
    let enforced = steps.step("network: policies are enforced", enforced).await?;
    steps.step("network: helm install with policies, on Postgres", release::install(platform)).await?;
    let capture = NetworkFixture::capture(platform);
    let capture = steps.step("network: packets of the controller are captured", capture).await?;
    let fixture =
        steps.step("network: a worker and a trainer start", NetworkFixture::set_up(platform)).await?;
    let verify = fixture.verify_encryption(capture);
    let connections = steps.step("network: all connections to the controller are TLS", verify).await?;
    println!("        {connections}");
    let table = steps.step("network: only permitted connections succeed", fixture.verify_policies()).await?;
    println!("{table}");
    steps.step("network: clips in S3 are scored", fixture.score_from_s3()).await?;
    let metrics = metrics::check(platform, NAMESPACE, fixture.metrics_pages());
    steps.step("network: every metric of alerts and dashboard is on a page", metrics).await?;
    steps
        .step("network: every rule of the policies is needed", fixture.verify_every_rule_is_needed())
        .await?;
    steps
        .step("network: without policies all connections succeed", fixture.verify_open_without_policies())
        .await?;
    steps.step("network: helm uninstall", release::remove(platform)).await?;
    drop(enforced);
    Ok(())
}
