//! `make e2e`: the end-to-end scenarios on a whole node with the images and the chart.

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_e2e::{Platform, Steps, scenario};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

use crate::images;
use crate::test::{SINGLE_THREADED, run_ignored};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only these scenarios
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<Scenario>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    User,
    Docs,
    Network,
    Faults,
}

/// The order of the scenarios.
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
    if let ProbeResult::Impossible(why) = probe() {
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
    let wanted = SCENARIOS.into_iter().filter(|one| whole || arguments.only.contains(one));
    Runtime::new()?.block_on(run_scenarios(&images, wanted, steps))
}

async fn run_scenarios(
    images: &vmafx_e2e::Images,
    scenarios: impl Iterator<Item = Scenario>,
    steps: &mut Steps,
) -> Result<()> {
    let base = tempfile::Builder::new().prefix("vmafx-e2e-").tempdir()?;
    let platform =
        steps.step("start a cluster and load the images", Platform::start(base.path(), images)).await?;
    for one in scenarios {
        let outcome = match one {
            Scenario::User => scenario::user(&platform, steps).await,
            Scenario::Docs => scenario::docs(&platform, steps).await,
            Scenario::Network => scenario::network(&platform, steps).await,
            Scenario::Faults => scenario::faults(&platform, steps).await,
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
