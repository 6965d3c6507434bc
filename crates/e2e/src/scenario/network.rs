//! `NetworkPolicies` are enforced, and everybody reaches exactly whom the chart means them to reach.
//!
//! The release is installed with its policies, so that whatever comes up does so behind them. Then connections are
//! tried from inside the networks of the Pods: all that the [`table`] allows succeed and no other does, until the
//! policies are taken away and every one of them succeeds. In between, each rule is taken away by itself, and is missed.

mod dial;
mod release;
mod rules;
mod table;
mod world;

use anyhow::Result;

use super::metrics;
use crate::platform::Platform;
use crate::steps::Steps;
use release::NAMESPACE;
use world::World;

/// Installs with policies, tries all connections, scores, looks at all metrics, and uninstalls.
pub async fn network(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let enforced = async { Ok(platform.cluster().enforce_policies().await?) };
    let enforced = steps.step("network: policies are enforced", enforced).await?;
    steps.step("network: helm install with policies, on Postgres", release::install(platform)).await?;
    let world = steps.step("network: a worker and a trainer come up", World::meet(platform)).await?;
    let table = steps.step("network: everybody reaches whom they should, nobody else", world.holds()).await?;
    println!("{table}");
    steps.step("network: clips in S3 are scored", world.scores()).await?;
    let metrics = metrics::are_there(platform, NAMESPACE, world.pages());
    steps.step("network: every metric of alerts and dashboard is on a page", metrics).await?;
    steps.step("network: no rule of a policy is there for nothing", world.misses_every_rule()).await?;
    steps.step("network: without policies everybody reaches everything", world.opens()).await?;
    steps.step("network: helm uninstall", release::remove(platform)).await?;
    drop(enforced);
    Ok(())
}
