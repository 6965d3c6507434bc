use std::collections::BTreeSet;

use ::http::Method;
use prost_reflect::DescriptorPool;
use rstest::rstest;

use super::*;

/// The paths of every method that a set of descriptors has.
fn described(descriptors: &[u8]) -> BTreeSet<String> {
    let pool = DescriptorPool::decode(descriptors).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    methods.map(|method| format!("/{}/{}", method.parent_service().full_name(), method.name())).collect()
}

#[test]
fn every_method_that_is_served_has_a_row_and_no_other_has() {
    let mut served = described(vmafx_proto::FILE_DESCRIPTOR_SET);
    served.extend(described(tonic_health::pb::FILE_DESCRIPTOR_SET));
    served.extend(described(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET));
    served.extend(described(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET));
    let rows: BTreeSet<String> = grpc_methods().iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(rows, served);
    assert_eq!(rows.len(), grpc_methods().len(), "a method has two rows");
}

#[test]
fn every_route_that_is_served_has_a_row_and_no_other_has() {
    let name = |method: &Method, path: &str| format!("{method} {path}");
    let probes = ["/healthz", "/readyz", "/metrics"].map(|path| name(&Method::GET, path));
    let routes = crate::http::routes::ALL.iter().map(|(method, path)| name(method, path));
    let served: BTreeSet<String> = routes.chain(probes).collect();
    let rows: BTreeSet<String> = http_routes().iter().map(|(method, path, _)| name(method, path)).collect();
    assert_eq!(rows, served);
    assert_eq!(rows.len(), http_routes().len(), "a route has two rows");
}

/// The contract, written down a second time.
#[rstest]
#[case("SubmitJob", "writer admin")]
#[case("GetJob", "reader writer admin")]
#[case("CancelJob", "writer admin")]
#[case("StreamJobs", "reader writer admin")]
#[case("RegisterNode", "node")]
#[case("Heartbeat", "node")]
#[case("PullWork", "node")]
#[case("ReportResult", "node")]
#[case("ReleaseJob", "node")]
#[case("LabelJob", "writer admin")]
#[case("StreamSamples", "reader writer admin")]
#[case("Explain", "reader writer admin")]
#[case("ListJobs", "reader writer admin")]
#[case("ListNodes", "reader writer admin")]
fn methods_of_the_controller_have_the_roles_of_the_contract(#[case] method: &str, #[case] roles: &str) {
    assert_eq!(grpc(&format!("/vmafx.controller.v1.VmafxController/{method}")), Some(of(roles)));
}

#[rstest]
#[case("/vmafx.v1.VmafxScoring/Score", "writer admin")]
#[case("/vmafx.v1.VmafxScoring/ScoreStream", "writer admin")]
#[case("/vmafx.v1.VmafxScoring/Health", "reader writer admin")]
#[case("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "reader writer admin")]
#[case("/grpc.health.v1.Health/Check", "")]
fn the_other_methods_have_theirs(#[case] path: &str, #[case] roles: &str) {
    assert_eq!(grpc(path), Some(of(roles)));
}

#[rstest]
#[case("GET", "/healthz", Some(""))]
#[case("HEAD", "/healthz", Some(""))]
#[case("POST", "/v1/score", Some("writer admin"))]
#[case("GET", "/v1/score", None)]
#[case("GET", "/v1/jobs", Some("reader writer admin"))]
#[case("POST", "/v1/jobs", Some("writer admin"))]
#[case("PUT", "/v1/jobs", None)]
#[case("POST", "/v1/jobs/{id}/cancel", Some("writer admin"))]
#[case("GET", "/v1/jobs/../../healthz", None)]
fn routes_have_their_roles(#[case] method: &str, #[case] path: &str, #[case] roles: Option<&str>) {
    assert_eq!(http(&method.parse().unwrap(), path), roles.map(of));
}

#[rstest]
#[case("/vmafx.controller.v1.VmafxController/DropEverything")]
#[case("/vmafx.controller.v1.VmafxController/")]
#[case("/grpc.health.v1.Health/check")]
#[case("//grpc.health.v1.Health/Check")]
#[case("")]
fn an_unknown_method_is_for_nobody(#[case] path: &str) {
    assert_eq!(grpc(path), None);
}

fn of(roles: &str) -> Entry {
    if roles.is_empty() {
        return Entry::Exempt;
    }
    let role = |name: &str| Role::from_name(&format!("vmafx:{name}")).unwrap();
    Entry::Roles(roles.split(' ').map(role).collect())
}
