//! The desired status of a resource, and whether a write is due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use vmafx_api::VmafxNodeStatus;
use vmafx_api::node::QuarantinedWorkers;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::node::Node;

pub(super) const MIN_WRITE_INTERVAL: Duration = Duration::from_secs(20);

/// A VmafxNode of this cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resource {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Empty if the agents do not report it, which only those outside the cluster may.
    pub(super) uid: String,
}

/// The combined heartbeats of all agents of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentSummary {
    pub(super) agents: u32,
    /// Unix seconds, the resolution of a timestamp in a status.
    pub(super) heartbeat: i64,
    pub(super) jobs: u32,
    pub(super) device: Option<String>,
    pub(super) quarantine: Option<QuarantinedWorkers>,
}

impl AgentSummary {
    /// After the last agent has left, its last heartbeat remains valid; its jobs and its quarantine do not.
    pub(super) fn without_agents(&self) -> Self {
        Self { agents: 0, jobs: 0, quarantine: None, ..self.clone() }
    }

    fn add(&mut self, node: &Node) {
        self.agents += 1;
        self.jobs += node.jobs;
        if let Some(quarantine) = &node.quarantine {
            let shown = self.quarantine.get_or_insert_default();
            shown.workers += 1;
            quarantine.reason.name().clone_into(&mut shown.reason);
            shown.message =
                format!("{}: {}", node.name, quarantine.error).chars().take(MAX_MESSAGE).collect();
        }
    }
}

/// The limit of the field in characters.
const MAX_MESSAGE: usize = 4096;

pub(super) fn summarize(nodes: &[Node], cluster: &str) -> BTreeMap<Resource, AgentSummary> {
    let mut devices: BTreeMap<Resource, BTreeSet<&str>> = BTreeMap::new();
    let mut all: BTreeMap<Resource, AgentSummary> = BTreeMap::new();
    for node in nodes {
        let vouched_for = node.resource.as_ref().filter(|resource| resource.is_vouched_for());
        let Some(origin) =
            vouched_for.map(|resource| &resource.origin).filter(|origin| origin.cluster == cluster)
        else {
            continue;
        };
        let resource = Resource {
            namespace: origin.namespace.clone(),
            name: origin.name.clone(),
            uid: origin.uid.clone(),
        };
        let Timestamp(last_seen) = node.last_seen_at;
        let last_seen = last_seen.div_euclid(1000);
        let summary = all.entry(resource.clone()).or_insert(AgentSummary {
            agents: 0,
            heartbeat: last_seen,
            jobs: 0,
            device: None,
            quarantine: None,
        });
        summary.heartbeat = summary.heartbeat.max(last_seen);
        summary.add(node);
        if !node.capability.device.is_empty() {
            devices.entry(resource).or_default().insert(&node.capability.device);
        }
    }
    for (resource, names) in devices {
        if let Some(summary) = all.get_mut(&resource) {
            summary.device = Some(names.into_iter().collect::<Vec<_>>().join(", "));
        }
    }
    for summary in all.values_mut() {
        if let Some(quarantine) = &mut summary.quarantine {
            quarantine.connected = i32::try_from(summary.agents).unwrap_or(i32::MAX);
        }
    }
    all
}

/// While agents are alive, the heartbeat and a change of the quarantine decide, so that the rate of writes does not depend
/// on their work.
pub(super) fn is_due(status: Option<&VmafxNodeStatus>, summary: &AgentSummary) -> bool {
    let shown = status.and_then(|status| status.last_heartbeat.as_ref()).map(|time| time.0.as_second());
    match shown {
        Some(_) if summary.agents == 0 => status.is_some_and(|status| {
            status.assigned_jobs.is_some_and(|jobs| jobs != 0) || status.quarantine.is_some()
        }),
        Some(_) if status.is_some_and(|status| status.quarantine != summary.quarantine) => true,
        Some(shown) => summary.heartbeat.abs_diff(shown) >= MIN_WRITE_INTERVAL.as_secs(),
        None => summary.agents > 0,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff;
    use rstest::rstest;
    use uuid::Uuid;
    use vmafx_job::FailureReason;
    use vmafx_queue::SessionId;
    use vmafx_queue::job::Origin;
    use vmafx_queue::node::{Capability, ServiceAccountName};
    use vmafx_queue::quarantine::Quarantine;

    use super::*;

    fn agent(cluster: &str, name: &str, heard: i64, jobs: u32, device: &str) -> Node {
        Node {
            session: SessionId(Uuid::nil()),
            name: "pod".into(),
            capability: Capability { device: device.into(), ..Capability::default() },
            resource: Some(
                Origin {
                    cluster: cluster.into(),
                    namespace: "video".into(),
                    name: name.into(),
                    uid: "u".into(),
                }
                .into(),
            ),
            registered_at: Timestamp(0),
            last_seen_at: Timestamp(heard),
            jobs,
            quarantine: None,
        }
    }

    fn quarantined(agent: Node) -> Node {
        let quarantine = Quarantine {
            failures: 3,
            until: Timestamp(0),
            reason: FailureReason::InputMissingOnNode,
            error: "there is no such file".into(),
        };
        Node { quarantine: Some(quarantine), ..agent }
    }

    #[test]
    fn quarantined_agents_are_counted_with_the_last_error() {
        let nodes = [agent("here", "a", 1_000, 0, ""), quarantined(agent("here", "a", 1_000, 0, ""))];
        let summary = summarize(&nodes, "here").into_values().next().unwrap();
        let expected = QuarantinedWorkers {
            workers: 1,
            connected: 2,
            reason: "InputMissingOnNode".into(),
            message: "pod: there is no such file".into(),
        };
        assert_eq!(summary.quarantine, Some(expected.clone()));
        let shown = |quarantine| VmafxNodeStatus {
            last_heartbeat: Some(Time(jiff::Timestamp::from_second(1).unwrap())),
            quarantine,
            ..VmafxNodeStatus::default()
        };
        assert!(is_due(Some(&shown(None)), &summary));
        assert!(!is_due(Some(&shown(Some(expected.clone()))), &summary));
        assert!(is_due(Some(&shown(Some(expected))), &summary.without_agents()));
    }

    #[test]
    fn agents_of_one_resource_are_taken_together_and_foreign_clusters_left_out() {
        let nodes = [
            agent("here", "a", 1_000, 2, "Xeon"),
            agent("here", "a", 9_999, 3, "EPYC"),
            agent("here", "b", 4_000, 0, ""),
            agent("there", "a", 99_000, 7, "M4"),
            Node { resource: None, ..agent("here", "a", 99_000, 7, "M4") },
        ];
        let all: Vec<_> = summarize(&nodes, "here")
            .into_iter()
            .map(|(resource, summary)| (resource.name, summary))
            .collect();
        let a = AgentSummary {
            agents: 2,
            heartbeat: 9,
            jobs: 5,
            device: Some("EPYC, Xeon".into()),
            quarantine: None,
        };
        let b = AgentSummary { agents: 1, heartbeat: 4, jobs: 0, device: None, quarantine: None };
        assert_eq!(all, [("a".to_owned(), a), ("b".to_owned(), b)]);
    }

    #[rstest]
    #[case::own("video", "u", true)]
    #[case::other_namespace("web", "u", false)]
    #[case::no_uid("video", "", false)]
    fn a_pod_speaks_for_its_own_resource_only(#[case] account: &str, #[case] uid: &str, #[case] shown: bool) {
        let mut node = agent("here", "a", 1_000, 0, "");
        let resource = node.resource.as_mut().unwrap();
        resource.origin.uid = uid.to_owned();
        resource.account =
            Some(ServiceAccountName { namespace: account.to_owned(), name: "vmafx-worker".to_owned() });
        assert_eq!(!summarize(&[node], "here").is_empty(), shown);
    }

    #[rstest]
    #[case::never_shown(None, 1, true)]
    #[case::never_shown_and_gone(None, 0, false)]
    #[case::just_shown((100, 0).into(), 1, false)]
    #[case::nearly(Some((81, 5)), 1, false)]
    #[case::long_ago(Some((80, 5)), 1, true)]
    #[case::clock_was_ahead(Some((130, 0)), 1, true)]
    #[case::gone_with_jobs(Some((100, 5)), 0, true)]
    #[case::gone_without(Some((20, 0)), 0, false)]
    fn due_by_the_age_of_the_heartbeat(
        #[case] shown: Option<(i64, i32)>,
        #[case] agents: u32,
        #[case] due: bool,
    ) {
        let status = shown.map(|(heartbeat, jobs)| VmafxNodeStatus {
            last_heartbeat: Some(Time(jiff::Timestamp::from_second(heartbeat).unwrap())),
            assigned_jobs: Some(jobs),
            ..VmafxNodeStatus::default()
        });
        let summary = AgentSummary { agents, heartbeat: 100, jobs: 1, device: None, quarantine: None };
        assert_eq!(is_due(status.as_ref(), &summary), due);
    }
}
