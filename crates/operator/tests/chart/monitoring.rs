//! Every metric that alerts, dashboard and documents name exists, and every alert has a runbook.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::helm::Chart;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Names of metrics with the prefix `vmafx_`, without the prefix and the suffixes of Prometheus.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '_');
    let ours = words.filter_map(|word| word.strip_prefix("vmafx_"));
    ours.map(|name| ["_total", "_bucket", "_count"].iter().fold(name, |name, end| name.trim_end_matches(end)))
        .map(str::to_owned)
        .collect()
}

/// Appends all Rust source in the directory to `text`.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &fs::read_to_string(path).unwrap();
        }
    }
}

/// The documents directly in `docs`, without the ADRs.
fn documents() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_metric_that_is_named_exists() {
    let mut source = String::new();
    for part in ["kit", "controller", "operator", "node", "trainer"] {
        sources(&root().join("crates").join(part).join("src"), &mut source);
    }
    let files = root().join("deploy/helm/vmafx/files");
    let mut texts: Vec<_> = ["alerts.yaml", "dashboard.json"].map(|file| files.join(file)).into();
    texts.extend(documents());
    let named: BTreeSet<_> =
        texts.iter().flat_map(|file| metrics(&fs::read_to_string(file).unwrap())).collect();
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> = named
        .iter()
        .filter(|name| {
            !source.contains(&format!("\"{name}\"")) && !source.contains(&format!("\"vmafx_{name}\""))
        })
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn every_alert_has_a_runbook() {
    let runbooks = fs::read_to_string(root().join("docs/runbooks.md")).unwrap();
    let objects = Chart::render(&Chart::values("postgres"), "ns");
    let rule = objects.iter().find(|object| object["kind"] == "PrometheusRule").unwrap();
    let rules = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 5);
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        assert!(runbooks.contains(&format!("\n## {name}\n")), "{name} has no runbook");
        let link = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert!(link.ends_with(&format!("#{}", name.to_lowercase())), "{link}");
    }
}

#[test]
fn the_token_for_names_of_tenants_reaches_controller_and_prometheus() {
    let set = ["monitoring.metricsToken.secretName=scrape", "monitoring.metricsToken.key=t"];
    let objects = Chart::render_with(&Chart::values("postgres"), "ns", &set);
    let monitor = objects.iter().find(|object| object["kind"] == "ServiceMonitor").unwrap();
    let credentials = &monitor["spec"]["endpoints"][0]["authorization"]["credentials"];
    assert_eq!(*credentials, json!({ "name": "scrape", "key": "t" }));
    let controller =
        |object: &&Value| object["kind"] == "Deployment" && object["metadata"]["name"] == "vmafx-controller";
    let pod = &objects.iter().find(controller).unwrap()["spec"]["template"]["spec"];
    let find = |list: &Value, name: &str| {
        list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let container = &pod["containers"][0];
    let mount = find(&container["volumeMounts"], "metrics-token")["mountPath"].clone();
    let file = find(&container["env"], "VMAFX_AUTH_METRICS_TOKEN_FILE")["value"].clone();
    let secret = find(&pod["volumes"], "metrics-token")["secret"].clone();
    assert_eq!((&secret["secretName"], &secret["items"][0]["key"]), (&json!("scrape"), &json!("t")));
    let item = secret["items"][0]["path"].as_str().unwrap();
    assert_eq!(file, format!("{}/{item}", mount.as_str().unwrap()));
}

/// So that they are the same for a scraper that does not see the names of tenants.
#[test]
fn no_alert_and_no_panel_depends_on_names_of_tenants() {
    let files = root().join("deploy/helm/vmafx/files");
    for file in ["alerts.yaml", "dashboard.json"] {
        assert!(!fs::read_to_string(files.join(file)).unwrap().contains("tenant"), "{file}");
    }
}
