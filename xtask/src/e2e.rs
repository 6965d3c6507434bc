//! `make e2e`: what users do, on a whole node with the images and the chart.

use anyhow::Result;
use tokio::runtime::Runtime;
use vmafx_e2e::{Platform, Steps, scenario};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

use crate::images;
use crate::test::{ONE_BY_ONE, ignored};

/// What to do.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Play these scenarios, and do nothing else
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<Scenario>,
}

/// What is played on the cluster, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    User,
    Docs,
    Network,
    Faults,
}

const SCENARIOS: [Scenario; 4] = [Scenario::User, Scenario::Docs, Scenario::Network, Scenario::Faults];

/// Does it, or says why this machine cannot. Every step is said with its duration.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::new();
    let outcome = all(arguments, &mut steps);
    println!("\n{}", steps.table());
    outcome
}

fn all(arguments: &Arguments, steps: &mut Steps) -> Result<()> {
    let whole = arguments.only.is_empty();
    if whole {
        steps.blocking("make run, and what it says to try next", || {
            ignored(&["--test", "run"], &ONE_BY_ONE, &[])
        })?;
    }
    if let ProbeResult::Impossible(why) = probe() {
        println!("skipped: what needs a whole node: {why}");
        return Ok(());
    }
    let images = steps.blocking("build and make images", images::quick)?;
    if whole {
        steps.blocking("every daemon runs in its image", || {
            ignored(&["--bin", "xtask", "images::tests::every_daemon"], &[], &[])
        })?;
        steps.blocking("a whole node starts, ends and leaves nothing", || {
            ignored(&["--test", "whole_node"], &[], &[])
        })?;
    }
    let wanted = SCENARIOS.into_iter().filter(|one| whole || arguments.only.contains(one));
    Runtime::new()?.block_on(play(&images, wanted, steps))
}

async fn play(
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
        .step("end the cluster", async {
            drop(platform);
            Ok(())
        })
        .await
}
