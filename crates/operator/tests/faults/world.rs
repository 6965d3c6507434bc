//! A control plane, a proxy, an operator and the objects of a test.

mod bystanders;
mod flow;
mod node;
mod plane;
mod snapshot;

use std::path::Path;

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
pub(crate) use flow::Flow;
pub(crate) use node::{SLOW, Wanted, said};
pub(crate) use plane::{Exclusive, Plane, SYSTEM, account, grants};
pub(crate) use snapshot::Versions;

use crate::operator::{Operator, Recipe};

/// What a test works with.
pub(crate) struct World {
    pub(crate) operator: Operator,
    pub(crate) proxy: ApiProxy,
    pub(crate) namespace: TestNamespace,
    pub(crate) account: TestServiceAccount,
    recipe: Recipe,
    last: snapshot::Last,
    _controller: HttpServer,
    _directory: TempDir,
    /// Others wait while it is held, and it is let go of last.
    exclusive: Option<Exclusive>,
}

impl World {
    /// On the control plane that the tests share, with an operator that is ready.
    pub(crate) async fn set(env: &[(&'static str, &str)]) -> Self {
        let exclusive = Plane::exclusive().await;
        let plane = Plane::shared();
        let mut world = Self::on(&plane.control_plane, plane.account.clone(), env).await;
        world.exclusive = Some(exclusive);
        world.operator.ready().await;
        world
    }

    /// On a control plane of one's own, with an operator that may not be ready.
    pub(crate) async fn on(
        cluster: &TestCluster,
        account: TestServiceAccount,
        env: &[(&'static str, &str)],
    ) -> Self {
        let namespace = cluster.namespace("faults").await.unwrap();
        let proxy = ApiProxy::start(cluster).await.unwrap();
        let controller = HttpServer::start(|_| Reply::file(b"ok"));
        let directory = tempfile::tempdir().unwrap();
        let recipe = recipe("operator", directory.path(), &account, &proxy, &controller, env);
        let operator = Operator::start(&recipe);
        Self {
            operator,
            proxy,
            namespace,
            account,
            recipe,
            last: snapshot::Last::default(),
            _controller: controller,
            _directory: directory,
            exclusive: None,
        }
    }

    /// Another operator, behind a proxy of its own, so that it is known who wrote what.
    pub(crate) async fn another(&self, name: &str) -> (Operator, ApiProxy) {
        let proxy = ApiProxy::start(self.namespace.cluster()).await.unwrap();
        let kubeconfig = self.recipe.directory.join(format!("{name}.kubeconfig"));
        self.account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
        let operator = Operator::start(&Recipe { name: name.to_owned(), kubeconfig, ..self.recipe.clone() });
        (operator, proxy)
    }

    /// Starts the operator again after its end.
    pub(crate) async fn restart(&mut self) {
        self.operator.kill();
        self.operator = Operator::start(&self.recipe);
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

    /// Writes for one node: its status and its children, but not what is told about it.
    pub(crate) fn writes_for(&self, node: &str) -> RequestMatcher {
        let about = about(self.namespace.name(), node);
        RequestMatcher::writes().and(about)
    }

    /// Those so far, after the first `mark` requests.
    pub(crate) fn written_for(&self, node: &str, mark: usize) -> Vec<RecordedRequest> {
        let about = about(self.namespace.name(), node);
        let mut writes = self.proxy.writes_since(mark);
        writes.retain(|record| about(&record.request));
        writes
    }
}

/// How many objects the operator has deleted by these.
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

fn recipe(
    name: &str,
    directory: &Path,
    account: &TestServiceAccount,
    proxy: &ApiProxy,
    controller: &HttpServer,
    env: &[(&'static str, &str)],
) -> Recipe {
    let kubeconfig = directory.join(format!("{name}.kubeconfig"));
    account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
    let mut variables = vec![("VMAFX_CONTROLLER_HTTP_ADDR", controller.url(""))];
    variables.extend(env.iter().map(|(name, value)| (*name, (*value).to_owned())));
    Recipe {
        name: name.to_owned(),
        kubeconfig,
        namespace: plane::SYSTEM.to_owned(),
        directory: directory.to_owned(),
        env: variables,
    }
}
