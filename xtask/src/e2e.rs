//! `make e2e`: the end-to-end scenarios on a whole node with the images and the chart.

mod older;
mod oldest;

use anyhow::{Result, bail};
use clap::ValueEnum as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tokio::runtime::Runtime;
use vmafx_e2e::scenario::{self, FaultRun, UpgradeRun};
use vmafx_e2e::{Platform, Steps};
use vmafx_testkit::kube::probe::{ProbeResult, probe};
use vmafx_testkit::prerequisite::is_ci;

use self::oldest::TestSelection;
use crate::images;
use crate::test::{SINGLE_THREADED, run_ignored};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only these scenarios
    #[arg(long, value_name = "SCENARIO", value_parser = Selection::parser())]
    only: Vec<Selection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    User,
    Docs,
    Network,
    Faults,
    /// The clock of a controller on SQLite is stepped by ten minutes
    ClockSteps,
    /// The store of a controller on SQLite is restored from a backup
    Restore,
    /// 2 000 jobs over all faults in random order
    Random,
    /// The last release without TLS is upgraded to this one while jobs run
    Upgrade,
    /// The same by the two upgrades that the documents describe
    UpgradeInSteps,
    /// The integration tests on the oldest release of Kubernetes that we support
    OldestKubernetes,
}

/// What `--only` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    Scenario(Scenario),
    Fault(FaultRun),
}

impl Selection {
    fn parser() -> impl TypedValueParser<Value = Self> {
        let scenarios = Scenario::value_variants().iter().filter_map(Scenario::to_possible_value);
        let faults = FaultRun::value_variants().iter().filter_map(FaultRun::to_possible_value);
        PossibleValuesParser::new(scenarios.chain(faults)).try_map(|name| {
            let scenario = Scenario::from_str(&name, false).map(Self::Scenario);
            scenario.or_else(|_| FaultRun::from_str(&name, false).map(Self::Fault))
        })
    }
}

/// The scenarios of a whole run, in order, after the version-dependent tests on the oldest Kubernetes. The others start by
/// their name.
const SCENARIOS: [Scenario; 4] = [Scenario::User, Scenario::Docs, Scenario::Network, Scenario::Faults];

/// Runs the scenarios, or says why this machine cannot. Prints every step with its duration.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::new();
    let outcome = all(arguments, &mut steps);
    println!("\n{}", steps.table());
    outcome
}

fn all(arguments: &Arguments, steps: &mut Steps) -> Result<()> {
    let whole = arguments.only.is_empty();
    if whole {
        steps.blocking("make run, and the commands that it prints", || {
            run_ignored(&["--test", "run"], &SINGLE_THREADED, &[])
        })?;
    }
    let wanted = if whole { SCENARIOS.map(Selection::Scenario).to_vec() } else { arguments.only.clone() };
    let (oldest, wanted): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|one| *one == Selection::Scenario(Scenario::OldestKubernetes));
    if whole {
        oldest::run(TestSelection::VersionDependent, steps)?;
    } else if !oldest.is_empty() {
        oldest::run(TestSelection::All, steps)?;
    }
    if wanted.is_empty() {
        return Ok(());
    }
    if let ProbeResult::Impossible(why) = probe() {
        if is_ci(std::env::var("CI").ok().as_deref()) {
            bail!("CI must not skip the scenarios that need a whole node: {why}");
        }
        println!("skipped the scenarios that need a whole node: {why}");
        return Ok(());
    }
    let images = steps.blocking("build the images", images::quick)?;
    if whole {
        steps.blocking("every daemon runs in its image", || {
            run_ignored(&["--bin", "xtask", "images::tests::every_daemon"], &[], &[])
        })?;
        steps.blocking("a whole node starts, stops and leaves nothing behind", || {
            run_ignored(&["--test", "whole_node"], &[], &[])
        })?;
    }
    Runtime::new()?.block_on(run_scenarios(&images, &wanted, steps))
}

async fn run_scenarios(images: &vmafx_e2e::Images, scenarios: &[Selection], steps: &mut Steps) -> Result<()> {
    let base = tempfile::Builder::new().prefix("vmafx-e2e-").tempdir()?;
    let platform =
        steps.step("start a cluster and load the images", Platform::start(base.path(), images)).await?;
    for one in scenarios {
        let outcome = match *one {
            Selection::Scenario(Scenario::User) => scenario::user(&platform, steps).await,
            Selection::Scenario(Scenario::Docs) => scenario::docs(&platform, steps).await,
            Selection::Scenario(Scenario::Network) => scenario::network(&platform, steps).await,
            Selection::Scenario(Scenario::Faults) => scenario::faults(&platform, steps).await,
            Selection::Scenario(Scenario::ClockSteps) => scenario::clock_steps(&platform, steps).await,
            Selection::Scenario(Scenario::Restore) => scenario::restore(&platform, steps).await,
            Selection::Scenario(Scenario::Random) => scenario::random(&platform, steps).await,
            Selection::Scenario(Scenario::Upgrade) => upgrade(&platform, steps, UpgradeRun::AtOnce).await,
            Selection::Scenario(Scenario::UpgradeInSteps) => {
                upgrade(&platform, steps, UpgradeRun::InSteps).await
            }
            Selection::Scenario(Scenario::OldestKubernetes) => Ok(()),
            Selection::Fault(run) => scenario::fault(&platform, steps, run).await,
        };
        if let Err(error) = outcome {
            println!("{}", platform.explain_all().await);
            return Err(error);
        }
    }
    steps
        .step("stop the cluster", async {
            drop(platform);
            Ok(())
        })
        .await
}

async fn upgrade(platform: &Platform, steps: &mut Steps, run: UpgradeRun) -> Result<()> {
    let older = steps.blocking("build the images of the older release", older::build)?;
    scenario::upgrade(platform, steps, &older, run).await
}
