//! The rules of the network policies, as far as they follow from the values. `make e2e` tests their enforcement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use crate::helm::Chart;

/// The network policies, by component.
fn policies(values: &Path, set: &[&str]) -> BTreeMap<String, Value> {
    let objects = Chart::render_with(values, "ns", set);
    let policies = objects.into_iter().filter(|object| object["kind"] == "NetworkPolicy");
    let component = |object: &Value| object["metadata"]["labels"]["app.kubernetes.io/component"].clone();
    policies.map(|policy| (component(&policy).as_str().unwrap().to_owned(), policy)).collect()
}

/// Ports to which a component may connect on any host.
fn egress_ports(values: &Path, set: &[&str], component: &str) -> BTreeSet<String> {
    let policies = policies(values, set);
    let policy = &policies[component];
    let rules = policy["spec"]["egress"].as_array().unwrap().iter().filter(|rule| rule["to"].is_null());
    rules.flat_map(|rule| rule["ports"].as_array().unwrap()).map(|port| port["port"].to_string()).collect()
}

#[rstest]
#[case::a_controller_elsewhere("elsewhere", &[], "workers", &["443", "53", "9090"])]
#[case::and_the_operator("elsewhere", &[], "operator", &["16443", "443", "53", "6443", "8443", "9090"])]
#[case::at_another_port(
    "elsewhere",
    &["operator.controllerAddress.grpc=c:1", "operator.controllerAddress.http=http://c"],
    "operator",
    &["1", "16443", "443", "53", "6443", "80", "8443"]
)]
#[case::keys_elsewhere(
    "controller-alone",
    &["auth.jwksEndpoint=https://issuer:9443/keys"],
    "controller",
    &["16443", "443", "53", "6443", "8443", "9443"]
)]
#[case::another_dns_server(
    "controller-alone",
    &["networkPolicy.dns[0].ipBlock.cidr=10.0.0.10/32"],
    "controller",
    &["16443", "443", "6443", "8443"]
)]
#[case::a_database("postgres", &[], "controller", &["16443", "443", "53", "5432", "6443", "8443"])]
fn egress_ports_follow_from_the_values(
    #[case] values: &str,
    #[case] set: &[&str],
    #[case] component: &str,
    #[case] expected: &[&str],
) {
    let expected = expected.iter().map(|&port| port.to_owned()).collect();
    assert_eq!(egress_ports(&Chart::values(values), set, component), expected);
}

/// The ingress of a component: pairs of ports and peers.
fn ingress(policy: &Value) -> Value {
    let rules = policy["spec"]["ingress"].as_array().unwrap();
    let ports = |rule: &Value| -> Vec<Value> {
        rule["ports"].as_array().unwrap().iter().map(|port| port["port"].clone()).collect()
    };
    rules.iter().map(|rule| json!([ports(rule), rule["from"]])).collect()
}

fn of_release(component: &str) -> Value {
    json!({ "podSelector": { "matchLabels": {
        "app.kubernetes.io/name": "vmafx", "app.kubernetes.io/instance": "vmafx",
        "app.kubernetes.io/component": component,
    } } })
}

#[test]
fn by_default_only_workers_and_scrapers_of_other_namespaces_reach_a_release() {
    let policies = policies(&Chart::values("quick-start"), &[]);
    let scrapers = json!({ "namespaceSelector": { "matchLabels": { "vmafx.dev/metrics": "scrape" } } });
    let workers = json!({
        "namespaceSelector": {},
        "podSelector": { "matchExpressions": [{ "key": "vmafx.dev/workload", "operator": "Exists" }] },
    });
    let operator = of_release("operator");
    let expected = [
        ("controller", json!([[["grpc"], [workers, operator]], [["http"], [operator, scrapers]]])),
        ("operator", json!([[["metrics"], [scrapers]]])),
        ("workers", json!([[["http"], [operator, scrapers]]])),
    ];
    let actual: Vec<_> = policies.iter().map(|(name, policy)| (name.as_str(), ingress(policy))).collect();
    assert_eq!(actual, expected);
}

#[test]
fn without_scrapers_nobody_else_reaches_the_metrics() {
    let policies = policies(&Chart::values("quick-start"), &["networkPolicy.metricsScrape=null"]);
    let operator = of_release("operator");
    assert_eq!(ingress(&policies["operator"]), json!([]));
    assert_eq!(ingress(&policies["workers"]), json!([[["http"], [operator]]]));
    assert_eq!(ingress(&policies["controller"])[1], json!([["http"], [operator]]));
}

/// The API server calls the webhooks from an address that no selector matches.
#[test]
fn only_the_webhooks_are_open_to_everybody() {
    for values in Chart::combinations() {
        let policies = policies(&values, &[]);
        for (component, policy) in &policies {
            for rule in ingress(policy).as_array().unwrap() {
                assert_eq!(rule[1].is_null(), rule[0] == json!(["webhook"]), "{component}: {rule}");
            }
        }
    }
}

#[rstest]
#[case::only_definitions("definitions-only", &[], &[])]
#[case::no_operator("controller-alone", &[], &["controller"])]
#[case::no_controller("elsewhere", &[], &["operator", "workers"])]
#[case::off("quick-start", &["networkPolicy.enabled=false"], &[])]
fn each_component_has_a_policy(#[case] values: &str, #[case] set: &[&str], #[case] expected: &[&str]) {
    let policies = policies(&Chart::values(values), set);
    assert_eq!(policies.keys().collect::<Vec<_>>(), expected);
}
