//! The logs of a job with `execution: Pod`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt as _};

use super::lines::{self, LogFilter};
use super::{LogsArgs, no_log};
use crate::Error;
use crate::cluster::connection::Cluster;
use crate::cluster::explain::pods_of_job;
use crate::cluster::job::JobView;
use crate::cluster::kind::ResourceKind;

/// Interval between checks for another attempt.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(args: &LogsArgs, cluster: &Cluster, object: &DynamicObject) -> Result<(), Error> {
    let name = JobView(object).name();
    let mut pods = pods_of_job(cluster, name).await?;
    if args.previous {
        pods.pop();
        pods = pods.pop().into_iter().collect();
        if pods.is_empty() {
            return Err(no_log(object, "there is no attempt before the last one").into());
        }
    }
    if !args.follow {
        return show_all(args, cluster, object, &pods).await;
    }
    let mut shown: Vec<String> = Vec::new();
    loop {
        // The job is read before its Pods, so that no Pod is missed if the job ends in between.
        let current = cluster.call("read the job", cluster.objects(ResourceKind::Job).get_opt(name)).await?;
        let ended = current.is_none_or(|object| JobView(&object).has_ended());
        for pod in pods_of_job(cluster, name).await?.iter().filter(|pod| has_started(pod)) {
            if !shown.contains(&pod.name_any()) {
                show(args, cluster, pod, true).await?;
                shown.push(pod.name_any());
            }
        }
        match (ended, shown.is_empty()) {
            (true, true) => return Err(no_log(object, "it has no Pod").into()),
            (true, false) => return Ok(()),
            (false, _) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Prints the logs of all Pods that have started.
async fn show_all(
    args: &LogsArgs,
    cluster: &Cluster,
    object: &DynamicObject,
    pods: &[Pod],
) -> Result<(), Error> {
    let started: Vec<&Pod> = pods.iter().filter(|pod| has_started(pod)).collect();
    match (started.is_empty(), pods.last()) {
        (true, None) => return Err(no_log(object, "it has no Pod").into()),
        (true, Some(last)) => {
            return Err(no_log(object, &format!("its Pod {} has not started", last.name_any())).into());
        }
        _ => {}
    }
    for pod in &started {
        show(args, cluster, pod, started.len() > 1).await?;
    }
    Ok(())
}

async fn show(args: &LogsArgs, cluster: &Cluster, pod: &Pod, with_prefix: bool) -> Result<(), Error> {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let params = LogParams {
        container: Some(args.container.clone()),
        follow: args.follow,
        tail_lines: args.tail.map(i64::from),
        ..LogParams::default()
    };
    let prefix = if with_prefix { format!("[pod/{}] ", pod.name_any()) } else { String::new() };
    lines::show(cluster, &api, &pod.name_any(), &params, &LogFilter { prefix, ..LogFilter::default() })
        .await?;
    Ok(())
}

fn has_started(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.is_some_and(|phase| phase != "Pending")
}
