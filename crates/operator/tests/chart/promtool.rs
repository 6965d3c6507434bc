//! The alerts in Prometheus: all are valid, and each fires exactly when it should.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use vmafx_testkit::kube::assets::cache;
use vmafx_testkit::kube::process::find_program;

use crate::helm::Chart;

const ENABLED: &str = "monitoring.prometheusRule.enabled=true";

/// Series of samples, and the alerts that fire on them.
const CASES: &str = include_str!("alerts.yaml");

/// The promtool that `make setup` has installed, or the one in `PATH`.
fn promtool() -> PathBuf {
    let tools = cache().unwrap().join("tools");
    let of_setup =
        tools.read_dir().into_iter().flatten().flatten().map(|entry| entry.path().join("promtool"));
    let found = of_setup.filter(|path| path.is_file()).max().or_else(|| find_program("promtool"));
    found.unwrap_or_else(|| panic!("no promtool in {} nor in PATH: run `make setup`", tools.display()))
}

fn run(arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(promtool()).args(arguments).current_dir(directory).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {}: {printed}", arguments.join(" "));
    printed.into_owned()
}

/// Writes the alerts of a release to a file, as Prometheus would get it, and returns their number.
fn write(values: &Path, file: &Path) -> usize {
    let objects = Chart::render_with(values, "ns", &[ENABLED]);
    let rule = objects.iter().find(|object| object["kind"] == "PrometheusRule");
    let Some(spec) = rule.map(|rule| &rule["spec"]) else { return 0 };
    std::fs::write(file, serde_saphyr::to_string(spec).unwrap()).unwrap();
    spec["groups"].as_array().unwrap().iter().map(|group| group["rules"].as_array().unwrap().len()).sum()
}

#[test]
fn the_alerts_of_every_values_file_are_valid() {
    let directory = tempfile::tempdir().unwrap();
    for values in Chart::combinations() {
        let rules = write(&values, &directory.path().join("rules.yaml"));
        assert!(rules > 3, "{}: {rules} rules", values.display());
        let printed = run(&["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"], directory.path());
        assert!(
            printed.contains(&format!("SUCCESS: {rules} rules found")),
            "{}: {printed}",
            values.display()
        );
    }
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    let directory = tempfile::tempdir().unwrap();
    write(&Chart::values("postgres"), &directory.path().join("rules.yaml"));
    std::fs::write(directory.path().join("cases.yaml"), CASES).unwrap();
    run(&["test", "rules", "cases.yaml"], directory.path());
}

#[test]
fn every_alert_is_tested_firing_and_not_firing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.yaml");
    write(&Chart::values("postgres"), &file);
    let rules: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases: Value = serde_saphyr::from_str(CASES).unwrap();
    let tests = cases["tests"].as_array().unwrap();
    let tested: Vec<_> =
        tests.iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap()).map(fires).collect();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let name = rule["alert"].as_str().unwrap();
        assert!(tested.contains(&(name, true)) && tested.contains(&(name, false)), "{name}: {tested:?}");
    }
}

/// The alert of a case, and whether it fires.
fn fires(case: &Value) -> (&str, bool) {
    let expected = case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty());
    (case["alertname"].as_str().unwrap(), expected)
}
