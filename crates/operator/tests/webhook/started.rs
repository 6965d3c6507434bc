//! The webhook as the operator starts it.

use std::path::Path;

use clap::Parser;
use kube::api::{Patch, PatchParams};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use vmafx_kit::config::GoDuration;
use vmafx_kit::health::Readiness;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::tasks::{Shutdown, TaskSet};
use vmafx_kit::tls::CertificateMetrics;
use vmafx_operator::webhook::{self, WebhookArgs, WebhookParts};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::{ports, wait};

use crate::hook::{TIMEOUT, configurations, install, namespace, policy, wait_until_called};

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    webhook: WebhookArgs,
}

fn parts(ns: &TestNamespace, metrics: &mut Metrics) -> WebhookParts {
    WebhookParts {
        templates: policy(ns.name()),
        client: ns.client(),
        certificates: CertificateMetrics::new(metrics),
    }
}

/// Runs the webhook with these arguments while `test` runs.
async fn running(ns: &TestNamespace, args: &[String], test: impl AsyncFnOnce(&Readiness)) {
    let shutdown = Shutdown::new();
    let readiness = Readiness::new(shutdown.clone());
    let mut tasks = TaskSet::new(shutdown.clone());
    let args = Settings::parse_from([&["t".to_owned()], args].concat()).webhook;
    let mut metrics = Metrics::new("test");
    webhook::start(&args, parts(ns, &mut metrics), &readiness, &mut metrics, &mut tasks).await.unwrap();
    // `TaskSet::run` needs a service to wait for: without the rotator there are only support tasks.
    tasks.service("test", {
        let shutdown = shutdown.clone();
        async move {
            shutdown.begun().await;
            Ok::<_, std::convert::Infallible>(())
        }
    });
    let tested = async {
        test(&readiness).await;
        shutdown.begin();
    };
    let budget: GoDuration = "10s".parse().unwrap();
    let (ran, ()) = tokio::join!(tasks.run(futures::stream::pending(), budget), tested);
    ran.unwrap();
    assert!(metrics.encode().unwrap().contains("vmafx_operator_admissions_total"));
}

#[tokio::test]
async fn readiness_names_the_missing_configuration_and_opens_when_it_exists() {
    let (ns, port) = (namespace("started").await, ports::free_address().unwrap().port());
    let args = [
        format!("--webhook-port={port}"),
        "--webhook-host=127.0.0.1".into(),
        "--webhook-names=127.0.0.1".into(),
        format!("--webhook-configuration={}", ns.name()),
    ];
    running(&ns, &args, async |readiness| {
        let reason = format!("ValidatingWebhookConfiguration {} does not exist: install it", ns.name());
        wait::until(TIMEOUT, "the reason", || async {
            let missing = readiness.missing();
            if missing == [("webhook", reason.clone())] { Ok(()) } else { Err(format!("{missing:?}")) }
        })
        .await
        .unwrap();
        install(&ns, &format!("https://127.0.0.1:{port}"), None).await;
        readiness.ready().await;
        wait_until_called(&ns).await;
    })
    .await;
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes a certificate and its key, as a mounted Secret contains them.
    fn mount(&self, directory: &Path) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        std::fs::write(directory.join("tls.crt"), cert.pem()).unwrap();
        std::fs::write(directory.join("tls.key"), key.serialize_pem()).unwrap();
    }
}

#[tokio::test]
async fn mounted_files_are_used_and_read_again_when_they_change() {
    let (ns, port) = (namespace("files").await, ports::free_address().unwrap().port());
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (Authority::new(), Authority::new());
    first.mount(directory.path());
    let args = [
        format!("--webhook-port={port}"),
        "--webhook-host=127.0.0.1".into(),
        format!("--webhook-cert-file={}", directory.path().join("tls.crt").display()),
        format!("--webhook-key-file={}", directory.path().join("tls.key").display()),
    ];
    running(&ns, &args, async |readiness| {
        assert_eq!(readiness.missing(), []);
        install(&ns, &format!("https://127.0.0.1:{port}"), Some(&first.0.pem())).await;
        wait_until_called(&ns).await;

        second.mount(directory.path());
        let api = configurations(&ns);
        let bundle = k8s_openapi::ByteString(second.0.pem().into_bytes());
        let webhooks = ["vmafxjob", "vmafxnode", "vmafxmodeltraining"].map(
            |kind| json!({ "name": format!("{kind}.vmafx.dev"), "clientConfig": { "caBundle": bundle } }),
        );
        let body = json!({ "webhooks": webhooks });
        api.patch(ns.name(), &PatchParams::default(), &Patch::Strategic(body)).await.unwrap();
        wait_until_called(&ns).await;
    })
    .await;
}

#[tokio::test]
async fn without_a_port_there_is_no_webhook() {
    let ns = namespace("off").await;
    let shutdown = Shutdown::new();
    let readiness = Readiness::new(shutdown.clone());
    let mut tasks = TaskSet::new(shutdown);
    let args = Settings::parse_from(["t"]).webhook;
    let mut metrics = Metrics::new("test");
    webhook::start(&args, parts(&ns, &mut metrics), &readiness, &mut metrics, &mut tasks).await.unwrap();
    tasks.run(futures::stream::pending(), "1s".parse().unwrap()).await.unwrap();
    assert!(!metrics.encode().unwrap().contains("admissions"));
}
