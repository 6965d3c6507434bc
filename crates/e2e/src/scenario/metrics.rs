//! Every metric that an alert or the dashboard uses exists on a metrics page of a running release.

mod promql;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::platform::Platform;

/// Metrics that Prometheus itself creates.
const PROMETHEUS_METRICS: [&str; 1] = ["up"];

/// Checks the pages of Pods, given by name and port. Returns the number of metrics.
pub(super) async fn check(platform: &Platform, namespace: &str, pages: &[(String, u16)]) -> Result<usize> {
    let set = ["prometheusRule", "dashboards"].map(|part| format!("monitoring.{part}.enabled=true"));
    let chart = platform.helm().chart().to_string_lossy().into_owned();
    let args =
        ["template", "vmafx", &chart, "--set", "operator.enabled=true", "--set", &set[0], "--set", &set[1]];
    let rendered: Vec<Value> = serde_saphyr::from_multiple(&platform.helm().run(&args, "").await?)?;
    let used = used_metrics(&rendered)?;
    ensure!(used.len() > 10, "only {used:?}");

    let mut shown = BTreeSet::new();
    for (pod, port) in pages {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy/metrics");
        let page = platform.kubectl().run(&["get", "--raw", &path]).await?;
        let series = series(&page);
        ensure!(series.contains("vmafx_build_info"), "{pod} shows no metrics:\n{page}");
        shown.extend(series);
    }
    let missing: Vec<_> = used.difference(&shown).collect();
    ensure!(missing.is_empty(), "these metrics are on no page: {missing:?}");
    Ok(used.len())
}

/// The metrics in the expressions of alerts and dashboards.
fn used_metrics(objects: &[Value]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for object in objects {
        match object["kind"].as_str() {
            Some("PrometheusRule") => collect(object, &mut names),
            Some("ConfigMap") => {
                for file in object["data"].as_object().into_iter().flatten().map(|(_, file)| file) {
                    let board: Value = serde_json::from_str(file.as_str().unwrap_or_default())
                        .context("a dashboard is not JSON")?;
                    collect(&board, &mut names);
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !PROMETHEUS_METRICS.contains(&name.as_str()));
    Ok(names)
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match (key.as_str(), field.as_str()) {
                    ("expr", Some(expression)) => names.extend(promql::metrics(expression)),
                    // A dashboard variable: the values of a metric's label.
                    ("query", Some(query)) if query.starts_with("label_values(") => {
                        names.extend(promql::metrics(query.split(',').next().unwrap_or_default()));
                    }
                    _ => collect(field, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

/// The names of the series on a page. A family without series is known by its TYPE line.
fn series(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in page.lines() {
        let mut args = line.split(|c: char| c == '{' || c.is_whitespace());
        match (args.next(), args.next(), args.next(), args.next()) {
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let ends: &[&str] = match kind {
                    "counter" => &["_total"],
                    "histogram" => &["_bucket", "_count", "_sum"],
                    _ => &[""],
                };
                names.extend(ends.iter().map(|end| format!("{name}{end}")));
            }
            (Some(name), ..) if !name.is_empty() && name != "#" => _ = names.insert(name.to_owned()),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_of_alerts_and_dashboards_are_found() {
        let board = json!({
            "panels": [{ "targets": [{ "expr": "rate(vmafx_a_total[5m])" }] }],
            "templating": { "list": [{ "query": "label_values(vmafx_b, namespace)" }, { "query": "prometheus" }] },
        });
        let objects = [
            json!({ "kind": "PrometheusRule", "spec": { "groups": [{ "rules": [{ "expr": "up == 0 or vmafx_c > 1" }] }] } }),
            json!({ "kind": "ConfigMap", "data": { "vmafx.json": board.to_string() } }),
            json!({ "kind": "Deployment", "expr": "vmafx_d" }),
        ];
        let names = used_metrics(&objects).unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["vmafx_a_total", "vmafx_b", "vmafx_c"]);
    }

    #[test]
    fn a_page_has_its_series_and_families_that_have_none_yet() {
        let page =
            "# HELP a What.\n# TYPE a counter\na_total{b=\"c d\"} 1\n# TYPE e histogram\nf 1.0\n# EOF\n";
        let names: Vec<_> = series(page).into_iter().collect();
        assert_eq!(names, ["a_total", "e_bucket", "e_count", "e_sum", "f"]);
    }
}
