//! Faults of a release with the embedded store: one controller on SQLite, two workers.
//!
//! | file      | does                                                                     |
//! |-----------|--------------------------------------------------------------------------|
//! | `fixture` | installs the release, creates jobs and waits for their scores            |
//! | `clock`   | the controller's clock is stepped by ten minutes in both directions      |
//! | `restore` | the store is replaced by a backup                                        |

mod clock;
mod fixture;
mod restore;

use anyhow::Result;

use self::fixture::EmbeddedFixture;
use crate::platform::Platform;
use crate::steps::Steps;

/// Steps the clock of a controller while jobs run.
pub async fn clock_steps(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let fixture = set_up(platform, steps).await?;
    clock::run(&fixture, steps).await?;
    steps.step("embedded: uninstall", fixture.tear_down()).await
}

/// Replaces the store of a controller by a backup.
pub async fn restore(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let fixture = set_up(platform, steps).await?;
    restore::run(&fixture, steps).await?;
    steps.step("embedded: uninstall", fixture.tear_down()).await
}

async fn set_up<'a>(platform: &'a Platform, steps: &mut Steps) -> Result<EmbeddedFixture<'a>> {
    let set_up = EmbeddedFixture::set_up(platform);
    steps.step("embedded: one controller on SQLite with a clock of its own", set_up).await
}
