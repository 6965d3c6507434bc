use std::time::Duration;

use rstest::rstest;
use vmafx_kit::config::{Environment, ParseExit, parse};
use vmafx_kit::daemon::DaemonSettings as _;

use super::*;

const REQUIRED: [(&str, &str); 3] = [
    ("VMAFX_TRAINER_NAME", "m"),
    ("VMAFX_TRAINER_OUTPUT_REGISTRY", "registry.example.com/models"),
    ("VMAFX_CONTROLLER_ADDR", "localhost:9090"),
];

fn settings(env: &[(&str, &str)]) -> Result<Settings, ParseExit> {
    let required = REQUIRED.iter().filter(|(name, _)| !env.iter().any(|(own, _)| own == name));
    let env: Environment = required.chain(env).copied().collect();
    parse(["vmafx-trainer"], &env, Settings::RENAMED)
}

fn refused(env: &[(&str, &str)]) -> String {
    match settings(env) {
        Err(ParseExit::Invalid(refusal)) => refusal.to_string(),
        other => panic!("{env:?} was accepted: {other:?}"),
    }
}

#[test]
fn a_name_a_registry_and_a_controller_are_enough() {
    let settings = settings(&[]).unwrap();
    let run = &settings.run;
    assert_eq!((run.base_model.as_str(), run.algorithm), ("vmaf_v0.6.1", Algorithm::OnlineSgdEma));
    assert_eq!((run.checkpoint_interval.0, run.checkpoint_min_samples), (Duration::from_mins(10), 1000));
    assert_eq!((run.gate_max_srocc_drop, run.gate_max_rmse_ratio), (0.005, 1.0));
    assert_eq!(run.node_selector, NodeSelector::default());
    assert_eq!(run.learner.options(), crate::learner::LearnerOptions::default());
    assert_eq!(settings.status_addr.to_string(), ":9091");
    assert_eq!(settings.shutdown_budget().to_string(), "1m");
}

#[test]
fn what_the_operator_sets_is_read() {
    let settings = settings(&[
        ("VMAFX_TRAINER_NAMESPACE", "team"),
        ("VMAFX_TRAINER_UID", "5f0c"),
        ("VMAFX_TRAINER_BASE_MODEL", "oci://registry.example.com/base:1"),
        ("VMAFX_TRAINER_ALGORITHM", "online-sgd-ema"),
        ("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "30s"),
        ("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "50"),
        ("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", "0.01"),
        ("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "0.9"),
        ("VMAFX_TRAINER_NODE_SELECTOR", r#"{"gpu.vendor":"nvidia","rack":"7"}"#),
        ("VMAFX_TRAINER_STATUS_ADDR", ":9999"),
        ("VMAFX_TRAINER_GRACEFUL_SHUTDOWN", "45s"),
        ("VMAFX_CLUSTER", "east"),
        ("VMAFX_CONTROLLER_TLS", "true"),
        ("VMAFX_CONTROLLER_SERVER_NAME", "controller"),
        ("VMAFX_CONTROLLER_CA_FILE", "/ca.crt"),
        ("VMAFX_CONTROLLER_TOKEN_FILE", "/token"),
        ("VMAFX_OCI_PLAIN_HTTP", "a:5000,b:5000"),
        ("VMAFX_TRAINER_SEED", "7"),
        ("VMAFX_TRAINER_EMA", "0.5"),
        ("VMAFX_TRAINER_LABEL_NOISE", "6"),
        ("VMAFX_TRAINER_REPLAY_CAPACITY", "100"),
        ("VMAFX_TRAINER_REPLAY", "3"),
    ])
    .unwrap();
    let run = &settings.run;
    assert_eq!((run.namespace.as_str(), run.uid.as_str(), run.cluster.as_str()), ("team", "5f0c", "east"));
    assert_eq!(run.base_model, "oci://registry.example.com/base:1");
    assert_eq!((run.checkpoint_interval.0, run.checkpoint_min_samples), (Duration::from_secs(30), 50));
    assert_eq!((run.gate_max_srocc_drop, run.gate_max_rmse_ratio), (0.01, 0.9));
    assert_eq!(run.node_selector.0["rack"], "7");
    assert_eq!(run.oci_plain_http, ["a:5000", "b:5000"]);
    let learner = run.learner.options();
    assert_eq!((learner.seed, learner.ema, learner.label_noise), (7, 0.5, 6.0));
    assert_eq!((learner.replay_capacity, learner.replay), (100, 3));
    assert!(settings.channel.controller_tls);
    assert_eq!(settings.shutdown_budget().to_string(), "45s");
}

#[rstest]
#[case("VMAFX_TRAINER_NAME", "-m", "a tag cannot start with it")]
#[case("VMAFX_TRAINER_NAME", "a/b", "a tag cannot start with it")]
#[case("VMAFX_TRAINER_ALGORITHM", "adam", "VMAFX_TRAINER_ALGORITHM")]
#[case("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "10", "the unit is missing")]
#[case("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "0", "VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES")]
#[case("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", "NaN", "use a number from 0 to 2")]
#[case("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "-1", "use a number from 0 to 100")]
#[case("VMAFX_TRAINER_EMA", "1", "use a number from 0 to below 1")]
#[case("VMAFX_TRAINER_LABEL_NOISE", "0", "use a number above 0")]
#[case("VMAFX_TRAINER_NODE_SELECTOR", "zone=a", "write labels as a JSON object")]
#[case("VMAFX_TRAINER_NODE_SELECTOR", r#"{"zone":1}"#, "write labels as a JSON object")]
fn an_invalid_value_is_refused_by_name(#[case] variable: &str, #[case] value: &str, #[case] why: &str) {
    let refusal = refused(&[(variable, value)]);
    assert!(refusal.contains(variable) && refusal.contains(why), "{refusal}");
}

#[test]
fn a_trainer_without_a_controller_is_refused() {
    let refusal = refused(&[("VMAFX_CONTROLLER_ADDR", "")]);
    assert!(refusal.contains("VMAFX_CONTROLLER_ADDR"), "{refusal}");
}

#[rstest]
#[case("VMAFX_BASE_MODEL_PATH", "set VMAFX_TRAINER_BASE_MODEL to a built-in name")]
#[case("VMAFX_SIDECAR_SOCKET", "set VMAFX_CONTROLLER_ADDR to host:port of the controller")]
#[case("VMAFX_SIDECAR_CHECKPOINT_DIR", "set VMAFX_TRAINER_OUTPUT_REGISTRY to a repository")]
#[case("VMAFX_SIDECAR_CKPT_INTERVAL_S", "set VMAFX_TRAINER_CHECKPOINT_INTERVAL to a duration")]
#[case("VMAFX_SIDECAR_MIN_SAMPLES_CKPT", "set VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES")]
fn variables_of_the_former_sidecar_are_refused_with_the_new_name(#[case] old: &str, #[case] new: &str) {
    let refusal = refused(&[(old, "1")]);
    assert!(refusal.contains(old) && refusal.contains(new), "{refusal}");
}

#[test]
fn every_variable_of_the_operators_table_is_read() {
    use clap::CommandFactory as _;
    let command = Settings::command();
    let read: Vec<&str> = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str()).collect();
    let table = include_str!("../../../operator/src/training/render/environment.rs");
    let rows = table.lines().filter(|line| line.starts_with("//! | `VMAFX_"));
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    assert!(named.len() >= 15, "{named:?}");
    for variable in named {
        assert!(read.contains(&variable), "{variable} is set by the operator and not read here");
    }
}
