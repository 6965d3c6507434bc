//! A webhook that the shared API server calls for one namespace.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderValue;
use axum::response::Response;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::PostParams;
use kube::core::Status;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use vmafx_api::VmafxJob;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{HttpOptions, serve_with};
use vmafx_kit::tasks::Shutdown;
use vmafx_kit::tls::ServerTls;
use vmafx_operator::template_policy::{AccountNames, ReleaseNames, TemplatePolicy, TemplateScope};
use vmafx_operator::webhook::access::AccessReviewer;
use vmafx_operator::webhook::clock::{SkewedTime, WebhookClock};
use vmafx_operator::webhook::configuration::{WebhookEndpoint, configuration};
use vmafx_operator::webhook::review::Reviewer;
use vmafx_operator::webhook::rotate::{CertificateRotator, WebhookNames};
use vmafx_operator::webhook::server::{self, AdmissionMetrics};
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::{ControlPlane, TestCluster, TestNamespace, install_crds};
use vmafx_testkit::wait;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A new namespace on a control plane with the project's CRDs.
pub(crate) async fn namespace(prefix: &str) -> TestNamespace {
    let cluster = ControlPlane::shared().await.unwrap();
    install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    cluster.namespace(prefix).await.unwrap()
}

/// A valid job, with these fields changed.
pub(crate) fn job(name: &str, over: &Value) -> VmafxJob {
    let mut job = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name },
        "spec": { "reference": "s3://bucket/ref.mp4", "distorted": "s3://bucket/dis.mp4" },
    });
    for (field, value) in over.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

/// A job that the CRD's schema accepts and the webhook refuses.
pub(crate) fn broken_job(name: &str) -> VmafxJob {
    job(name, &json!({ "reference": "file://data/ref.mp4" }))
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> Box<Status> {
    match result.unwrap_err() {
        kube::Error::Api(status) => status,
        other => panic!("{other}"),
    }
}

/// Makes the API server call `base` for objects of this namespace only.
pub(crate) async fn install(ns: &TestNamespace, base: &str, bundle: Option<&str>) {
    let namespaces = Api::<Namespace>::all(ns.client());
    let owner = namespaces.get(ns.name()).await.unwrap();
    let mut wanted = configuration(ns.name(), &WebhookEndpoint::Url(base.to_owned()), bundle);
    // Where a garbage collector runs, it deletes the configuration together with the namespace.
    wanted.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".into(),
        kind: "Namespace".into(),
        name: ns.name().to_owned(),
        uid: owner.metadata.uid.unwrap(),
        ..OwnerReference::default()
    }]);
    let labels: std::collections::BTreeMap<_, _> =
        [("kubernetes.io/metadata.name".to_owned(), ns.name().to_owned())].into();
    for webhook in wanted.webhooks.iter_mut().flatten() {
        webhook.namespace_selector =
            Some(LabelSelector { match_labels: Some(labels.clone()), ..LabelSelector::default() });
    }
    configurations(ns).create(&PostParams::default(), &wanted).await.unwrap();
}

pub(crate) fn configurations(ns: &TestNamespace) -> Api<ValidatingWebhookConfiguration> {
    Api::all(ns.client())
}

/// Waits until the API server calls the webhook and trusts its certificate.
pub(crate) async fn wait_until_called(ns: &TestNamespace) {
    let jobs = Api::<VmafxJob>::namespaced(ns.client(), ns.name());
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    wait::until(TIMEOUT, "the webhook to be called", || async {
        match jobs.create(&dry, &broken_job("probe")).await {
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
}

/// A clock that a test sets. Certificates are valid from 1970 on, because the API server's clock does not move with it.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::now())))
    }

    pub(crate) fn set(&self, time: Timestamp) {
        *self.0.lock().unwrap() = time;
    }

    pub(crate) fn advance(&self, time: SignedDuration) {
        *self.0.lock().unwrap() += time;
    }

    pub(crate) fn clock(&self) -> WebhookClock {
        let time = Arc::clone(&self.0);
        WebhookClock::new(move || {
            let time = *time.lock().unwrap();
            SkewedTime { time, skew: time.duration_since(Timestamp::UNIX_EPOCH) }
        })
    }
}

/// A webhook whose certificate the test rotates. The connection is closed after every response, so that every review
/// needs a TLS handshake.
pub(crate) struct Hook {
    pub(crate) ns: TestNamespace,
    pub(crate) rotator: CertificateRotator,
    pub(crate) clock: ManualClock,
    pub(crate) base: String,
    _serving: JoinSet<std::io::Result<()>>,
}

impl Hook {
    pub(crate) async fn new(prefix: &str) -> Self {
        let ns = namespace(prefix).await;
        let reviews = ns.client();
        Self::on(ns, reviews).await
    }

    /// One that the API server calls, and whose own calls it denies.
    pub(crate) async fn without_reviews(prefix: &str) -> Self {
        let ns = namespace(prefix).await;
        let account = TestServiceAccount::create(ns.cluster(), ns.name(), "nobody", &[]).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        let kubeconfig = files.path().join("kubeconfig");
        account.write_kubeconfig(&kubeconfig, &ns.cluster().config().cluster_url.to_string()).unwrap();
        let nobody = TestCluster::from_kubeconfig(&kubeconfig).await.unwrap().client().unwrap();
        Self::on(ns, nobody).await.called().await
    }

    async fn on(ns: TestNamespace, reviews: kube::Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("https://{}", listener.local_addr().unwrap());
        let tls = ServerTls::in_memory(&["http/1.1"]).unwrap();
        let close = |mut response: Response| async {
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            response
        };
        let reviewer = Reviewer { templates: policy(ns.name()), access: AccessReviewer::new(reviews) };
        let router = server::router(AdmissionMetrics::new(&mut Metrics::new("test")), reviewer);
        let router = router.layer(axum::middleware::map_response(close));
        let options = HttpOptions { tls: Some(tls.clone()), ..HttpOptions::default() };
        let mut serving = JoinSet::new();
        serving.spawn(serve_with(listener, router, options, Shutdown::new()));
        let clock = ManualClock::new();
        let rotator = rotator(&ns, &clock, tls);
        Self { ns, rotator, clock, base, _serving: serving }
    }

    /// A webhook that the API server already calls and trusts.
    pub(crate) async fn installed(prefix: &str) -> Self {
        Self::new(prefix).await.called().await
    }

    async fn called(mut self) -> Self {
        install(&self.ns, &self.base, None).await;
        self.rotator.refresh().await.unwrap();
        wait_until_called(&self.ns).await;
        self
    }

    pub(crate) fn jobs(&self) -> Api<VmafxJob> {
        Api::namespaced(self.ns.client(), self.ns.name())
    }
}

/// The policy of an operator that runs in this namespace.
pub(crate) fn policy(namespace: &str) -> TemplatePolicy {
    TemplatePolicy {
        scope: TemplateScope::Any,
        accounts: AccountNames {
            worker: "vmafx-worker".to_owned(),
            trainer: "vmafx-trainer".to_owned(),
            job: "vmafx-job".to_owned(),
        },
        release: ReleaseNames {
            namespace: namespace.to_owned(),
            accounts: vec!["vmafx-operator".to_owned()],
            secrets: vec!["database".to_owned()],
            claims: Vec::new(),
        },
        audience: "vmafx-controller".to_owned(),
    }
}

pub(crate) fn rotator(ns: &TestNamespace, clock: &ManualClock, tls: ServerTls) -> CertificateRotator {
    rotator_as(ns.client(), ns, clock, tls)
}

/// A rotator with this client, which may have fewer permissions than the namespace's own.
pub(crate) fn rotator_as(
    client: kube::Client,
    ns: &TestNamespace,
    clock: &ManualClock,
    tls: ServerTls,
) -> CertificateRotator {
    let names = WebhookNames {
        secret: "webhook-ca".into(),
        configuration: ns.name().to_owned(),
        hosts: vec!["127.0.0.1".into(), "localhost".into()],
    };
    CertificateRotator::new(client, ns.name(), names, clock.clock(), tls)
}
