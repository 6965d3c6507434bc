//! A namespace for VmafxTenants, and a controller that reads them every second.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use vmafx_api::{Condition, VmafxTenant};
use vmafx_testkit::controller::{ControllerConfig, ControllerServer};
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::kube::{ControlPlane, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::http::{ApiResponse, Http};
use crate::issuer::Issuer;

pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// The permissions that the chart grants to the controller.
fn grants() -> Vec<Grant> {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/helm/vmafx");
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(ensure(&[Binary::Helm]).unwrap().path(Binary::Helm))
        .args(["template", "vmafx"])
        .arg(&chart)
        .arg("--values")
        .arg(chart.join("ci/tenants-values.yaml"))
        .args(["--show-only", "templates/controller-rbac.yaml"])
        .env("HOME", home.path())
        .output()
        .unwrap();
    Grant::from_yaml(&text(&output)).unwrap()
}

/// The standard output of a command that succeeded.
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Fields are dropped in order.
pub(crate) struct Platform {
    pub(crate) system: TestNamespace,
    /// What the controllers ask the API server for.
    pub(crate) proxy: ApiProxy,
    account: TestServiceAccount,
    files: tempfile::TempDir,
}

impl Platform {
    pub(crate) async fn new() -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let system = cluster.namespace("tenants").await.unwrap();
        let account =
            TestServiceAccount::create(cluster, system.name(), "vmafx-controller", &grants()).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        let proxy = ApiProxy::start(cluster).await.unwrap();
        account.write_kubeconfig(&files.path().join("kubeconfig"), &proxy.url()).unwrap();
        fs::write(files.path().join("ca.crt"), account.authority_pem()).unwrap();
        fs::write(files.path().join("token"), account.token()).unwrap();
        Self { system, proxy, account, files }
    }

    fn file(&self, name: &str) -> String {
        self.files.path().join(name).to_str().unwrap().to_owned()
    }

    /// A controller whose callers are those of declared tenants.
    pub(crate) fn config(&self) -> ControllerConfig {
        ControllerConfig::new(env!("CARGO_BIN_EXE_vmafx-controller"))
            .env("VMAFX_AUTH_DISABLED", "false")
            .env("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes")
            .env("VMAFX_AUTH_TENANTS_REFRESH", "1s")
            .env("VMAFX_SCORING_ROOTS", "")
            .env("VMAFX_NODE_STATUS", "false")
            .env("POD_NAMESPACE", self.system.name())
            .env("KUBECONFIG", self.file("kubeconfig"))
    }

    /// The same, and ServiceAccounts of the cluster: `submitter` is a writer in every namespace that has a tenant, and the
    /// controller's own stands for the operator's.
    pub(crate) fn config_with_accounts(&self) -> ControllerConfig {
        let cluster = self.system.cluster().config().cluster_url.to_string();
        let operator = self.account.user();
        self.config()
            .env("VMAFX_JWKS_ENDPOINT", format!("{}/openid/v1/jwks", cluster.trim_end_matches('/')))
            .env("VMAFX_JWKS_CA_FILE", self.file("ca.crt"))
            .env("VMAFX_JWKS_TOKEN_FILE", self.file("token"))
            .env("VMAFX_AUTH_OPERATOR_SUBJECT", operator.clone())
            .env(
                "VMAFX_AUTH_SUBJECTS",
                format!("{operator}=vmafx:writer,system:serviceaccount:*:submitter=vmafx:writer"),
            )
    }

    pub(crate) fn operator_token(&self) -> &str {
        self.account.token()
    }

    /// New namespaces beside that of the controller.
    pub(crate) async fn namespaces<const N: usize>(&self, prefixes: [&str; N]) -> [TestNamespace; N] {
        let created = prefixes.map(|prefix| self.system.cluster().namespace(prefix));
        let created = futures::future::try_join_all(created).await.unwrap();
        created.try_into().unwrap_or_else(|_| unreachable!("one for each prefix"))
    }

    pub(crate) fn tenants(&self) -> Api<VmafxTenant> {
        Api::namespaced(self.system.client(), self.system.name())
    }

    /// Creates or changes a tenant.
    pub(crate) async fn apply(&self, name: &str, spec: Value) {
        let tenant = json!({"apiVersion": "vmafx.dev/v1", "kind": "VmafxTenant", "metadata": {"name": name}, "spec": spec});
        let params = PatchParams::apply("administrator");
        self.tenants().patch(name, &params, &Patch::Apply(tenant)).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.tenants().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// The condition `Ready` of the current generation, once it has this reason.
    pub(crate) async fn ready_with(&self, name: &str, reason: &str) -> Condition {
        let current = async || {
            let tenant = self.tenants().get(name).await.unwrap();
            let status = tenant.status.ok_or_else(|| "no status".to_owned())?;
            let condition = status.conditions.first().cloned().ok_or_else(|| "no condition".to_owned())?;
            let observed = (status.observed_generation, condition.observed_generation);
            let is_current = observed == (tenant.metadata.generation, tenant.metadata.generation);
            if is_current && condition.reason == reason {
                Ok(condition)
            } else {
                Err(format!("{condition:?}"))
            }
        };
        wait::until(TIMEOUT, &format!("{name}: {reason}"), current).await.unwrap()
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let kubectl = ensure(&[Binary::Kubectl]).unwrap();
        let mut command = Command::new(kubectl.path(Binary::Kubectl));
        let namespace = ["--namespace", self.system.name()];
        command.arg("--kubeconfig").arg(self.system.cluster().kubeconfig_path()).args(namespace);
        text(&command.args(arguments).output().unwrap())
    }

    /// The token of the ServiceAccount `submitter` in a namespace.
    pub(crate) async fn submitter(&self, namespace: &TestNamespace) -> String {
        let created =
            TestServiceAccount::create(self.system.cluster(), namespace.name(), "submitter", &[]).await;
        created.unwrap().token().to_owned()
    }

    /// Waits until every controller has read the tenants `times` times from now on.
    pub(crate) async fn refreshed(&self, times: usize) {
        let before = self.proxy.request_count();
        let lists = || async {
            let lists = self.proxy.records_since(before).into_iter().filter(|record| {
                record.request.resource == "vmafxtenants" && !record.request.is_write() && record.succeeded()
            });
            lists.count() >= times
        };
        wait::until(TIMEOUT, "refreshes", lists).await.unwrap();
    }
}

/// A tenant with its own issuer.
pub(crate) fn tenant(id: &str, issuer: &Issuer) -> Value {
    json!({
        "tenantId": id,
        "oidc": {"issuer": issuer.url, "jwksEndpoint": issuer.endpoint(), "audience": "vmafx"},
        "scoring": {"roots": ["/clips"]},
    })
}

/// A token of a writer of this tenant, valid by the clock of the machine.
pub(crate) fn token(issuer: &Issuer, tenant: &str) -> String {
    token_with(issuer, tenant, |_| ())
}

/// The same with changed claims.
pub(crate) fn token_with(issuer: &Issuer, tenant: &str, change: impl FnOnce(&mut Value)) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    issuer.token_with(|claims| {
        claims["exp"] = json!(now + 3600);
        claims["nbf"] = json!(now - 60);
        claims["tid"] = json!(tenant);
        change(claims);
    })
}

/// Waits until a list of jobs is answered with this status.
pub(crate) async fn answered(
    controller: &ControllerServer,
    token: &str,
    path: &str,
    status: u16,
) -> ApiResponse {
    let http = Http::new(controller.http(), Some(token));
    let answer = async || {
        let response = http.get(path).await;
        if response.status == status { Ok(response) } else { Err(format!("{response:?}")) }
    };
    wait::until(TIMEOUT, &format!("{status} for {path}"), answer).await.unwrap()
}
