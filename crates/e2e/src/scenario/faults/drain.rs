//! The Kubernetes node is drained as `kubectl drain` does it: it is cordoned, and Pods are evicted within their budgets.
//!
//! There is no other node, so an evicted Pod cannot be scheduled again. This shows that the budgets hold: the first Pod of
//! a role may be evicted, the second is refused until the first is ready again.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::EvictParams;
use kube::{Api, Client, ResourceExt as _};
use vmafx_testkit::kube::node::NODE_NAME;
use vmafx_testkit::wait;

use super::fixture::{FaultFixture, NAMESPACE};
use super::plan::Role;
use super::pods::is_ready;
use crate::platform::STEP_TIMEOUT;

const BATCH_NAME: &str = "drained";
const JOBS: usize = 40;
const ROLES: [Role; 3] = [Role::Operator, Role::Controller, Role::Node];

/// Cordons, evicts one Pod of each role, uncordons, and evicts the rest.
pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<()> {
    fixture.submit(BATCH_NAME, JOBS).await?;
    let mut before = BTreeSet::new();
    for role in ROLES {
        before.extend(fixture.pods.live(role).await?.iter().filter_map(kube::ResourceExt::uid));
    }
    // The client must not retry on 429, which is the refusal that this test looks for.
    let mut config = fixture.platform.cluster().config().clone();
    config.default_retry = false;
    let evictions = Api::namespaced(Client::try_from(config)?, NAMESPACE);
    fixture.platform.kubectl().run(&["cordon", NODE_NAME]).await?;
    let budgets = budgets_hold(fixture, &evictions).await;
    // The node is uncordoned even after a failure, since later scenarios need it.
    fixture.platform.kubectl().run(&["uncordon", NODE_NAME]).await?;
    budgets?;
    for role in ROLES {
        evict_all(fixture, &evictions, role, &before).await?;
    }
    fixture.verify_batch(BATCH_NAME).await?;
    fixture.until_all_ready().await
}

/// One Pod of each role can be evicted, and no second one.
async fn budgets_hold(fixture: &FaultFixture<'_>, evictions: &Api<Pod>) -> Result<()> {
    for role in ROLES {
        let pods = fixture.pods.live(role).await?;
        let mut names = pods.iter().filter(|pod| is_ready(pod)).map(kube::ResourceExt::name_any);
        let (first, second) = names.next().zip(names.next()).context("fewer than two Pods are ready")?;
        // The status of a budget follows that of the Pods with a delay.
        let gone = async || evict(evictions, &first).await.unwrap_or_default();
        wait::until(STEP_TIMEOUT, &format!("the eviction of {first}"), gone).await?;
        let refused = !evict(evictions, &second).await?;
        ensure!(refused, "{second} was evicted although {first} is not ready: the budget does not hold");
    }
    Ok(())
}

/// Evicts all Pods of a role that existed before, each as soon as its budget allows.
async fn evict_all(
    fixture: &FaultFixture<'_>,
    evictions: &Api<Pod>,
    role: Role,
    before: &BTreeSet<String>,
) -> Result<()> {
    let evict_next = async || {
        let pods = fixture.pods.live(role).await.map_err(|error| format!("{error:#}"))?;
        let mut left = pods.iter().filter(|pod| pod.uid().is_some_and(|uid| before.contains(&uid)));
        let Some(next) = left.next().map(kube::ResourceExt::name_any) else { return Ok(()) };
        let gone = evict(evictions, &next).await.map_err(|error| format!("{error:#}"))?;
        Err(format!("{next}: {}", if gone { "evicted" } else { "the budget does not allow it" }))
    };
    let what = format!("the eviction of all Pods of role {}", role.component());
    Ok(wait::until(STEP_TIMEOUT, &what, evict_next).await?)
}

/// Evicts a Pod; `false` if a budget refuses.
async fn evict(pods: &Api<Pod>, name: &str) -> Result<bool> {
    match pods.evict(name, &EvictParams::default()).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot evict {name}")),
    }
}
