//! Policies without one of their rules. Pure.

use serde_json::Value;

/// A policy's `spec` without one thing that it allows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Without {
    /// What is missing, in words.
    pub(super) what: String,
    /// The rest.
    pub(super) spec: Value,
}

/// Every way to leave one thing out: a peer of a rule that has several, else the rule.
pub(super) fn without_one(spec: &Value) -> Vec<Without> {
    let mut all = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = spec[direction].as_array().map(Vec::as_slice).unwrap_or_default();
        for (place, rule) in rules.iter().enumerate() {
            let count = rule[peers].as_array().map_or(0, Vec::len);
            // Without its last peer a rule would be for everybody.
            for peer in 0..count.max(1) {
                let mut rest = spec.clone();
                let (list, at) = if count > 1 {
                    (&mut rest[direction][place][peers], peer)
                } else {
                    (&mut rest[direction], place)
                };
                let gone = list.as_array_mut().map(|list| list.remove(at)).unwrap_or_default();
                let ports = if count > 1 { rule["ports"].to_string() } else { String::new() };
                all.push(Without {
                    what: format!("{direction} {gone} {ports}").trim_end().to_owned(),
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
    fn one_thing_is_left_out_at_a_time() {
        let spec = json!({
            "ingress": [{ "ports": [1], "from": ["a", "b"] }, { "from": ["c"] }],
            "egress": [{ "ports": [2] }],
        });
        let rests: Vec<_> = without_one(&spec).into_iter().map(|one| one.spec).collect();
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
    fn what_is_left_out_is_said() {
        let spec = json!({ "ingress": [{ "ports": [1], "from": ["a", "b"] }] });
        let whats: Vec<_> = without_one(&spec).into_iter().map(|one| one.what).collect();
        assert_eq!(whats, [r#"ingress "a" [1]"#, r#"ingress "b" [1]"#]);
    }
}
