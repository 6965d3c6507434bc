//! The lines about a job of the queue, in the log of the node that has it.

use std::ops::ControlFlow;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, LogParams};
use kube::core::DynamicObject;
use kube::runtime::watcher;

use super::lines::{self, Wanted};
use super::{LogsArgs, nothing};
use crate::Error;
use crate::cluster::job::Job;
use crate::cluster::kind::Kind;
use crate::cluster::reach::Cluster;
use crate::cluster::trouble::KubeError;
use crate::cluster::watch::{Listener, News, watch};

/// For the last lines to come, after the resource says that the job has ended.
const LINGER: Duration = Duration::from_secs(2);
/// The clocks of node and controller may differ.
const SLACK: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

pub(super) async fn run(args: &LogsArgs, cluster: &Cluster, object: &DynamicObject) -> Result<(), Error> {
    let job = Job(object);
    let (node, id) = (job.node(), job.text("/status/controllerJobID"));
    if node.is_empty() || id.is_empty() {
        return Err(nothing(object, "no node has had it").into());
    }
    let Some(namespace) = find(args, cluster, node).await? else {
        return Err(nothing(
            object,
            &format!(
                "node {node} is no Pod of this cluster, or its Pod is gone; look for lines with {id} in that node's own log"
            ),
        )
        .into());
    };
    let began = job.text("/status/startedAt").parse::<jiff::Timestamp>().ok();
    let params = LogParams {
        container: Some(args.container.clone()),
        follow: args.follow,
        previous: args.previous,
        since_time: began.and_then(|began| began.checked_sub(SLACK).ok()).filter(|_| !args.previous),
        ..LogParams::default()
    };
    // While lines are followed there is no last one.
    let last = args.tail.filter(|_| !args.follow).and_then(|last| usize::try_from(last).ok());
    let wanted = Wanted { about: Some(id.to_owned()), last, prefix: String::new() };
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace);
    let shown = lines::show(cluster, &pods, node, &params, &wanted);
    if !args.follow {
        shown.await?;
        return Ok(());
    }
    tokio::select! {
        shown = shown => shown?,
        ended = end(cluster, job.name()) => ended?,
    }
    Ok(())
}

/// The namespace of the node's Pod.
async fn find(args: &LogsArgs, cluster: &Cluster, node: &str) -> Result<Option<String>, KubeError> {
    let what = format!("look for the Pod of node {node}");
    let home = args.node_namespace.as_ref().unwrap_or(&cluster.namespace);
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), home);
    if cluster.call(&what, pods.get_opt(node)).await?.is_some() {
        return Ok(Some(home.clone()));
    }
    if args.node_namespace.is_some() {
        return Ok(None);
    }
    let everywhere: Api<Pod> = Api::all(cluster.client.clone());
    let named = ListParams::default().fields(&format!("metadata.name={node}")).labels("vmafx.dev/workload");
    match cluster.call(&what, everywhere.list(&named)).await {
        Ok(found) => Ok(found.items.first().and_then(kube::ResourceExt::namespace)),
        Err(KubeError::Forbidden { .. }) => Err(KubeError::Senseless(vec![format!(
            "node {node} is no Pod of namespace {home}, and you may not look in all: give --node-namespace"
        )])),
        Err(error) => Err(error),
    }
}

/// Returns when the job has ended and its last lines had their time.
async fn end(cluster: &Cluster, name: &str) -> Result<(), KubeError> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    watch(cluster, cluster.objects(Kind::Job), config, &mut End).await?;
    tokio::time::sleep(LINGER).await;
    Ok(())
}

struct End;

impl Listener for End {
    fn hear(&mut self, news: News) -> ControlFlow<()> {
        match news {
            News::Is(object) if Job(&object).is_over() => ControlFlow::Break(()),
            News::Gone(_) => ControlFlow::Break(()),
            News::Is(_) | News::Listed => ControlFlow::Continue(()),
        }
    }

    fn waiting(&mut self, _: &str) {}
}
