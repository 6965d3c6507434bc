//! Operator, controller and workers are restarted while jobs run.

use anyhow::Result;
use serde_json::json;

use super::pool;
use super::stage::{Stage, same};
use crate::clips::Clips;

/// Jobs that end in moments, and jobs that are surely under way when their worker is told to leave.
const SHORT: usize = 40;
const LONG: usize = 4;

pub(super) async fn everything(stage: &Stage<'_>) -> Result<()> {
    for number in 0..LONG {
        stage.score(&format!("long-{number}"), [Clips::LONG; 2], json!({ "priority": 1 })).await?;
    }
    for number in 0..SHORT {
        let [reference, distorted] = Clips::pair(number);
        stage.score(&format!("load-{number}"), [&reference, &distorted], json!({})).await?;
    }
    // First the workers: while the only operator is away, its webhook lets nobody change them.
    let before = pool::workers(stage).await?;
    pool::roll(stage).await?;
    let daemons = ["deployment/vmafx-operator", "deployment/vmafx-controller"];
    for daemon in daemons {
        stage.kubectl.run(&["rollout", "restart", daemon]).await?;
    }
    for daemon in daemons {
        stage.kubectl.run(&["rollout", "status", daemon, "--timeout=180s"]).await?;
    }
    pool::rolled(stage, &before).await?;
    for number in 0..SHORT {
        let [reference, distorted] = Clips::pair(number);
        stage.until_scored(&format!("load-{number}"), [&reference, &distorted]).await?;
    }
    let expected = stage.platform.clips().score([Clips::LONG; 2]).await?;
    for number in 0..LONG {
        let name = format!("long-{number}");
        let status = stage.until_phase(&name, vmafx_api::job::Phase::Succeeded).await?;
        same(&format!("the score of {name}"), status.score, Some(expected))?;
    }
    Ok(())
}
