//! The chart's generated files, and the table of its values.
//!
//! Helm cannot read files outside a chart, so it gets copies: the operator's rules and the configuration of its webhooks
//! are in `files/`, and templates add names and labels.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use vmafx_operator::rbac::{OperatorPart, cluster_rules_of};

use super::{GeneratedFile, current, yaml};

const CHART: &str = "deploy/helm/vmafx";

pub(super) fn render(webhooks: &Value) -> Result<Vec<GeneratedFile>> {
    let files = vmafx_operator::rbac::files();
    let whole =
        files.iter().find(|file| file.name == "role.yaml").context("the operator has no role.yaml")?;
    let rules = |kind: &str| {
        let role = whole.objects.iter().find(|object| object["kind"] == kind);
        role.map(|role| role["rules"].clone()).with_context(|| format!("role.yaml has no {kind}"))
    };
    // The chart grants these only where the operator issues client certificates.
    let certificates = cluster_rules_of(OperatorPart::ClientCertificate);
    let mut cluster = rules("ClusterRole")?;
    if let Some(rules) = cluster.as_array_mut() {
        rules.retain(|rule| !certificates.contains(rule));
    }
    let generated = |name: &str, text: String| GeneratedFile { path: Path::new(CHART).join(name), text };
    let values = current(&Path::new(CHART).join("values.yaml"))?;
    Ok(vec![
        generated("files/operator-cluster-rules.yaml", yaml::render(&cluster)?),
        generated("files/operator-client-certificate-rules.yaml", yaml::render(&json!(certificates))?),
        generated("files/operator-own-rules.yaml", yaml::render(&rules("Role")?)?),
        generated("files/webhook.yaml", yaml::render(webhooks)?),
        generated("README.md", readme(&values)),
    ])
}

fn readme(values: &str) -> String {
    let mut table = String::new();
    for ValueRow { key, default, text } in rows(values) {
        table += &["| `", &key, "` | `", &default.replace('|', "\\|"), "` | ", &text, " |\n"].concat();
    }
    format!(
        "<!-- Generated from values.yaml by `make manifests`. Do not edit. -->\n\
         # The chart\n\n\
         ```\nhelm upgrade --install vmafx deploy/helm/vmafx --namespace vmafx-system --create-namespace \\\n  \
         --set operator.enabled=true\n```\n\n\
         ## Values\n\n| key | default | |\n|---|---|---|\n{table}"
    )
}

#[derive(Debug, PartialEq, Eq)]
struct ValueRow {
    key: String,
    default: String,
    text: String,
}

/// The keys with a comment line above them. The default of a key ends where another key of the same or a lower depth
/// starts.
fn rows(values: &str) -> Vec<ValueRow> {
    let (mut above, mut path, mut rows) =
        (String::new(), Vec::<(usize, &str)>::new(), Vec::<ValueRow>::new());
    let mut whole: Option<usize> = None;
    for line in values.lines() {
        let (text, depth) = (line.trim(), line.len() - line.trim_start().len());
        // Lines inside a documented value belong to its default.
        if let (Some(outer), Some(row)) = (whole, rows.last_mut())
            && !text.is_empty()
            && (depth > outer || (depth == outer && text.starts_with("- ")))
        {
            if !row.default.is_empty() {
                row.default.push(' ');
            }
            row.default.push_str(text);
            continue;
        }
        whole = None;
        if let Some(comment) = text.strip_prefix("# ") {
            comment.clone_into(&mut above);
        } else if let Some((key, default)) = text.split_once(':') {
            path.retain(|(outer, _)| *outer < depth);
            path.push((depth, key));
            if !above.is_empty() {
                let key = path.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".");
                let (default, text) = (default.trim().to_owned(), std::mem::take(&mut above));
                rows.push(ValueRow { key, default, text });
                whole = Some(depth);
            }
        } else {
            above.clear();
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_key_is_a_row_with_its_default() {
        let values = "# About the file.\n\n# One.\na: 1\nb:\n  # Two.\n  c: \"x\"\n  # Three.\n  d:\n    e: 5\n    f: { g: 6 }\n\
                      # Four.\nh:\n- i: 7\n# Five.\nj: []\n";
        let row = |key: &str, default: &str, text: &str| ValueRow {
            key: key.to_owned(),
            default: default.to_owned(),
            text: text.to_owned(),
        };
        let expected = [
            row("a", "1", "One."),
            row("b.c", "\"x\"", "Two."),
            row("b.d", "e: 5 f: { g: 6 }", "Three."),
            row("h", "- i: 7", "Four."),
            row("j", "[]", "Five."),
        ];
        assert_eq!(rows(values), expected);
    }
}
