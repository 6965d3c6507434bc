//! A control plane, a proxy, an operator and the objects of a test.

mod bystanders;
pub(crate) mod control_plane;
mod node;
mod scenario;
mod snapshot;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use kube::{Api, Client};
use tempfile::TempDir;
use vmafx_api::VmafxNode;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::proxy::{ApiProxy, ApiRequest, RbacVerb, RecordedRequest, RequestMatcher};
use vmafx_testkit::kube::{TestCluster, TestNamespace};

pub(crate) use bystanders::Bystanders;
pub(crate) use control_plane::{Exclusive, SYSTEM, SharedControlPlane, account, account_with, grants};
pub(crate) use node::{DesiredNode, RETRY_TIMEOUT, describe};
pub(crate) use scenario::Scenario;
pub(crate) use snapshot::Versions;

use crate::operator::{Operator, OperatorCommand};

pub(crate) struct FaultFixture {
    pub(crate) operator: Operator,
    pub(crate) proxy: ApiProxy,
    pub(crate) namespace: TestNamespace,
    pub(crate) account: TestServiceAccount,
    command: OperatorCommand,
    last: snapshot::Last,
    _controller: HttpServer,
    _directory: TempDir,
    /// Lock on the shared control plane, which is released last.
    exclusive: Option<Exclusive>,
}

impl FaultFixture {
    /// On the control plane that the tests share, with an operator that is ready.
    pub(crate) async fn new(env: &[(&'static str, &str)]) -> Self {
        let exclusive = SharedControlPlane::exclusive().await;
        let plane = SharedControlPlane::shared();
        let mut fixture = Self::on(&plane.control_plane, plane.account.clone(), env).await;
        fixture.exclusive = Some(exclusive);
        fixture.operator.ready().await;
        fixture
    }

    /// On a control plane of its own, with an operator that may not be ready.
    pub(crate) async fn on(
        cluster: &TestCluster,
        account: TestServiceAccount,
        env: &[(&'static str, &str)],
    ) -> Self {
        let namespace = cluster.namespace("faults").await.unwrap();
        let proxy = ApiProxy::start(cluster).await.unwrap();
        let controller = HttpServer::start(|_| Reply::file(b"ok"));
        let directory = tempfile::tempdir().unwrap();
        let mut variables = vec![("VMAFX_CONTROLLER_HTTP_ADDR", controller.url(""))];
        variables.extend(env.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let command = OperatorCommand::new(directory.path(), &account, &proxy, variables);
        let operator = Operator::start(&command);
        Self {
            operator,
            proxy,
            namespace,
            account,
            command,
            last: snapshot::Last::default(),
            _controller: controller,
            _directory: directory,
            exclusive: None,
        }
    }

    /// Starts another operator behind a proxy of its own, which records its writes separately.
    pub(crate) async fn another(&self, name: &str) -> (Operator, ApiProxy) {
        let proxy = ApiProxy::start(self.namespace.cluster()).await.unwrap();
        let kubeconfig = self.command.directory.join(format!("{name}.kubeconfig"));
        self.account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
        let operator =
            Operator::start(&OperatorCommand { name: name.to_owned(), kubeconfig, ..self.command.clone() });
        (operator, proxy)
    }

    /// Starts an operator with the permissions of another account and further settings.
    pub(crate) fn operator_as(
        &self,
        name: &str,
        account: &TestServiceAccount,
        settings: &[(&'static str, &str)],
    ) -> Operator {
        let kubeconfig = self.command.directory.join(format!("{name}.kubeconfig"));
        account.write_kubeconfig(&kubeconfig, &self.proxy.url()).unwrap();
        let mut env = self.command.env.clone();
        env.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Operator::start(&OperatorCommand { name: name.to_owned(), kubeconfig, env, ..self.command.clone() })
    }

    /// Kills the operator, if it still runs, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.operator.kill();
        self.operator = Operator::start(&self.command);
        self.operator.ready().await;
    }

    pub(crate) fn client(&self) -> Client {
        self.namespace.client()
    }

    pub(crate) fn nodes(&self) -> Api<VmafxNode> {
        Api::namespaced(self.client(), self.namespace.name())
    }

    pub(crate) fn sets(&self) -> Api<StatefulSet> {
        Api::namespaced(self.client(), self.namespace.name())
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::namespaced(self.client(), self.namespace.name())
    }

    /// Writes for one node: its status and its children, but not its events.
    pub(crate) fn writes_for(&self, node: &str) -> RequestMatcher {
        let about = about(self.namespace.name(), node);
        RequestMatcher::writes().and(about)
    }

    /// The recorded writes for one node, after the first `mark` requests.
    pub(crate) fn written_for(&self, node: &str, mark: usize) -> Vec<RecordedRequest> {
        let about = about(self.namespace.name(), node);
        let mut writes = self.proxy.writes_since(mark);
        writes.retain(|record| about(&record.request));
        writes
    }
}

/// The number of successful deletions.
pub(crate) fn deletions(writes: &[RecordedRequest]) -> usize {
    writes.iter().filter(|record| record.request.verb == RbacVerb::Delete && record.succeeded()).count()
}

fn about(namespace: &str, node: &str) -> impl Fn(&ApiRequest) -> bool + Send + Sync + use<> {
    let (namespace, node, child) = (namespace.to_owned(), node.to_owned(), format!("vmafx-node-{node}"));
    move |request| {
        request.namespace == namespace
            && request.resource != "events"
            && (request.name == node || request.name == child)
    }
}
