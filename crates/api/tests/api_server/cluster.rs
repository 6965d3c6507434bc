//! The API server with the definitions installed, and valid objects to start from.

use kube::api::{Api, DynamicObject, PatchParams, PostParams};
use kube::core::{ApiResource, Status};
use kube::{Client, CustomResourceExt};
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode, VmafxTenant};
use vmafx_testkit::kube::{ControlPlane, TestNamespace, install_crds};

/// A new namespace on the shared API server, with the definitions installed.
pub(crate) async fn namespace(prefix: &str) -> TestNamespace {
    let cluster = ControlPlane::shared().await.unwrap();
    install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    cluster.namespace(prefix).await.unwrap()
}

/// One of the kinds, untyped, so that a test can send objects that the types do not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    Job,
    Node,
    Training,
    Tenant,
}

impl ResourceKind {
    pub(crate) const ALL: [Self; 4] = [Self::Job, Self::Node, Self::Training, Self::Tenant];

    pub(crate) fn resource(self) -> ApiResource {
        match self {
            Self::Job => VmafxJob::api_resource(),
            Self::Node => VmafxNode::api_resource(),
            Self::Training => VmafxModelTraining::api_resource(),
            Self::Tenant => VmafxTenant::api_resource(),
        }
    }

    /// The schema of the kind, as it is installed.
    pub(crate) fn schema(self) -> Value {
        let crd = match self {
            Self::Job => vmafx_api::crd::definition::<VmafxJob>(),
            Self::Node => vmafx_api::crd::definition::<VmafxNode>(),
            Self::Training => vmafx_api::crd::definition::<VmafxModelTraining>(),
            Self::Tenant => vmafx_api::crd::definition::<VmafxTenant>(),
        };
        serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap()
    }

    /// A valid object with every optional part that a rule checks.
    pub(crate) fn valid(self, name: &str) -> Value {
        let condition = json!([{
            "type": "Ready", "status": "True", "reason": "AsExpected", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }]);
        let (spec, status) = match self {
            Self::Job => (
                json!({
                    "reference": "s3://bucket/ref.mp4", "distorted": "s3://bucket/dis.mp4", "model": "vmaf_v0.6.1",
                    "reportURI": "s3://bucket/report.json", "input": { "width": 16, "height": 16 },
                    "scoring": { "features": ["psnr"] },
                }),
                json!({ "conditions": condition, "model": { "name": "vmaf_v0.6.1" } }),
            ),
            Self::Node => (
                json!({ "gpuVendor": "cpu", "image": "vmafx-node", "tolerations": [{ "key": "gpu" }],
                        "resources": { "claims": [{ "name": "gpu" }] } }),
                json!({ "conditions": condition, "statefulSet": { "name": "a", "uid": "b" } }),
            ),
            Self::Training => (
                json!({ "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "image": "vmafx-trainer",
                        "outputRegistry": "localhost:5000/models", "registrySecret": "push" }),
                json!({ "conditions": condition, "statefulSet": { "name": "a", "uid": "b" } }),
            ),
            Self::Tenant => (
                json!({ "tenantId": "acme", "namespaces": ["acme-prod"],
                        "oidc": { "issuer": "https://login.example", "jwksEndpoint": "https://login.example/keys" } }),
                json!({ "conditions": condition }),
            ),
        };
        let resource = self.resource();
        json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": { "name": name }, "spec": spec, "status": status,
        })
    }
}

/// Reads and writes untyped objects of one kind in one namespace.
pub(crate) struct Objects {
    api: Api<DynamicObject>,
}

impl Objects {
    pub(crate) fn new(client: Client, namespace: &str, kind: ResourceKind) -> Self {
        Self { api: Api::namespaced_with(client, namespace, &kind.resource()) }
    }

    pub(crate) async fn create(&self, object: &Value) -> Result<Value, Box<Status>> {
        let object = serde_json::from_value(object.clone()).unwrap();
        unwrap_api_status(self.api.create(&PostParams::default(), &object).await)
    }

    /// Writes the status of an object that exists, as a merge patch, as clients do that write only parts of it.
    pub(crate) async fn patch_status(&self, object: &Value) -> Result<Value, Box<Status>> {
        let patch = kube::api::Patch::Merge(json!({ "status": object["status"] }));
        unwrap_api_status(self.api.patch_status(name(object), &PatchParams::default(), &patch).await)
    }

    /// Replaces the spec of an object that exists, so that absent fields are removed.
    pub(crate) async fn replace_spec(&self, object: &Value) -> Result<Value, Box<Status>> {
        let mut live = self.api.get(name(object)).await.unwrap();
        live.data["spec"] = object["spec"].clone();
        unwrap_api_status(self.api.replace(name(object), &PostParams::default(), &live).await)
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn unwrap_api_status(result: kube::Result<DynamicObject>) -> Result<Value, Box<Status>> {
    match result {
        Ok(object) => Ok(serde_json::to_value(object).unwrap()),
        Err(kube::Error::Api(status)) => Err(status),
        Err(error) => panic!("{error}"),
    }
}
