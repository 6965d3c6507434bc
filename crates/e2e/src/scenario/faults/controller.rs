//! One of two controllers dies while nodes ask it for work.

use anyhow::{Result, ensure};

use super::chance::{Blow, Role, Way};
use super::ground::{BATCH, Ground};
use super::strike::deal;

const BATCH_NAME: &str = "orphans";
const JOBS: usize = 40;
/// When nodes are in the middle of it.
const AFTER: usize = 5;

/// Kills its process, and then does not let the same Pod start it again.
pub(super) async fn play(ground: &mut Ground<'_>) -> Result<()> {
    ground.submit(BATCH_NAME, JOBS).await?;
    ground.diary.until_over(BATCH_NAME, AFTER, BATCH).await?;
    for way in [Way::Crashed, Way::Forced] {
        let struck = deal(ground, Blow { role: Role::Controller, way, which: 0 }).await?;
        ensure!(struck || way == Way::Forced, "there is no controller to be killed");
    }
    ground.settle(BATCH_NAME).await?;
    ground.until_whole().await
}
