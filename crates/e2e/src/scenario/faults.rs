//! Faults under load: every component is killed or cut off, and every job still ends once, with the score of its pair.
//!
//! The release has two operators, two controllers on Postgres and three nodes, with authentication and disruption budgets.
//! Leases are short, so that expiry does not take long.
//!
//! | file         | does                                                                                  |
//! |--------------|---------------------------------------------------------------------------------------|
//! | `verify`     | pure: compares the requested jobs with their outcomes                                 |
//! | `plan`       | pure: which Pods get which fault                                                      |
//! | `logs`       | pure: reads from the nodes' logs which reports were accepted                          |
//! | `history`    | records the phases of jobs                                                            |
//! | `queue`      | reads jobs and attempts from the database                                             |
//! | `ledger`     | the requested jobs and their ends in Kubernetes                                       |
//! | `pods`       | the Pods of a release                                                                 |
//! | `fixture`    | installs the release, creates jobs and verifies them                                  |
//! | `inject`     | 500 jobs while Pods of all roles are deleted and killed                               |
//! | `controller` | one of two controllers is killed while nodes pull jobs from it                        |
//! | `drain`      | the Kubernetes node is drained                                                        |
//! | `partition`  | a node and the controllers cannot reach each other for longer than a lease            |
//! | `scratch`    | a clip is larger than the scratch volume                                              |
//!
//! Runs of one fault each, which [`FaultRun`] names:
//!
//! | file               | does                                                                            |
//! |--------------------|---------------------------------------------------------------------------------|
//! | `broken_worker`    | one of three workers lacks the volume with the clips                            |
//! | `controller_away`  | no controller runs for five minutes while jobs end                              |
//! | `cut_off`          | a worker cannot reach the controllers for 75 seconds                            |
//! | `database_cut`     | one of two controllers cannot reach Postgres for five minutes                   |
//! | `idle_transaction` | a transaction stays open in another database of the server                      |
//! | `shared_scratch`   | four slots share a scratch volume for the clips of one or two jobs              |
//! | `store_errors`     | the object store answers 503 for twenty seconds                                 |
//! | `firewall`         | drops packets in the network of the node                                        |
//! | `summary`          | pure: the figures of a run                                                      |
//!
//! `upgrade` replaces an older release by this one under load. `embedded` has the faults of a controller on SQLite, and `random` runs 2 000 jobs over all faults in random order.

mod broken_worker;
mod controller;
mod controller_away;
mod cut_off;
mod database_cut;
mod drain;
mod embedded;
mod firewall;
mod fixture;
mod history;
mod idle_transaction;
mod inject;
mod ledger;
mod logs;
mod partition;
mod plan;
mod pods;
mod queue;
mod random;
mod scratch;
mod shared_scratch;
mod store_errors;
mod summary;
mod upgrade;
mod verify;

use anyhow::Result;

pub use self::embedded::{clock_steps, restore};
use self::fixture::FaultFixture;
pub use self::random::random;
use self::summary::FaultSummary;
pub use self::upgrade::{UpgradeRun, upgrade};
use crate::platform::Platform;
use crate::steps::Steps;

/// A run of one fault. It can be started by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FaultRun {
    /// One of three workers lacks the volume with the clips
    BrokenWorker,
    /// No controller runs for five minutes while jobs end
    ControllerAway,
    /// A worker cannot reach the controllers for 75 seconds
    CutOff,
    /// One of two controllers cannot reach Postgres for five minutes
    DatabaseCut,
    /// A transaction stays open in another database of the Postgres server
    IdleTransaction,
    /// Four slots share a scratch volume for the clips of one or two jobs
    SharedScratch,
    /// The object store answers 503 for twenty seconds
    StoreErrors,
}

impl FaultRun {
    const fn title(self) -> &'static str {
        match self {
            Self::BrokenWorker => "faults: one of three workers lacks its volume",
            Self::ControllerAway => "faults: no controller runs for five minutes",
            Self::CutOff => "faults: a worker is cut off for 75 seconds",
            Self::DatabaseCut => "faults: one of two controllers loses Postgres",
            Self::IdleTransaction => "faults: a transaction stays open next door",
            Self::SharedScratch => "faults: four slots share a small scratch volume",
            Self::StoreErrors => "faults: the object store answers 503 for 20 s",
        }
    }

    async fn run(self, fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
        match self {
            Self::BrokenWorker => broken_worker::run(fixture).await,
            Self::ControllerAway => controller_away::run(fixture).await,
            Self::CutOff => cut_off::run(fixture).await,
            Self::DatabaseCut => database_cut::run(fixture).await,
            Self::IdleTransaction => idle_transaction::run(fixture).await,
            Self::SharedScratch => shared_scratch::run(fixture).await,
            Self::StoreErrors => store_errors::run(fixture).await,
        }
    }
}

pub async fn faults(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let mut fixture = set_up(platform, steps).await?;
    inject::run(&mut fixture, steps).await?;
    steps.step("faults: one of two controllers is killed", controller::run(&mut fixture)).await?;
    steps.step("faults: the node is drained", drain::run(&mut fixture)).await?;
    steps.step("faults: a node is partitioned for longer than a lease", partition::run(&mut fixture)).await?;
    steps.step("faults: a clip does not fit the scratch volume", scratch::run(&mut fixture)).await?;
    steps.step("faults: uninstall", fixture.tear_down()).await
}

/// One fault by its name.
pub async fn fault(platform: &Platform, steps: &mut Steps, run: FaultRun) -> Result<()> {
    let mut fixture = set_up(platform, steps).await?;
    summarized(run, &mut fixture, steps).await?;
    steps.step("faults: uninstall", fixture.tear_down()).await
}

async fn set_up<'a>(platform: &'a Platform, steps: &mut Steps) -> Result<FaultFixture<'a>> {
    let set_up = FaultFixture::set_up(platform);
    steps.step("faults: two operators, two controllers on Postgres, three nodes", set_up).await
}

async fn summarized(run: FaultRun, fixture: &mut FaultFixture<'_>, steps: &mut Steps) -> Result<()> {
    let summary = steps.step(run.title(), Box::pin(run.run(fixture))).await?;
    println!("        {summary}");
    Ok(())
}
