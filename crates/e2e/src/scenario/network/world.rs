//! Everybody who might want to reach somebody, and what they reach.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::dial::Dial;
use super::release::{
    self, BUCKET, CLIENTS, DATABASE, ELSEWHERE, MONITORING, NAMESPACE, RELEASE, address_of, values,
};
use super::rules::without_one;
use super::table::{Seen, Who, Whom, allowed, shown, wrong};
use crate::clips::Clips;
use crate::platform::Platform;

/// How often connections are tried before what is wrong is wrong: whoever enforces policies hears of them a moment
/// later than we do.
const TRIES: usize = 5;

/// A Pod that was met.
#[derive(Debug)]
struct Met {
    name: String,
    address: String,
}

/// Everybody, with their addresses.
pub(super) struct World<'a> {
    platform: &'a Platform,
    database: String,
    dial: Dial,
    pages: Vec<(String, u16)>,
}

impl<'a> World<'a> {
    /// Makes a worker and a trainer, and learns where everybody is.
    pub(super) async fn meet(platform: &'a Platform) -> Result<Self> {
        let kubectl = platform.kubectl().namespaced(NAMESPACE);
        let outside = platform.outside().await?;
        for object in [release::worker(outside), release::trainer(outside)] {
            kubectl.apply(&object.to_string()).await?;
        }
        kubectl.wait("condition=Ready", "vmnode/pool").await?;
        kubectl.wait("jsonpath={.status.phase}=Running", "vmtrain/house").await?;

        let operator = met(platform, NAMESPACE, "app.kubernetes.io/component=operator").await?;
        let controller = met(platform, NAMESPACE, "app.kubernetes.io/component=controller").await?;
        let worker = met(platform, NAMESPACE, "app.kubernetes.io/name=vmafx-node").await?;
        let trainer = met(platform, NAMESPACE, "app.kubernetes.io/name=vmafx-trainer").await?;
        let mut pods: BTreeMap<_, _> = [
            (Who::Operator, &operator),
            (Who::Controller, &controller),
            (Who::Worker, &worker),
            (Who::Trainer, &trainer),
        ]
        .map(|(from, pod)| (from, pod.address.clone()))
        .into();
        for (from, namespace, name) in [
            (Who::Scraper, MONITORING, "scraper"),
            (Who::Client, CLIENTS, "client"),
            (Who::Neighbour, NAMESPACE, "neighbour"),
            (Who::Stranger, ELSEWHERE, "stranger"),
        ] {
            pods.insert(from, met(platform, namespace, &format!("app={name}")).await?.address);
        }

        let database = kubectl
            .run(&["get", "secret", DATABASE, "--template={{.data.uri|base64decode}}"])
            .await
            .and_then(|url| address_of(&url))?;
        let service = async |namespace: &str, name: &str| -> Result<String> {
            let words = ["get", "service", name, "--output=jsonpath={.spec.clusterIP}"];
            platform.kubectl().namespaced(namespace).run(&words).await
        };
        let queue = service(NAMESPACE, "vmafx-controller").await?;
        let server = met(platform, ELSEWHERE, "app=server").await?;
        let node = database.split(':').next().unwrap_or_default();
        let addresses = [
            (Whom::Grpc, format!("{queue}:9090")),
            (Whom::Http, format!("{queue}:8080")),
            (Whom::Metrics, format!("{}:8081", operator.address)),
            (Whom::Webhook, format!("{}:443", service(NAMESPACE, "vmafx-operator-webhook").await?)),
            (Whom::Worker, format!("{}:9090", worker.address)),
            (Whom::Trainer, format!("{}:9091", trainer.address)),
            (Whom::ApiServer, format!("{}:443", service("default", "kubernetes").await?)),
            (Whom::Dns, format!("{node}:53")),
            (Whom::Registry, outside.registry().to_owned()),
            (Whom::Elsewhere, format!("{}:8080", server.address)),
            (Whom::Database, database.clone()),
        ];
        let dial = Dial::new(platform.cluster(), &pods, addresses.into()).await?;
        let pages =
            [(operator.name, 8081), (controller.name, 8080), (worker.name, 9090), (trainer.name, 9091)];
        Ok(Self { platform, database, dial, pages: pages.into() })
    }

    /// The Pods with metrics, and the ports of their pages.
    pub(super) fn pages(&self) -> &[(String, u16)] {
        &self.pages
    }

    /// Everything is as the table says; all that was tried.
    pub(super) async fn holds(&self) -> Result<String> {
        self.until(allowed).await
    }

    /// Without policies, every connection that was blocked comes about.
    pub(super) async fn opens(&self) -> Result<String> {
        let values = values(self.platform, self.platform.outside().await?, &self.database, false)?;
        self.platform.helm().upgrade(RELEASE, NAMESPACE, &values).await?;
        self.until(|from, to| allowed(from, to).map(|_| true)).await
    }

    /// A job whose clips are in an object store, which policies let workers reach.
    pub(super) async fn scores(&self) -> Result<()> {
        let (outside, clips) = (self.platform.outside().await?, self.platform.clips());
        for clip in Clips::GOLDEN {
            outside.s3().put(BUCKET, clip, &tokio::fs::read(clips.here(clip)).await?)?;
        }
        let mut spec = Clips::job(Clips::GOLDEN);
        for (place, clip) in ["reference", "distorted"].into_iter().zip(Clips::GOLDEN) {
            spec[place] = format!("s3://{BUCKET}/{clip}").into();
        }
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "first" }, "spec": spec,
        });
        let kubectl = self.platform.kubectl().namespaced(NAMESPACE);
        kubectl.apply(&job.to_string()).await?;
        kubectl.wait("condition=Complete", "vmjob/first").await?;
        let job = kubectl.get(&["vmjob", "first"]).await?;
        let expected = clips.score(Clips::GOLDEN).await?;
        ensure!(job["status"]["score"].as_f64() == Some(expected), "not {expected}: {}", job["status"]);
        Ok(())
    }

    /// Without any one of the things that policies allow, somebody does not reach whom they should.
    pub(super) async fn misses_every_rule(&self) -> Result<usize> {
        let policies = Api::<NetworkPolicy>::namespaced(self.platform.client(), NAMESPACE);
        let open = |from, to| allowed(from, to) == Some(true);
        let (mut tried, mut needless) = (0, Vec::new());
        for policy in policies.list(&ListParams::default()).await?.items {
            let name = policy.metadata.name.unwrap_or_default();
            let spec = serde_json::to_value(&policy.spec)?;
            let set = async |spec: &Value| {
                let change = Patch::Merge(json!({ "spec": spec }));
                policies.patch(&name, &PatchParams::default(), &change).await
            };
            for without in without_one(&spec) {
                set(&without.spec).await?;
                let (_, missed) = self.tried(open, |wrong| !wrong.is_empty(), allowed).await?;
                set(&spec).await?;
                if missed.is_empty() {
                    needless.push(format!("{name}: {}", without.what));
                }
                let (_, wrong) = self.tried(open, Vec::is_empty, allowed).await?;
                ensure!(wrong.is_empty(), "with all rules again: {}", wrong.join(", "));
                tried += 1;
            }
        }
        ensure!(tried > 15, "only {tried} rules");
        ensure!(needless.is_empty(), "nobody misses {}", needless.join("\n"));
        Ok(tried)
    }

    async fn until(&self, expected: impl Fn(Who, Whom) -> Option<bool>) -> Result<String> {
        let (seen, wrong) =
            self.tried(|from, to| expected(from, to).is_some(), Vec::is_empty, &expected).await?;
        if !wrong.is_empty() {
            bail!("{}\n{}", wrong.join("\n"), shown(&seen));
        }
        Ok(shown(&seen))
    }

    /// Tries the wanted connections until what is wrong with them is as it should be, or for the last time.
    async fn tried(
        &self,
        wanted: impl Fn(Who, Whom) -> bool,
        settled: impl Fn(&Vec<String>) -> bool,
        expected: impl Fn(Who, Whom) -> Option<bool>,
    ) -> Result<(Seen, Vec<String>)> {
        let mut tries = 1;
        loop {
            let seen = self.dial.all(self.platform.cluster(), &wanted).await?;
            let wrong = wrong(&seen, &expected);
            if settled(&wrong) || tries == TRIES {
                return Ok((seen, wrong));
            }
            tries += 1;
        }
    }
}

async fn met(platform: &Platform, namespace: &str, selector: &str) -> Result<Met> {
    let kubectl = platform.kubectl().namespaced(namespace);
    let selector = format!("--selector={selector}");
    kubectl.run(&["wait", "--for=condition=Ready", "pod", &selector, "--timeout=180s"]).await?;
    let pods = kubectl.get(&["pods", &selector, "--field-selector=status.phase=Running"]).await?;
    let pod = &pods["items"][0];
    let text =
        |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("no Pod with {selector}"));
    Ok(Met { name: text(&pod["metadata"]["name"])?, address: text(&pod["status"]["podIP"])? })
}
