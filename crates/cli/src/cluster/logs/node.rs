//! The lines about a job of the queue in the log of its node.

use std::ops::ControlFlow;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, LogParams};
use kube::core::DynamicObject;
use kube::runtime::watcher;

use super::lines::{self, LogFilter};
use super::{LogsArgs, no_log};
use crate::Error;
use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;
use crate::cluster::job::JobView;
use crate::cluster::kind::ResourceKind;
use crate::cluster::watch::{WatchEvent, WatchHandler, watch};

/// The last lines may arrive after the status says that the job has ended.
const LAST_LINES_DELAY: Duration = Duration::from_secs(2);
/// Maximum difference between the clocks of node and controller.
const CLOCK_SKEW: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

pub(super) async fn run(args: &LogsArgs, cluster: &Cluster, object: &DynamicObject) -> Result<(), Error> {
    let job = JobView(object);
    let (node, id) = (job.node(), job.text("/status/controllerJobID"));
    if node.is_empty() || id.is_empty() {
        return Err(no_log(object, "it has not been assigned to a node").into());
    }
    let Some(namespace) = find_namespace(args, cluster, node).await? else {
        return Err(no_log(
            object,
            &format!(
                "node {node} is not a Pod of this cluster, or its Pod was deleted; search that node's own log for {id}"
            ),
        )
        .into());
    };
    let started = job.text("/status/startedAt").parse::<jiff::Timestamp>().ok();
    let params = LogParams {
        container: Some(args.container.clone()),
        follow: args.follow,
        previous: args.previous,
        since_time: started
            .and_then(|started| started.checked_sub(CLOCK_SKEW).ok())
            .filter(|_| !args.previous),
        ..LogParams::default()
    };
    // A log that is followed has no last line.
    let tail = args.tail.filter(|_| !args.follow).and_then(|tail| usize::try_from(tail).ok());
    let filter = LogFilter { containing: Some(id.to_owned()), tail, prefix: String::new() };
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace);
    let shown = lines::show(cluster, &pods, node, &params, &filter);
    if !args.follow {
        shown.await?;
        return Ok(());
    }
    tokio::select! {
        shown = shown => shown?,
        ended = wait_for_end(cluster, job.name()) => ended?,
    }
    Ok(())
}

/// The namespace of the node's Pod.
async fn find_namespace(args: &LogsArgs, cluster: &Cluster, node: &str) -> Result<Option<String>, KubeError> {
    let what = format!("find the Pod of node {node}");
    let namespace = args.node_namespace.as_ref().unwrap_or(&cluster.namespace);
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    if cluster.call(&what, pods.get_opt(node)).await?.is_some() {
        return Ok(Some(namespace.clone()));
    }
    if args.node_namespace.is_some() {
        return Ok(None);
    }
    let all_pods: Api<Pod> = Api::all(cluster.client.clone());
    let params = ListParams::default().fields(&format!("metadata.name={node}")).labels("vmafx.dev/workload");
    match cluster.call(&what, all_pods.list(&params)).await {
        Ok(pods) => Ok(pods.items.first().and_then(kube::ResourceExt::namespace)),
        Err(KubeError::Forbidden { .. }) => Err(KubeError::InvalidRequest(vec![format!(
            "node {node} is not a Pod of namespace {namespace}, and you are not permitted to list all Pods: give --node-namespace"
        )])),
        Err(error) => Err(error),
    }
}

async fn wait_for_end(cluster: &Cluster, name: &str) -> Result<(), KubeError> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    watch(cluster, cluster.objects(ResourceKind::Job), config, &mut UntilEnd).await?;
    tokio::time::sleep(LAST_LINES_DELAY).await;
    Ok(())
}

struct UntilEnd;

impl WatchHandler for UntilEnd {
    fn on_event(&mut self, event: WatchEvent) -> ControlFlow<()> {
        match event {
            WatchEvent::Applied(object) if JobView(&object).has_ended() => ControlFlow::Break(()),
            WatchEvent::Deleted(_) => ControlFlow::Break(()),
            WatchEvent::Applied(_) | WatchEvent::Listed => ControlFlow::Continue(()),
        }
    }

    fn on_retry(&mut self, _: &str) {}
}
