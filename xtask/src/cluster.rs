//! `make cluster`: the project as it is installed, on a whole node that stays up.

use anyhow::{Result, bail};
use serde_json::json;
use tokio::runtime::Runtime;
use vmafx_e2e::{Clips, Platform, Steps};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

use crate::images;
use crate::kube::Place;

const NAMESPACE: &str = "vmafx-system";
const RELEASE: &str = "vmafx";

/// Starts it, installs the chart, scores a clip, and says how to go on.
pub(crate) fn run(place: &Place) -> Result<()> {
    if let ProbeResult::Impossible(why) = probe() {
        bail!("{why}; `make run` needs less");
    }
    let state = place.state()?;
    if state.is_running()? {
        bail!("a cluster runs already: `make cluster-down` ends it");
    }
    let mut steps = Steps::new();
    let images = steps.blocking("build and make images", images::quick)?;
    Runtime::new()?.block_on(async {
        let base = place.base()?;
        let platform =
            steps.step("start a cluster and load the images", Platform::start(&base, &images)).await?;
        if let Err(error) = install(&platform, &mut steps).await {
            println!("{}", platform.explain_all().await);
            return Err(error);
        }
        platform.detach()
    })?;
    println!("\nIt stays up until `make cluster-down`. To go on:\n");
    println!("export KUBECONFIG={}", state.kubeconfig().display());
    for (command, what) in [
        (format!("kubectl -n {NAMESPACE} get vmnode,vmjob,pods"), "what is there"),
        (format!("kubectl -n {NAMESPACE} describe vmjob sample"), "why it is where it is"),
        (format!("kubectl -n {NAMESPACE} scale vmnode pool --replicas=2"), "more workers"),
    ] {
        println!("{command:<60} # {what}");
    }
    Ok(())
}

async fn install(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let kubectl = platform.kubectl().namespaced(NAMESPACE);
    steps
        .step("helm install", async {
            platform.namespace(NAMESPACE).await?;
            platform.volume(NAMESPACE, &format!("{RELEASE}-controller")).await?;
            platform.helm().install(RELEASE, NAMESPACE, &platform.values(json!({}))).await
        })
        .await?;
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": { "gpuVendor": "cpu", "capacity": 2, "podTemplate": Clips::pod_template() },
    });
    steps
        .step("register a node", async {
            kubectl.apply(&node.to_string()).await?;
            kubectl.wait("condition=Ready", "vmnode/pool").await
        })
        .await?;
    let job = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "sample" },
        "spec": Clips::job(Clips::GOLDEN),
    });
    steps
        .step("score a clip", async {
            kubectl.apply(&job.to_string()).await?;
            kubectl.wait("condition=Complete", "vmjob/sample").await
        })
        .await?;
    println!("\n{}", kubectl.run(&["get", "vmnode,vmjob", "-o", "wide"]).await?);
    Ok(())
}
