//! Each namespace as a tenant, with the tokens of real ServiceAccounts: jobs, clips and workers of one namespace are out of
//! reach for another.

use std::fs;
use std::time::Duration;

use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::{Code, Request};
use vmafx_api::{ConditionStatus, VmafxJob, VmafxTenant};
use vmafx_proto::NAMESPACE_HEADER;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::agent::Agent;
use crate::control_plane::account;
use crate::controller::{Client, Controller};
use crate::harness::{Harness, message, uid};
use crate::resources;

/// Long enough for a job that is there to be delivered.
const PULL: Duration = Duration::from_secs(1);

/// The name under which the controller writes the status of a VmafxNode.
pub(crate) const CLUSTER: &str = "here";

/// Two namespaces. Fields are dropped in order.
pub(crate) struct Tenants {
    /// Its namespace is the first one.
    pub(crate) harness: Harness,
    pub(crate) neighbour: TestNamespace,
    _files: TempDir,
}

impl Tenants {
    /// Each namespace is a tenant of its own.
    pub(crate) async fn start() -> Self {
        let roots = ("VMAFX_SCORING_ROOTS", "/clips/{namespace}");
        Box::pin(Self::with(&[("VMAFX_AUTH_DEFAULT_TENANT", "{namespace}"), roots])).await
    }

    /// Both namespaces are one tenant, and no other namespace has one.
    async fn declared() -> Self {
        let settings = [
            ("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"),
            ("VMAFX_AUTH_TENANTS_REFRESH", "1s"),
            ("POD_NAMESPACE", "default"),
            ("VMAFX_SCORING_ROOTS", ""),
        ];
        let tenants = Box::pin(Self::with(&settings)).await;
        let namespaces = [tenants.harness.namespace.name(), tenants.neighbour.name()];
        let studio = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxTenant", "metadata": { "name": "studio" },
            "spec": {
                "tenantId": "studio", "namespaces": namespaces, "scoring": { "roots": ["/clips/{namespace}"] },
            },
        });
        let api: Api<VmafxTenant> = Api::namespaced(tenants.neighbour.client(), "default");
        api.create(&PostParams::default(), &serde_json::from_value(studio).unwrap()).await.unwrap();
        wait::until(TIMEOUT, "the tenant to be in force", || async {
            let status = api.get("studio").await.unwrap().status.unwrap_or_default();
            status.conditions.iter().any(|ready| ready.status == ConditionStatus::True)
        })
        .await
        .unwrap();
        tenants
    }

    async fn with(settings: &[(&str, &str)]) -> Self {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
        install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let operator = account(&plane).await;
        let files = tempfile::tempdir().unwrap();
        let (ca, token) = (files.path().join("ca.crt"), files.path().join("token"));
        fs::write(&ca, operator.authority_pem()).unwrap();
        fs::write(&token, operator.token()).unwrap();
        let keys = format!("{}/openid/v1/jwks", plane.config().cluster_url.to_string().trim_end_matches('/'));
        let subjects = format!(
            "{}=vmafx:writer,system:serviceaccount:*:worker=vmafx:node,system:serviceaccount:*:submitter=vmafx:writer",
            operator.user()
        );
        let kubeconfig = plane.kubeconfig_path().to_str().unwrap();
        let controller = Controller::with(|config| {
            config.envs(settings).envs(&[
                ("KUBECONFIG", kubeconfig),
                ("VMAFX_JWKS_ENDPOINT", &keys),
                ("VMAFX_JWKS_CA_FILE", ca.to_str().unwrap()),
                ("VMAFX_JWKS_TOKEN_FILE", token.to_str().unwrap()),
                ("VMAFX_AUTH_SUBJECTS", &subjects),
                ("VMAFX_AUTH_OPERATOR_SUBJECT", &operator.user()),
                ("VMAFX_NODE_STATUS", "true"),
                ("VMAFX_CLUSTER", CLUSTER),
            ])
        })
        .await;
        let address = controller.grpc();
        let settings =
            [("VMAFX_CONTROLLER_TOKEN", operator.token()), ("VMAFX_CONTROLLER_TENANT_PER_NAMESPACE", "true")];
        let harness = Harness::on(plane, controller, address, &settings).await;
        let neighbour = harness.plane.namespace("neighbour").await.unwrap();
        Self { harness, neighbour, _files: files }
    }

    /// A client with the token of a ServiceAccount.
    pub(crate) async fn client(&self, namespace: &TestNamespace, name: &str) -> Client {
        let account = TestServiceAccount::create(&self.harness.plane, namespace.name(), name, &[]).await;
        Client::new(self.harness.controller.channel(Some(account.unwrap().token())))
    }

    async fn worker(&self, namespace: &TestNamespace) -> Agent {
        // The same name in both namespaces: they are different nodes.
        Agent::register_with(self.client(namespace, "worker").await, "node-0").await
    }

    fn jobs(namespace: &TestNamespace) -> Api<VmafxJob> {
        Api::namespaced(namespace.client(), namespace.name())
    }

    pub(crate) async fn create(&self, namespace: &TestNamespace, name: &str, spec: Value) -> VmafxJob {
        let mut whole = clips(namespace.name());
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": whole,
        });
        let job = serde_json::from_value(job).unwrap();
        Self::jobs(namespace).create(&PostParams::default(), &job).await.unwrap()
    }

    async fn until_reason(
        &self,
        namespace: &TestNamespace,
        name: &str,
        type_: &str,
        reason: &str,
    ) -> VmafxJob {
        let what = format!("{type_} of {name} to be {reason}");
        let holds = |job: &VmafxJob| resources::reason(job, type_) == reason;
        resources::until(&Self::jobs(namespace), name, &what, holds).await
    }
}

fn clips(namespace: &str) -> Value {
    let clip = |name: &str| format!("file:///clips/{namespace}/{name}.y4m");
    json!({ "reference": clip("r"), "distorted": clip("d") })
}

fn submission(namespace: &str) -> wire::SubmitJobRequest {
    let clip = |name: &str| format!("file:///clips/{namespace}/{name}.y4m");
    let scoring =
        wire::ScoringParams { reference: clip("r"), distorted: clip("d"), ..wire::ScoringParams::default() };
    wire::SubmitJobRequest { scoring: Some(scoring), ..wire::SubmitJobRequest::default() }
}

fn score(job: &VmafxJob) -> Option<f64> {
    job.status.as_ref().and_then(|status| status.score)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gets_only_the_jobs_of_its_namespace() {
    let tenants = Tenants::start().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let (worker, neighbour) = (tenants.worker(first).await, tenants.worker(second).await);
    let wanted = uid(&tenants.create(first, "clip", json!({})).await);
    tenants.until_reason(first, "clip", "Accepted", "Submitted").await;
    assert_eq!(neighbour.try_pull(PULL).await, None);
    let job = worker.pull().await;
    assert_eq!(job.origin.as_ref().unwrap().uid, wanted);
    worker.score(&job, 90.0).await;
    let done = tenants.until_reason(first, "clip", "Complete", "Scored").await;
    assert_eq!(score(&done), Some(90.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn clips_of_another_namespace_are_refused() {
    let tenants = Tenants::start().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let stolen = json!({ "reference": clips(second.name())["reference"] });
    tenants.create(first, "reads", stolen).await;
    let job = tenants.until_reason(first, "reads", "Accepted", "InputRefused").await;
    assert!(message(&job).contains("outside the scoring roots of your tenant"), "{job:?}");
    let report = format!("file:///clips/{}/master.json", second.name());
    tenants.create(first, "overwrites", json!({ "reportURI": report })).await;
    let job = tenants.until_reason(first, "overwrites", "Accepted", "InputRefused").await;
    assert!(message(&job).contains("master.json"), "{job:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submitter_speaks_for_its_own_namespace_only() {
    let tenants = Tenants::start().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let (mut submitter, mut other) =
        (tenants.client(first, "submitter").await, tenants.client(second, "submitter").await);

    // The metadata by which the operator calls for a namespace.
    let mut request = Request::new(submission(second.name()));
    request.metadata_mut().insert(NAMESPACE_HEADER, second.name().parse().unwrap());
    let refused = submitter.submit_job(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");

    // The idempotency key of a neighbour leads to a job of its own.
    let key = |namespace: &str| wire::SubmitJobRequest {
        idempotency_key: "nightly-7".to_owned(),
        ..submission(namespace)
    };
    let ours = submitter.submit_job(key(first.name())).await.unwrap().into_inner();
    let theirs = other.submit_job(key(second.name())).await.unwrap().into_inner();
    assert!(!ours.deduplicated && !theirs.deduplicated);
    let get = wire::GetJobRequest { job_id: theirs.job_id };
    assert_eq!(submitter.get_job(get.clone()).await.unwrap_err().code(), Code::NotFound);
    let cancel = wire::CancelJobRequest { job_id: get.job_id, ..wire::CancelJobRequest::default() };
    assert_eq!(submitter.cancel_job(cancel).await.unwrap_err().code(), Code::NotFound);
}

/// A job whose origin is the resource of a neighbour would otherwise give that resource a score.
#[tokio::test(flavor = "multi_thread")]
async fn a_forged_origin_changes_no_resource() {
    let tenants = Tenants::start().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let (worker, neighbour) = (tenants.worker(first).await, tenants.worker(second).await);
    let victim = tenants.create(second, "clip", json!({})).await;
    tenants.until_reason(second, "clip", "Accepted", "Submitted").await;
    let theirs = neighbour.pull().await;
    // The forger's own resource makes the operator read the stream of its namespace.
    tenants.create(first, "own", json!({})).await;
    tenants.until_reason(first, "own", "Accepted", "Submitted").await;
    let own = worker.pull().await;
    assert_eq!(theirs.origin.as_ref().unwrap().uid, uid(&victim));

    let forged = wire::SubmitJobRequest { origin: theirs.origin.clone(), ..submission(first.name()) };
    let mut submitter = tenants.client(first, "submitter").await;
    submitter.submit_job(forged).await.unwrap();
    worker.score(&worker.pull().await, 1.0).await;
    // What follows on the same stream shows that the operator has received the forged score.
    worker.score(&own, 50.0).await;
    tenants.until_reason(first, "own", "Complete", "Scored").await;
    neighbour.score(&theirs, 90.0).await;
    let done = tenants.until_reason(second, "clip", "Complete", "Scored").await;
    assert_eq!(score(&done), Some(90.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_of_a_tenant_score_the_jobs_of_all_its_namespaces() {
    let tenants = Tenants::declared().await;
    let (first, second) = (&tenants.harness.namespace, &tenants.neighbour);
    let worker = tenants.worker(second).await;
    tenants.create(first, "clip", json!({})).await;
    worker.score(&worker.pull().await, 90.0).await;
    let done = tenants.until_reason(first, "clip", "Complete", "Scored").await;
    assert_eq!(score(&done), Some(90.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_of_a_namespace_whose_last_resource_is_gone_is_cancelled() {
    the_job_of_a_deleted_resource_is_cancelled(Tenants::start().await).await;
}

/// The sweep is denied the namespaces that have no tenant, such as `default`, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn namespaces_without_a_tenant_do_not_keep_the_sweep_from_the_others() {
    the_job_of_a_deleted_resource_is_cancelled(Tenants::declared().await).await;
}

async fn the_job_of_a_deleted_resource_is_cancelled(mut tenants: Tenants) {
    let submitter = tenants.client(&tenants.harness.namespace, "submitter").await;
    tenants.create(&tenants.harness.namespace, "clip", json!({})).await;
    tenants.until_reason(&tenants.harness.namespace, "clip", "Accepted", "Submitted").await;
    tenants.harness.operator.kill();
    tenants.harness.delete("clip").await;
    tenants.harness.restart_operator().await;
    wait::until(TIMEOUT, "the job to be cancelled", || async {
        let list = submitter.clone().list_jobs(wire::ListJobsRequest::default()).await;
        let jobs = list.unwrap().into_inner().jobs;
        let statuses: Vec<_> = jobs.iter().map(wire::Job::status).collect();
        if statuses == [wire::JobStatus::Cancelled] { Ok(()) } else { Err(format!("{statuses:?}")) }
    })
    .await
    .unwrap();
}
