//! The operator's generated role is sufficient, and none of its permissions is unused.

use std::fs;
use std::time::SystemTime;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use rustix::process::Signal;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining};
use vmafx_kit::tls::ClientCertificate;
use vmafx_operator::controller_tls::args::{CA_SECRET, CERT_SECRET};
use vmafx_operator::controller_tls::{CA_CONFIG_MAP, CLIENT_SECRET};
use vmafx_operator::webhook::args::SECRET;
use vmafx_testkit::kube::TestCluster;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::audit::{AuditLog, never_used};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{DesiredNode, FaultFixture, SYSTEM, Scenario, SharedControlPlane, account_with, grants};

/// Required by the admission plugin `OwnerReferencesPermissionEnforcement`, which is enabled here, not by a request.
const GUARDED: [&str; 3] =
    ["vmafxjobs/finalizers", "vmafxmodeltrainings/finalizers", "vmafxnodes/finalizers"];

#[tokio::test]
async fn no_request_is_denied_and_no_permission_is_unused() {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let port = vmafx_testkit::ports::free_address().unwrap().port().to_string();
    let mut fixture = FaultFixture::new(&[
        ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
        ("VMAFX_OPERATOR_WEBHOOK_HOST", "127.0.0.1"),
        ("VMAFX_OPERATOR_WEBHOOK_PORT", &port),
        ("VMAFX_OPERATOR_SCORING_ROOTS", "/media"),
        ("VMAFX_CONTROLLER_TENANT_PER_NAMESPACE", "true"),
        ("VMAFX_CONTROLLER_TLS", "true"),
        ("VMAFX_OPERATOR_CONTROLLER_CERT_SECRET", CERT_SECRET),
        ("VMAFX_OPERATOR_CLIENT_CERTS", "issue"),
    ])
    .await;
    // The certificate authorities are generated if there are none, and again if the stored ones are invalid; then the
    // controller's certificate is replaced too.
    let secrets = Api::<Secret>::namespaced(fixture.client(), SYSTEM);
    let exists = async || secrets.get_opt(CERT_SECRET).await.unwrap().is_some();
    wait::until(TIMEOUT, "the controller's certificate", exists).await.unwrap();
    let invalid = Patch::Merge(json!({"stringData": {"tls.crt": "invalid"}}));
    for secret in [SECRET, CA_SECRET] {
        secrets.patch(secret, &PatchParams::default(), &invalid).await.unwrap();
    }
    let config_maps = Api::<ConfigMap>::namespaced(fixture.client(), SYSTEM);
    let bundle = async || {
        let config_map = config_maps.get_opt(CA_CONFIG_MAP).await.unwrap();
        config_map.and_then(|config_map| config_map.data).and_then(|mut data| data.remove("ca.crt"))
    };
    let first = bundle().await;
    assert!(first.is_some(), "the certificate was stored before its authority was published");
    fixture.operator.signal(Signal::TERM);
    fixture.operator.ended().await;
    fixture.restart().await;
    let log =
        || AuditLog::of(&SharedControlPlane::shared().control_plane).unwrap().by(&fixture.account.user());
    let run = async |scenario: Scenario| {
        let name = format!("{scenario:?}").to_lowercase();
        scenario.arrange(&fixture, &name).await;
        let before = fixture.uid_of(&name).await;
        scenario.begin(&fixture, &name).await;
        scenario.end(&fixture, &name, before.as_deref()).await;
    };
    join_all(Scenario::ALL.map(run)).await;
    wait::until(TIMEOUT, "the new authority to be published", async || bundle().await != first)
        .await
        .unwrap();
    tokio::join!(life_of_a_job(&fixture), train(&fixture), review(&port));
    mounts_its_certificate(&fixture).await;
    for purpose in ["webhook-server", "webhook-authorities", "controller-authorities"] {
        let labels = format!("purpose=\"{purpose}\"");
        fixture.operator.until_metric("vmafx_tls_certificate_not_after_seconds", &labels, now).await;
    }

    let log = log();
    let denied: Vec<_> =
        log.denied().into_iter().map(|event| format!("{} {}", event.verb, event.uri)).collect();
    assert_eq!(denied, Vec::<String>::new());
    let rules: Vec<PolicyRule> = grants().iter().flat_map(|grant| grant.rules().to_vec()).collect();
    let unused: Vec<_> = never_used(&rules, &log.0).iter().map(ToString::to_string).collect();
    let guarded = GUARDED.map(|enforced| format!("update {enforced}.vmafx.dev"));
    assert_eq!(unused, guarded);
}

/// Every Pod mounts the Secret with a certificate for its namespace, which exists.
async fn mounts_its_certificate(fixture: &FaultFixture) {
    let namespace = fixture.namespace.name();
    let secret = Api::<Secret>::namespaced(fixture.client(), namespace).get(CLIENT_SECRET).await.unwrap();
    let pem = &secret.data.unwrap()["tls.crt"].0;
    let certificate = ClientCertificate::parse(&CertificateDer::from_pem_slice(pem).unwrap());
    assert_eq!(certificate.namespace.as_deref(), Some(namespace));
    let sets = Api::<StatefulSet>::namespaced(fixture.client(), namespace).list(&ListParams::default()).await;
    let sets = sets.unwrap().items;
    assert!(sets.len() > 1, "{}", sets.len());
    for set in sets {
        let pod = set.spec.unwrap().template.spec.unwrap();
        let projected = pod.volumes.iter().flatten().filter_map(|volume| volume.projected.as_ref());
        let sources = projected.flat_map(|projected| projected.sources.iter().flatten());
        let mounted = sources.filter_map(|source| source.secret.as_ref());
        let mounted: Vec<_> = mounted.map(|secret| (secret.name.as_str(), secret.optional)).collect();
        assert_eq!(mounted, [(CLIENT_SECRET, None)]);
        let variables = pod.containers[0].env.iter().flatten().map(|variable| variable.name.as_str());
        let own: Vec<_> = variables.filter(|name| name.starts_with("VMAFX_CONTROLLER_CERT_")).collect();
        assert_eq!(own, ["VMAFX_CONTROLLER_CERT_FILE"]);
    }
}

/// Sends the webhook what the API server sends when a user creates a VmafxNode.
async fn review(port: &str) {
    let node = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": {"name": "a"}, "spec": {"gpuVendor": "cpu"} });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": "CREATE", "name": "a", "namespace": SYSTEM, "userInfo": {"username": "alice"},
            "kind": {"group": "vmafx.dev", "version": "v1", "kind": "VmafxNode"},
            "resource": {"group": "vmafx.dev", "version": "v1", "resource": "vmafxnodes"},
            "object": node,
        },
    });
    let client = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build().unwrap();
    let url = format!("https://127.0.0.1:{port}/validate-vmafx-dev-v1-vmafxnode");
    let answer = client.post(url).body(review.to_string()).send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(message.contains("\"alice\" may not create Pods"), "{message}");
}

/// Creates a training run and waits for its trainer.
async fn train(fixture: &FaultFixture) {
    let run = serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": {"name": "a"},
        "spec": {"baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "r.test/m",
                 "image": "registry.test/vmafx-trainer:1"},
    }));
    let runs = Api::<VmafxModelTraining>::namespaced(fixture.client(), fixture.namespace.name());
    runs.create(&PostParams::default(), &run.unwrap()).await.unwrap();
    wait::until(TIMEOUT, "a trainer", async || {
        runs.get("a").await.is_ok_and(|run| run.status.is_some_and(|status| status.stateful_set.is_some()))
    })
    .await
    .unwrap();
}

/// A job in a Pod of its own: created, suspended, resumed, cancelled, and deleted after its time to live.
async fn life_of_a_job(fixture: &FaultFixture) {
    let jobs = Api::<VmafxJob>::namespaced(fixture.client(), fixture.namespace.name());
    let job = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": {"name": "job"},
        "spec": {"reference": "file:///media/r.y4m", "distorted": "file:///media/d.y4m", "execution": "Pod", "ttlSecondsAfterFinished": 0},
    });
    jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let has_reason = |job: &VmafxJob, reason: &str| {
        job.status.iter().flat_map(|status| &status.conditions).any(|one| one.reason == reason)
    };
    let until = async |reason: &str| {
        wait::until(TIMEOUT, reason, async || {
            jobs.get("job").await.is_ok_and(|job| has_reason(&job, reason))
        })
        .await
        .unwrap();
    };
    until("JobCreated").await;
    let spec = async |spec: Value| {
        let patch = Patch::Merge(json!({"spec": spec}));
        jobs.patch("job", &PatchParams::default(), &patch).await.unwrap();
    };
    spec(json!({"suspend": true})).await;
    until("Suspended").await;
    spec(json!({"suspend": false})).await;
    until("JobCreated").await;
    spec(json!({"cancel": true})).await;
    wait::until(TIMEOUT, "the job to be removed", async || jobs.get_opt("job").await.unwrap().is_none())
        .await
        .unwrap();
}

fn authority() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.self_signed(&key).unwrap().pem()
}

#[tokio::test]
async fn one_operator_per_kind_runs_under_its_own_role() {
    // The first operator of the fixture stops, so that only the three others reconcile.
    let mut fixture = FaultFixture::new(&[]).await;
    fixture.operator.kill();
    let plane = &SharedControlPlane::shared().control_plane;
    let mut operators = Vec::new();
    // Without an operator that issues the controller's certificate, the authorities come from a file.
    let directory = tempfile::tempdir().unwrap();
    let ca_file = directory.path().join("ca.crt");
    let authorities = authority();
    fs::write(&ca_file, &authorities).unwrap();
    for (kind, role) in [
        ("job", "role_vmafxjob.yaml"),
        ("node", "role_vmafxnode.yaml"),
        ("training", "role_vmafxmodeltraining.yaml"),
    ] {
        let account = account_with(plane, &format!("operator-{kind}"), role).await;
        let settings = [
            ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
            ("VMAFX_OPERATOR_CONTROLLERS", kind),
            ("VMAFX_OPERATOR_SCORING_ROOTS", "/media"),
            ("VMAFX_CONTROLLER_TLS", "true"),
            ("VMAFX_CONTROLLER_CA_FILE", ca_file.to_str().unwrap()),
        ];
        let mut operator = fixture.operator_as(kind, &account, &settings);
        operator.ready().await;
        operators.push((account, operator));
    }
    fixture.create("a").await;
    tokio::join!(fixture.settled("a", DesiredNode::default()), life_of_a_job(&fixture), train(&fixture));
    let config_maps = Api::<ConfigMap>::namespaced(fixture.client(), fixture.namespace.name());
    let published = config_maps.get(CA_CONFIG_MAP).await.unwrap().data.unwrap();
    assert_eq!(published["ca.crt"], authorities);
    for (account, _) in &operators {
        let log = AuditLog::of(plane).unwrap().by(&account.user());
        assert!(!log.0.is_empty(), "{} did nothing", account.user());
        let denied: Vec<_> =
            (log.denied().into_iter()).map(|event| format!("{} {}", event.verb, event.uri)).collect();
        assert_eq!(denied, Vec::<String>::new(), "{}", account.user());
    }
}

#[tokio::test]
async fn without_the_finalizers_permission_no_object_can_be_owned() {
    let fixture = FaultFixture::new(&[]).await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    let owner = fixture.nodes().get("a").await.unwrap();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "owned", "ownerReferences": [{
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "name": "a", "uid": owner.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]},
        "spec": {"ports": [{"port": 80}]},
    });
    for (name, enforced, allowed) in [("with", true, true), ("without", false, false)] {
        let account =
            TestServiceAccount::create(fixture.namespace.cluster(), SYSTEM, name, &named(name, enforced))
                .await
                .unwrap();
        let path = tempfile::tempdir().unwrap();
        let path = path.path().join("kubeconfig");
        account
            .write_kubeconfig(&path, &fixture.namespace.cluster().config().cluster_url.to_string())
            .unwrap();
        let client = TestCluster::from_kubeconfig(&path).await.unwrap().client().unwrap();
        let services = Api::<Service>::namespaced(client, fixture.namespace.name());
        let made = services.patch("owned", &PatchParams::apply(name).force(), &Patch::Apply(&service)).await;
        assert_eq!(made.is_ok(), allowed, "{name}: {made:?}");
        if allowed {
            fixture.services().delete("owned", &DeleteParams::default()).await.unwrap();
        }
    }
}

/// The operator's role under another name, with or without the permissions for finalizers.
fn named(name: &str, enforced: bool) -> Vec<Grant> {
    let keeps = |rule: &PolicyRule| {
        enforced
            || !rule
                .resources
                .as_ref()
                .is_some_and(|all| all.iter().any(|one| GUARDED.contains(&one.as_str())))
    };
    let roles = grants().into_iter().filter_map(|grant| match grant {
        Grant::Cluster(mut role) => {
            role.metadata.name = Some(format!("operator-{name}"));
            role.rules.iter_mut().for_each(|rules| rules.retain(keeps));
            Some(Grant::Cluster(role))
        }
        _ => None,
    });
    roles.collect()
}
