//! The egress rules of the network policies, as far as they follow from the values. `make e2e` tests their enforcement.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;

use crate::helm::Chart;

/// Ports to which a component may connect on any host.
fn egress_ports(values: &Path, set: &[&str], component: &str) -> BTreeSet<String> {
    let objects = Chart::render_with(values, "ns", set);
    let ours = |object: &&Value| {
        object["kind"] == "NetworkPolicy"
            && object["metadata"]["labels"]["app.kubernetes.io/component"] == component
    };
    let policy = objects.iter().find(ours).unwrap();
    let rules = policy["spec"]["egress"].as_array().unwrap().iter().filter(|rule| rule["to"].is_null());
    rules.flat_map(|rule| rule["ports"].as_array().unwrap()).map(|port| port["port"].to_string()).collect()
}

#[rstest]
#[case::a_controller_elsewhere("elsewhere", &[], "workers", &["443", "53", "9090"])]
#[case::and_the_operator("elsewhere", &[], "operator", &["443", "53", "6443", "9090"])]
#[case::at_another_port(
    "elsewhere",
    &["operator.controllerAddress.grpc=c:1", "operator.controllerAddress.http=http://c"],
    "operator",
    &["1", "443", "53", "6443", "80"]
)]
#[case::keys_elsewhere(
    "controller-alone",
    &["auth.jwksEndpoint=https://issuer:8443/keys"],
    "controller",
    &["443", "53", "6443", "8443"]
)]
#[case::another_dns_server(
    "controller-alone",
    &["networkPolicy.dns[0].ipBlock.cidr=10.0.0.10/32"],
    "controller",
    &["443", "6443"]
)]
#[case::a_database("postgres", &[], "controller", &["443", "53", "5432", "6443"])]
fn egress_ports_follow_from_the_values(
    #[case] values: &str,
    #[case] set: &[&str],
    #[case] component: &str,
    #[case] expected: &[&str],
) {
    let expected = expected.iter().map(|&port| port.to_owned()).collect();
    assert_eq!(egress_ports(&Chart::values(values), set, component), expected);
}
