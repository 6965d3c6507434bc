//! The chart: every documented combination of values is rendered by Helm and shown to a real API server, which stores
//! nothing of it; what containers are told is read by the programs' own settings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod crds;
mod helm;
mod monitoring;
mod policies;
mod promtool;
mod server;
mod told;

use rstest::rstest;

use crate::helm::Chart;

#[rstest]
#[case::unknown("operator.replicas=2", "additional properties 'replicas' not allowed")]
#[case::unknown_at_the_top("replicaCount=2", "additional properties 'replicaCount' not allowed")]
#[case::wrong_store("controller.store.backend=mysql", "value must be one of 'sqlite', 'postgres'")]
#[case::wrong_duration("operator.nodeDrain=soon", "does not match pattern")]
#[case::wrong_role("auth.subjects.me={root}", "value must be one of")]
#[case::two_on_one_file(
    "controller.replicas=2",
    "more than one controller needs controller.store.backend=postgres"
)]
#[case::no_database("controller.store.backend=postgres", "name the Secret with the URL of the database")]
#[case::no_controller("controller.enabled=false", "say where the controller is")]
#[case::keys_of_nobody("auth.jwksEndpoint=https://issuer.example.com/keys", "say who signs the tokens")]
#[case::half_an_address("operator.controllerAddress.grpc=c:1", "set grpc and http together")]
#[case::certificates_for_nobody(
    "operator.webhook.certManager.enabled=true",
    "set operator.webhook.enabled=true too"
)]
fn what_cannot_work_is_refused_with_what_to_do(#[case] set: &str, #[case] words: &str) {
    let said = Chart::refused(&["--set", "operator.enabled=true", "--set", set]);
    assert!(said.contains(words), "{said}");
}

#[test]
fn it_passes_helms_own_look() {
    for values in Chart::combinations() {
        Chart::lint(&values);
    }
}

#[test]
fn whatever_was_not_asked_for_is_not_there() {
    assert_eq!(Chart::render(&Chart::values("definitions-only"), "ns"), Vec::<serde_json::Value>::new());
}
