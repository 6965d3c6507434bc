//! One of two controllers is killed while nodes pull jobs from it.

use anyhow::{Result, ensure};

use super::fixture::{BATCH_TIMEOUT, FaultFixture};
use super::inject::inject;
use super::plan::{Fault, FaultKind, Role};

const BATCH_NAME: &str = "orphans";
const JOBS: usize = 40;
/// Jobs that have ended before the controller is killed, so that nodes are busy.
const AFTER: usize = 5;

/// Kills the process, and then deletes the Pod so that it cannot restart.
pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<()> {
    fixture.submit(BATCH_NAME, JOBS).await?;
    fixture.ledger.history.until_ended(BATCH_NAME, AFTER, BATCH_TIMEOUT).await?;
    for kind in [FaultKind::Kill, FaultKind::ForceDelete] {
        let injected = inject(&fixture.pods, Fault { role: Role::Controller, kind, which: 0 }).await?;
        ensure!(injected || kind == FaultKind::ForceDelete, "there is no running controller to kill");
    }
    fixture.verify_batch(BATCH_NAME).await?;
    fixture.until_all_ready().await
}
