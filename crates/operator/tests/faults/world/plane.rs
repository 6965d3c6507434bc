//! The control plane that most tests share.

use std::fmt::Debug;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use vmafx_api::{VmafxModelTraining, VmafxNode};
use vmafx_operator::rbac;
use vmafx_operator::webhook::args::CONFIGURATION;
use vmafx_operator::webhook::configuration::{WebhookEndpoint, configuration};
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::{AuditLevel, ControlPlane, ControlPlaneOptions, TestCluster, install_crds};
use vmafx_testkit::wait;

use crate::SOON;

/// Where the operator lives.
pub(crate) const SYSTEM: &str = "vmafx-system";

/// A control plane with our definitions, and the operator's account.
pub(crate) struct Plane {
    pub(crate) control_plane: ControlPlane,
    pub(crate) account: TestServiceAccount,
}

static PLANE: OnceCell<Plane> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// The shared control plane, for one test at a time.
pub(crate) struct Exclusive(
    #[expect(dead_code, reason = "others wait while it is held")] MutexGuard<'static, ()>,
);

impl Plane {
    /// Waits for its turn; what tests before have left is gone then.
    pub(crate) async fn exclusive() -> Exclusive {
        let turn = TURN.lock().await;
        let plane = PLANE.get_or_init(Self::start).await;
        clear(&plane.control_plane).await;
        Exclusive(turn)
    }

    /// For the test whose turn it is.
    pub(crate) fn shared() -> &'static Self {
        PLANE.get().unwrap()
    }

    /// With everything that can be refused being refused, and everything that is asked written down.
    async fn start() -> Self {
        let options = ControlPlaneOptions {
            controller_manager: true,
            audit: AuditLevel::Metadata,
            api_server_args: vec![
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
            ],
        };
        let control_plane = ControlPlane::start(options).await.unwrap();
        install_crds(&control_plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let account = account(&control_plane).await;
        webhook(&control_plane).await;
        Self { control_plane, account }
    }
}

/// What an operator with webhooks looks for. It is asked about the operator's own namespace alone, where nothing is made.
async fn webhook(cluster: &TestCluster) {
    let mut wanted =
        configuration(CONFIGURATION, &WebhookEndpoint::Url("https://127.0.0.1:1".to_owned()), None);
    let here = [("kubernetes.io/metadata.name".to_owned(), SYSTEM.to_owned())].into();
    let selector = LabelSelector { match_labels: Some(here), ..LabelSelector::default() };
    for webhook in wanted.webhooks.iter_mut().flatten() {
        webhook.namespace_selector = Some(selector.clone());
    }
    let configurations = Api::<ValidatingWebhookConfiguration>::all(cluster.client().unwrap());
    configurations.create(&PostParams::default(), &wanted).await.unwrap();
}

/// The operator's account, which may do exactly what the operator's role says.
pub(crate) async fn account(cluster: &TestCluster) -> TestServiceAccount {
    let metadata = ObjectMeta { name: Some(SYSTEM.to_owned()), ..ObjectMeta::default() };
    let namespaces = Api::<Namespace>::all(cluster.client().unwrap());
    let namespace = Namespace { metadata, ..Namespace::default() };
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        other => drop(other.unwrap()),
    }
    TestServiceAccount::create(cluster, SYSTEM, "vmafx-operator", &grants()).await.unwrap()
}

/// The role as `make manifests` writes it.
pub(crate) fn grants() -> Vec<Grant> {
    let files = rbac::files();
    let role = files.iter().find(|file| file.name == "role.yaml").unwrap();
    let documents: Vec<_> = role.objects.iter().map(ToString::to_string).collect();
    Grant::from_yaml(&documents.join("\n---\n")).unwrap()
}

async fn clear(cluster: &TestCluster) {
    clear_all::<VmafxNode>(cluster).await;
    clear_all::<VmafxModelTraining>(cluster).await;
}

async fn clear_all<K>(cluster: &TestCluster)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let client = cluster.client().unwrap();
    let all = Api::<K>::all(client.clone());
    for one in all.list(&ListParams::default()).await.unwrap() {
        let there = Api::<K>::namespaced(client.clone(), &one.namespace().unwrap());
        let _ = there.delete(&one.name_any(), &DeleteParams::background()).await;
    }
    wait::until(SOON, "the resources of other tests to be gone", async || {
        all.list(&ListParams::default()).await.is_ok_and(|list| list.items.is_empty())
    })
    .await
    .unwrap();
}
