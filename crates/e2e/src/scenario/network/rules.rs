//! Network policies without one of their rules. Pure.

use serde_json::Value;

/// A policy's `spec` without one rule or peer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReducedPolicy {
    /// Description of what was removed.
    pub(super) what: String,
    pub(super) spec: Value,
}

/// All specs with one thing removed: a peer of a rule that has several, else the rule.
pub(super) fn reduced_policies(spec: &Value) -> Vec<ReducedPolicy> {
    let mut all = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = spec[direction].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, rule) in rules.iter().enumerate() {
            let count = rule[peers].as_array().map_or(0, Vec::len);
            // A rule without any peer would allow everything, so the only peer is removed with its rule.
            for peer in 0..count.max(1) {
                let mut rest = spec.clone();
                let (list, at) = if count > 1 {
                    (&mut rest[direction][index][peers], peer)
                } else {
                    (&mut rest[direction], index)
                };
                let removed = list.as_array_mut().map(|list| list.remove(at)).unwrap_or_default();
                let ports = if count > 1 { rule["ports"].to_string() } else { String::new() };
                all.push(ReducedPolicy {
                    what: format!("{direction} {removed} {ports}").trim_end().to_owned(),
                    spec: rest,
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_rule_or_peer_is_removed_at_a_time() {
        let spec = json!({
            "ingress": [{ "ports": [1], "from": ["a", "b"] }, { "from": ["c"] }],
            "egress": [{ "ports": [2] }],
        });
        let rests: Vec<_> = reduced_policies(&spec).into_iter().map(|one| one.spec).collect();
        let ingress = &spec["ingress"];
        assert_eq!(
            rests,
            [
                json!({ "ingress": [{ "ports": [1], "from": ["b"] }, ingress[1]], "egress": spec["egress"] }),
                json!({ "ingress": [{ "ports": [1], "from": ["a"] }, ingress[1]], "egress": spec["egress"] }),
                json!({ "ingress": [ingress[0]], "egress": spec["egress"] }),
                json!({ "ingress": spec["ingress"], "egress": [] }),
            ]
        );
    }

    #[test]
    fn what_is_removed_is_described() {
        let spec = json!({ "ingress": [{ "ports": [1], "from": ["a", "b"] }] });
        let whats: Vec<_> = reduced_policies(&spec).into_iter().map(|one| one.what).collect();
        assert_eq!(whats, [r#"ingress "a" [1]"#, r#"ingress "b" [1]"#]);
    }
}
