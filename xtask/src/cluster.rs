//! `make cluster`: an installation on a whole node that stays up.

use anyhow::{Result, bail};
use serde_json::json;
use tokio::runtime::Runtime;
use vmafx_e2e::{Clips, Platform, Steps};
use vmafx_testkit::kube::probe::{ProbeResult, probe};

use crate::images;
use crate::kube::ClusterArgs;

const NAMESPACE: &str = "vmafx-system";
const RELEASE: &str = "vmafx";

/// Starts a cluster, installs the chart, scores a clip, and prints the next steps.
pub(crate) fn run(cluster: &ClusterArgs) -> Result<()> {
    if let ProbeResult::Impossible(why) = probe() {
        bail!("{why}; `make run` has fewer requirements");
    }
    let state = cluster.state()?;
    if state.is_running()? {
        bail!("a cluster is already running; stop it with `make cluster-down`");
    }
    let mut steps = Steps::new();
    let images = steps.blocking("build the images", images::quick)?;
    Runtime::new()?.block_on(async {
        let base = cluster.base()?;
        let platform =
            steps.step("start a cluster and load the images", Platform::start(&base, &images)).await?;
        if let Err(error) = install(&platform, &mut steps).await {
            println!("{}", platform.explain_all().await);
            return Err(error);
        }
        platform.detach()
    })?;
    println!("\nThe cluster stays up until `make cluster-down`. Next steps:\n");
    println!("export KUBECONFIG={}", state.kubeconfig().display());
    for (command, what) in [
        (format!("kubectl -n {NAMESPACE} get vmnode,vmjob,pods"), "all resources"),
        (format!("kubectl -n {NAMESPACE} describe vmjob sample"), "the state of the job and its reason"),
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
