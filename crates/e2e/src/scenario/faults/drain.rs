//! The Kubernetes node is emptied as `kubectl drain` does it: no new Pods, and evictions, which budgets may refuse.
//!
//! There is no other node, so what was evicted has nowhere to go. That is when a budget shows: the first of a kind may
//! leave, the second is refused until the first is back somewhere.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::EvictParams;
use kube::{Api, Client, ResourceExt as _};
use vmafx_testkit::kube::node::NODE_NAME;
use vmafx_testkit::wait;

use super::chance::Role;
use super::ground::{Ground, NAMESPACE, is_ready};
use crate::platform::PATIENCE;

const BATCH_NAME: &str = "drained";
const JOBS: usize = 40;
const ROLES: [Role; 3] = [Role::Operator, Role::Controller, Role::Node];

/// Cordons, evicts what may be evicted, uncordons, and evicts the rest.
pub(super) async fn play(ground: &mut Ground<'_>) -> Result<()> {
    ground.submit(BATCH_NAME, JOBS).await?;
    let mut before = BTreeSet::new();
    for role in ROLES {
        before.extend(ground.alive(role).await?.iter().filter_map(kube::ResourceExt::uid));
    }
    // Our client asks again when it is refused for now; here the refusal is what is asked for.
    let mut config = ground.platform.cluster().config().clone();
    config.default_retry = false;
    let evictions = Api::namespaced(Client::try_from(config)?, NAMESPACE);
    ground.platform.kubectl().run(&["cordon", NODE_NAME]).await?;
    let budgets = budgets_hold(ground, &evictions).await;
    // Whatever was seen: a node that takes no Pods is no use to anybody who comes after.
    ground.platform.kubectl().run(&["uncordon", NODE_NAME]).await?;
    budgets?;
    for role in ROLES {
        emptied(ground, &evictions, role, &before).await?;
    }
    ground.settle(BATCH_NAME).await?;
    ground.until_whole().await
}

/// One Pod of each kind may go, and no second one.
async fn budgets_hold(ground: &Ground<'_>, evictions: &Api<Pod>) -> Result<()> {
    for role in ROLES {
        let pods = ground.alive(role).await?;
        let mut names = pods.iter().filter(|pod| is_ready(pod)).map(kube::ResourceExt::name_any);
        let (first, second) = names.next().zip(names.next()).context("less than two Pods are ready")?;
        // Budgets are counted a moment after the Pods.
        let gone = async || evict(evictions, &first).await.unwrap_or_default();
        wait::until(PATIENCE, &format!("{first} to be evicted, since all are ready"), gone).await?;
        let refused = !evict(evictions, &second).await?;
        ensure!(refused, "{second} was evicted although {first} is away: the budget does not hold");
    }
    Ok(())
}

/// Until none of those that were there before is left, each as soon as its budget allows.
async fn emptied(
    ground: &Ground<'_>,
    evictions: &Api<Pod>,
    role: Role,
    before: &BTreeSet<String>,
) -> Result<()> {
    let look = async || {
        let pods = ground.alive(role).await.map_err(|error| format!("{error:#}"))?;
        let mut left = pods.iter().filter(|pod| pod.uid().is_some_and(|uid| before.contains(&uid)));
        let Some(next) = left.next().map(kube::ResourceExt::name_any) else { return Ok(()) };
        let gone = evict(evictions, &next).await.map_err(|error| format!("{error:#}"))?;
        Err(format!("{next}: {}", if gone { "evicted" } else { "the budget does not allow it" }))
    };
    let what = format!("the node to be empty of Pods: {}", role.component());
    Ok(wait::until(PATIENCE, &what, look).await?)
}

/// Asks for a Pod to be evicted; `false` when a budget refuses.
async fn evict(pods: &Api<Pod>, name: &str) -> Result<bool> {
    match pods.evict(name, &EvictParams::default()).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(false),
        Err(error) => Err(error).with_context(|| format!("evicting {name}")),
    }
}
