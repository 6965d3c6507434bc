//! The sources and targets of connections, and the checks of what is reachable.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::capture::PacketCapture;
use super::dial::Dialer;
use super::release::{
    self, BUCKET, CLIENTS, DATABASE, ELSEWHERE, MONITORING, NAMESPACE, RELEASE, address_of, values,
};
use super::rules::reduced_policies;
use super::table::{Connectivity, Source, Target, allowed, mismatches, render};
use crate::clips::Clips;
use crate::platform::Platform;

/// How often connections are tried before a mismatch counts: the enforcer applies a policy with a delay.
const TRIES: usize = 5;

#[derive(Debug)]
struct PodAddress {
    name: String,
    address: String,
}

pub(super) struct NetworkFixture<'a> {
    platform: &'a Platform,
    database: String,
    /// Addresses of the worker and the trainer.
    workers: [String; 2],
    dial: Dialer,
    metrics_pages: Vec<(String, u16)>,
}

impl<'a> NetworkFixture<'a> {
    /// Captures what the controller receives and sends.
    pub(super) async fn capture(platform: &Platform) -> Result<PacketCapture> {
        let controller = pod_address(platform, NAMESPACE, "app.kubernetes.io/component=controller").await?;
        PacketCapture::start(platform, &controller.address).await
    }

    /// Everything that was captured is TLS, and the worker and the trainer are among the clients.
    pub(super) async fn verify_encryption(&self, capture: PacketCapture) -> Result<String> {
        let [worker, trainer] = &self.workers;
        capture.verify(&[worker, trainer]).await
    }

    /// Creates a worker and a trainer, and collects the addresses of all Pods and services.
    pub(super) async fn set_up(platform: &'a Platform) -> Result<Self> {
        let kubectl = platform.kubectl().namespaced(NAMESPACE);
        let external = platform.external_services().await?;
        for object in [release::worker(external), release::trainer(external)] {
            kubectl.apply(&object.to_string()).await?;
        }
        kubectl.wait("condition=Ready", "vmnode/pool").await?;
        kubectl.wait("jsonpath={.status.phase}=Running", "vmtrain/house").await?;

        let operator = pod_address(platform, NAMESPACE, "app.kubernetes.io/component=operator").await?;
        let controller = pod_address(platform, NAMESPACE, "app.kubernetes.io/component=controller").await?;
        let worker = pod_address(platform, NAMESPACE, "app.kubernetes.io/name=vmafx-node").await?;
        let trainer = pod_address(platform, NAMESPACE, "app.kubernetes.io/name=vmafx-trainer").await?;
        let mut pods: BTreeMap<_, _> = [
            (Source::Operator, &operator),
            (Source::Controller, &controller),
            (Source::Worker, &worker),
            (Source::Trainer, &trainer),
        ]
        .map(|(from, pod)| (from, pod.address.clone()))
        .into();
        for (from, namespace, name) in [
            (Source::Scraper, MONITORING, "scraper"),
            (Source::Client, CLIENTS, "client"),
            (Source::Neighbour, NAMESPACE, "neighbour"),
            (Source::Stranger, ELSEWHERE, "stranger"),
        ] {
            pods.insert(from, pod_address(platform, namespace, &format!("app={name}")).await?.address);
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
        let server = pod_address(platform, ELSEWHERE, "app=server").await?;
        let node = database.split(':').next().unwrap_or_default();
        let addresses = [
            (Target::Grpc, format!("{queue}:9090")),
            (Target::Http, format!("{queue}:8080")),
            (Target::Metrics, format!("{}:8081", operator.address)),
            (Target::Webhook, format!("{}:443", service(NAMESPACE, "vmafx-operator-webhook").await?)),
            (Target::Worker, format!("{}:9090", worker.address)),
            (Target::Trainer, format!("{}:9091", trainer.address)),
            (Target::ApiServer, format!("{}:443", service("default", "kubernetes").await?)),
            (Target::Dns, format!("{node}:53")),
            (Target::Registry, external.registry().to_owned()),
            (Target::Elsewhere, format!("{}:8080", server.address)),
            (Target::Database, database.clone()),
        ];
        let dial = Dialer::new(platform.cluster(), &pods, addresses.into()).await?;
        // The controller serves its page with TLS.
        let controller = format!("https:{}", controller.name);
        let pages = [(operator.name, 8081), (controller, 8080), (worker.name, 9090), (trainer.name, 9091)];
        let workers = [pods[&Source::Worker].clone(), pods[&Source::Trainer].clone()];
        Ok(Self { platform, database, workers, dial, metrics_pages: pages.into() })
    }

    /// Pods with metrics, as a proxy path of the API server names them, and the ports of their metrics pages.
    pub(super) fn metrics_pages(&self) -> &[(String, u16)] {
        &self.metrics_pages
    }

    /// Exactly the connections in the table succeed. Returns the result as a table.
    pub(super) async fn verify_policies(&self) -> Result<String> {
        self.expect_connectivity(allowed).await
    }

    /// Without policies, every connection succeeds.
    pub(super) async fn verify_open_without_policies(&self) -> Result<String> {
        let values = values(self.platform, self.platform.external_services().await?, &self.database, false)?;
        self.platform.helm().upgrade(RELEASE, NAMESPACE, &values).await?;
        self.expect_connectivity(|from, to| allowed(from, to).map(|_| true)).await
    }

    /// Scores a job whose clips are in the object store, which the policies let workers reach.
    pub(super) async fn score_from_s3(&self) -> Result<()> {
        let (external, clips) = (self.platform.external_services().await?, self.platform.clips());
        for clip in Clips::GOLDEN {
            external.s3().put(BUCKET, clip, &tokio::fs::read(clips.host_path(clip)).await?)?;
        }
        let mut spec = Clips::job(Clips::GOLDEN);
        for (field, clip) in ["reference", "distorted"].into_iter().zip(Clips::GOLDEN) {
            spec[field] = format!("s3://{BUCKET}/{clip}").into();
        }
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "first" }, "spec": spec,
        });
        let kubectl = self.platform.kubectl().namespaced(NAMESPACE);
        kubectl.apply(&job.to_string()).await?;
        kubectl.wait("condition=Complete", "vmjob/first").await?;
        let job = kubectl.get(&["vmjob", "first"]).await?;
        let expected = clips.score(Clips::GOLDEN).await?;
        ensure!(
            job["status"]["score"].as_f64() == Some(expected),
            "the score is not {expected}: {}",
            job["status"]
        );
        Ok(())
    }

    /// Removing any single rule or peer breaks a permitted connection.
    pub(super) async fn verify_every_rule_is_needed(&self) -> Result<usize> {
        let policies = Api::<NetworkPolicy>::namespaced(self.platform.client(), NAMESPACE);
        let open = |from, to| allowed(from, to) == Some(true);
        let (mut count, mut unneeded) = (0, Vec::new());
        for policy in policies.list(&ListParams::default()).await?.items {
            let name = policy.metadata.name.unwrap_or_default();
            let spec = serde_json::to_value(&policy.spec)?;
            let set = async |spec: &Value| {
                let change = Patch::Merge(json!({ "spec": spec }));
                policies.patch(&name, &PatchParams::default(), &change).await
            };
            for reduced in reduced_policies(&spec) {
                set(&reduced.spec).await?;
                let (_, broken) = self.probe(open, |broken| !broken.is_empty(), allowed).await?;
                set(&spec).await?;
                if broken.is_empty() {
                    unneeded.push(format!("{name}: {}", reduced.what));
                }
                let (_, broken) = self.probe(open, Vec::is_empty, allowed).await?;
                ensure!(broken.is_empty(), "with all rules restored: {}", broken.join(", "));
                count += 1;
            }
        }
        ensure!(count > 15, "only {count} rules");
        ensure!(unneeded.is_empty(), "these rules are not needed:\n{}", unneeded.join("\n"));
        Ok(count)
    }

    async fn expect_connectivity(&self, expected: impl Fn(Source, Target) -> Option<bool>) -> Result<String> {
        let (connectivity, mismatches) =
            self.probe(|from, to| expected(from, to).is_some(), Vec::is_empty, &expected).await?;
        if !mismatches.is_empty() {
            bail!("{}\n{}", mismatches.join("\n"), render(&connectivity));
        }
        Ok(render(&connectivity))
    }

    /// Tries the `wanted` connections until the mismatches are `settled`, at most [`TRIES`] times.
    async fn probe(
        &self,
        wanted: impl Fn(Source, Target) -> bool,
        settled: impl Fn(&Vec<String>) -> bool,
        expected: impl Fn(Source, Target) -> Option<bool>,
    ) -> Result<(Connectivity, Vec<String>)> {
        let mut tries = 1;
        loop {
            let connectivity = self.dial.all(self.platform.cluster(), &wanted).await?;
            let found = mismatches(&connectivity, &expected);
            if settled(&found) || tries == TRIES {
                return Ok((connectivity, found));
            }
            tries += 1;
        }
    }
}

async fn pod_address(platform: &Platform, namespace: &str, selector: &str) -> Result<PodAddress> {
    let kubectl = platform.kubectl().namespaced(namespace);
    let selector = format!("--selector={selector}");
    kubectl.run(&["wait", "--for=condition=Ready", "pod", &selector, "--timeout=180s"]).await?;
    let pods = kubectl.get(&["pods", &selector, "--field-selector=status.phase=Running"]).await?;
    let pod = &pods["items"][0];
    let text =
        |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("no Pod with {selector}"));
    Ok(PodAddress { name: text(&pod["metadata"]["name"])?, address: text(&pod["status"]["podIP"])? })
}
