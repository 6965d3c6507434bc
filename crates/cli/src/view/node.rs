//! Nodes as documents and as a table.

use std::fmt::Write as _;

use comfy_table::Cell;
use jiff::Timestamp;
use vmafx_controller::http::shape;
use vmafx_job::FailureReason;
use vmafx_proto::controller::v1 as wire;

use super::age;
use super::job::{instant, origin};
use crate::terminal::Look;

pub(crate) fn document(node: &wire::Node) -> shape::Node {
    let capability = node.capability.clone().unwrap_or_default();
    shape::Node {
        name: node.name.clone(),
        gpu_vendor: capability.gpu_vendor,
        device: capability.device,
        backends: capability.backends,
        slots: u32::try_from(capability.concurrency).unwrap_or_default(),
        jobs: node.jobs_running,
        labels: capability.labels,
        resource: node.resource.as_ref().map(origin),
        registered_at: instant(node.registered_at_ms).unwrap_or_default(),
        last_seen_at: instant(node.last_seen_at_ms).unwrap_or_default(),
        quarantine: node.quarantine.as_ref().map(|quarantine| shape::Quarantine {
            failures: quarantine.failures,
            until: instant(quarantine.until_ms).unwrap_or_default(),
            reason: FailureReason::from_number(quarantine.reason).name().to_owned(),
            message: quarantine.message.clone(),
        }),
    }
}

pub(crate) fn table(nodes: &[wire::Node], look: Look, wide: bool, now: Timestamp) -> String {
    if nodes.is_empty() {
        return "no nodes\n".to_owned();
    }
    let mut header = vec!["Node", "Backends", "Jobs", "Device", "Seen", "Age"];
    if wide {
        header.extend(["Resource", "Labels"]);
    }
    let mut table = look.table(&header, header.len());
    for node in nodes {
        let capability = node.capability.clone().unwrap_or_default();
        let mut cells = vec![
            look.bold(Cell::new(&node.name)),
            Cell::new(capability.backends.join(",")),
            Cell::new(format!("{} of {}", node.jobs_running, capability.concurrency)),
            Cell::new(capability.device),
            Cell::new(age::since(node.last_seen_at_ms, now)),
            Cell::new(age::since(node.registered_at_ms, now)),
        ];
        if wide {
            let resource = node.resource.as_ref();
            let resource = resource.map(|resource| format!("{}/{}", resource.namespace, resource.name));
            let labels: Vec<_> =
                capability.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            cells
                .extend([Cell::new(resource.unwrap_or_else(|| "-".to_owned())), Cell::new(labels.join(","))]);
        }
        table.add_row(cells);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    for node in nodes {
        if let Some(wire::Quarantine { failures, message, .. }) = &node.quarantine {
            let _ = writeln!(
                text,
                "{} is quarantined: it failed {failures} attempts in a row, the last one with: {message}",
                node.name
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_load_of_a_node() {
        let capability = wire::NodeCapability {
            backends: vec!["cpu".into()],
            concurrency: 2,
            device: "EPYC".into(),
            ..Default::default()
        };
        let node = wire::Node {
            name: "laptop".into(),
            capability: Some(capability),
            jobs_running: 1,
            registered_at_ms: 1_000,
            last_seen_at_ms: 58_000,
            ..Default::default()
        };
        let broken = wire::Node {
            quarantine: Some(wire::Quarantine {
                failures: 3,
                message: "/media/a.y4m: there is no such file".into(),
                ..Default::default()
            }),
            ..node.clone()
        };
        let text = table(&[broken], Look::PLAIN, false, Timestamp::from_second(61).unwrap());
        assert_eq!(
            text.lines().last(),
            Some(
                "laptop is quarantined: it failed 3 attempts in a row, the last one with: /media/a.y4m: there is no such file"
            )
        );
        let text = table(&[node], Look::PLAIN, false, Timestamp::from_second(61).unwrap());
        let line: Vec<_> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(line.join(" "), "laptop cpu 1 of 2 EPYC 3s 1m");
    }
}
