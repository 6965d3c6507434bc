//! The controller's clock is stepped by ten minutes in both directions while jobs run: no attempt is lost, and no result
//! is deleted early.

use anyhow::Result;
use serde_json::json;
use vmafx_api::job::Phase;

use super::fixture::EmbeddedFixture;
use crate::steps::Steps;

const JOBS: usize = 6;
/// Longer than the scenario takes, shorter than the steps of the clock.
const TTL_SECONDS: u64 = 590;

pub(super) async fn run(fixture: &EmbeddedFixture<'_>, steps: &mut Steps) -> Result<()> {
    for (batch, offset, title) in [
        ("ahead", 600, "embedded: the clock is stepped ten minutes ahead"),
        ("back", 0, "embedded: the clock is stepped back to the real time"),
        ("behind", -600, "embedded: the clock is stepped ten minutes back"),
    ] {
        steps.step(title, stepped(fixture, batch, offset)).await?;
    }
    let kept = async {
        for batch in ["ahead", "back", "behind"] {
            fixture.verify(batch, JOBS).await?;
        }
        Ok(())
    };
    steps.step("embedded: no result was deleted early", kept).await
}

/// Steps the clock while jobs run.
async fn stepped(fixture: &EmbeddedFixture<'_>, batch: &str, offset: i64) -> Result<()> {
    fixture.submit(batch, JOBS, &json!({ "ttlSecondsAfterFinished": TTL_SECONDS })).await?;
    fixture.until_phase(batch, Phase::Running).await?;
    fixture.set_clock(offset)?;
    fixture.verify(batch, JOBS).await
}
