//! Operator, controller and workers are restarted while jobs run.

use anyhow::Result;
use serde_json::json;

use super::fixture::{UserFixture, expect_eq};
use super::pool;
use crate::clips::Clips;

/// Short jobs, and long ones that are still running when their worker is stopped.
const SHORT: usize = 40;
const LONG: usize = 4;

pub(super) async fn everything(fixture: &UserFixture<'_>) -> Result<()> {
    for number in 0..LONG {
        fixture.submit_pair(&format!("long-{number}"), [Clips::LONG; 2], json!({ "priority": 1 })).await?;
    }
    for number in 0..SHORT {
        let [reference, distorted] = Clips::pair(number);
        fixture.submit_pair(&format!("load-{number}"), [&reference, &distorted], json!({})).await?;
    }
    // The workers first: while the only operator restarts, its webhook rejects changes to them.
    let before = pool::workers(fixture).await?;
    pool::roll(fixture).await?;
    let daemons = ["deployment/vmafx-operator", "deployment/vmafx-controller"];
    for daemon in daemons {
        fixture.kubectl.run(&["rollout", "restart", daemon]).await?;
    }
    for daemon in daemons {
        fixture.kubectl.run(&["rollout", "status", daemon, "--timeout=180s"]).await?;
    }
    pool::rolled(fixture, &before).await?;
    for number in 0..SHORT {
        let [reference, distorted] = Clips::pair(number);
        fixture.until_scored(&format!("load-{number}"), [&reference, &distorted]).await?;
    }
    let expected = fixture.platform.clips().score([Clips::LONG; 2]).await?;
    for number in 0..LONG {
        let name = format!("long-{number}");
        let status = fixture.until_phase(&name, vmafx_api::job::Phase::Succeeded).await?;
        expect_eq(&format!("the score of {name}"), status.score, Some(expected))?;
    }
    Ok(())
}
