//! The logs of a job's own Pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt as _};

use super::lines::{self, Wanted};
use super::{LogsArgs, nothing};
use crate::Error;
use crate::cluster::explain::of_job;
use crate::cluster::job::Job;
use crate::cluster::kind::Kind;
use crate::cluster::reach::Cluster;

/// How often it is looked for another attempt.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn run(args: &LogsArgs, cluster: &Cluster, object: &DynamicObject) -> Result<(), Error> {
    let name = Job(object).name();
    let mut pods = of_job(cluster, name).await?;
    if args.previous {
        pods.pop();
        pods = pods.pop().into_iter().collect();
        if pods.is_empty() {
            return Err(nothing(object, "there is no attempt before the last one").into());
        }
    }
    if !args.follow {
        return all(args, cluster, object, &pods).await;
    }
    let mut shown: Vec<String> = Vec::new();
    loop {
        // Asked before the Pods are: what ends in between has its Pods shown.
        let now = cluster.call("read the job", cluster.objects(Kind::Job).get_opt(name)).await?;
        let over = now.is_none_or(|object| Job(&object).is_over());
        for pod in of_job(cluster, name).await?.iter().filter(|pod| has_begun(pod)) {
            if !shown.contains(&pod.name_any()) {
                show(args, cluster, pod, true).await?;
                shown.push(pod.name_any());
            }
        }
        match (over, shown.is_empty()) {
            (true, true) => return Err(nothing(object, "it has no Pod").into()),
            (true, false) => return Ok(()),
            (false, _) => tokio::time::sleep(LOOK).await,
        }
    }
}

/// The logs of all Pods that have begun.
async fn all(args: &LogsArgs, cluster: &Cluster, object: &DynamicObject, pods: &[Pod]) -> Result<(), Error> {
    let begun: Vec<&Pod> = pods.iter().filter(|pod| has_begun(pod)).collect();
    match (begun.is_empty(), pods.last()) {
        (true, None) => return Err(nothing(object, "it has no Pod").into()),
        (true, Some(last)) => {
            return Err(nothing(object, &format!("its Pod {} has not begun", last.name_any())).into());
        }
        _ => {}
    }
    for pod in &begun {
        show(args, cluster, pod, begun.len() > 1).await?;
    }
    Ok(())
}

async fn show(args: &LogsArgs, cluster: &Cluster, pod: &Pod, named: bool) -> Result<(), Error> {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let params = LogParams {
        container: Some(args.container.clone()),
        follow: args.follow,
        tail_lines: args.tail.map(i64::from),
        ..LogParams::default()
    };
    let prefix = if named { format!("[pod/{}] ", pod.name_any()) } else { String::new() };
    lines::show(cluster, &api, &pod.name_any(), &params, &Wanted { prefix, ..Wanted::default() }).await?;
    Ok(())
}

fn has_begun(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.is_some_and(|phase| phase != "Pending")
}
