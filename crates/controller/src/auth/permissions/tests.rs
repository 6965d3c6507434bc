use std::collections::BTreeSet;

use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::method_options::IdempotencyLevel;
use rstest::rstest;

use super::*;

fn method_paths(descriptors: &[u8]) -> BTreeSet<String> {
    let pool = DescriptorPool::decode(descriptors).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    methods.map(|method| format!("/{}/{}", method.parent_service().full_name(), method.name())).collect()
}

#[test]
fn every_served_method_is_listed_and_no_other() {
    let mut served = method_paths(vmafx_proto::FILE_DESCRIPTOR_SET);
    served.extend(method_paths(tonic_health::pb::FILE_DESCRIPTOR_SET));
    served.extend(method_paths(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET));
    served.extend(method_paths(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET));
    let listed: BTreeSet<String> = GRPC_METHODS.iter().map(|(path, ..)| (*path).to_owned()).collect();
    assert_eq!(listed, served);
    assert_eq!(listed.len(), GRPC_METHODS.len(), "a method is listed twice");
}

#[test]
fn the_duration_of_a_method_agrees_with_its_streams() {
    let sets = [
        vmafx_proto::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let pools = sets.map(|set| DescriptorPool::decode(set).unwrap());
    let mut compared = 0;
    for service in pools.iter().flat_map(DescriptorPool::services) {
        for method in service.methods() {
            let path = format!("/{}/{}", service.full_name(), method.name());
            let (.., duration) = grpc_method(&path).unwrap();
            let streams = (method.is_client_streaming(), method.is_server_streaming());
            let expected = match duration {
                CallDuration::Short | CallDuration::Pull | CallDuration::Score => (false, false),
                CallDuration::Stream => (false, true),
                CallDuration::Exchange => (true, true),
            };
            assert_eq!(streams, expected, "{path}");
            compared += 1;
        }
    }
    assert_eq!(compared, GRPC_METHODS.len());
}

#[test]
fn callers_without_a_token_send_tiny_messages() {
    for (path, permission, _, size, _) in &GRPC_METHODS {
        assert!(*permission != Permission::Exempt || *size == MessageSize::Tiny, "{path}");
    }
}

/// The contract marks the methods that change nothing, so that a row cannot leave a call out of the audit log.
#[test]
fn the_effect_of_a_method_agrees_with_the_contract() {
    let pool = DescriptorPool::decode(vmafx_proto::FILE_DESCRIPTOR_SET).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let mut compared = 0;
    for method in methods {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        let options = method.method_descriptor_proto().options.clone().unwrap_or_default();
        let (_, permission, effect, ..) = grpc_method(&path).unwrap();
        let reads = options.idempotency_level() == IdempotencyLevel::NoSideEffects;
        assert_eq!(*effect == CallEffect::Reads, reads, "{path}");
        let of_readers = Permission::Roles(Roles::of(&[Role::Reader, Role::Writer, Role::Admin]));
        assert_eq!(*permission == of_readers, reads, "{path}: readers change nothing");
        compared += 1;
    }
    assert_eq!(compared, GRPC_METHODS.iter().filter(|(path, ..)| path.starts_with("/vmafx.")).count());
}

#[test]
fn a_route_that_readers_may_call_changes_nothing() {
    for (method, path, permission) in &HTTP_ROUTES {
        // Signing in and out changes no job, but who did it belongs into the audit log.
        let signs = *path == crate::http::routes::SESSION && !method.is_safe();
        let reads = *permission != of("writer admin") && !signs;
        assert_eq!(http_effect(method) == CallEffect::Reads, reads, "{method} {path}");
    }
}

#[test]
fn every_served_route_is_listed_and_no_other() {
    let name = |method: &Method, path: &str| format!("{method} {path}");
    let probes = ["/healthz", "/readyz", "/metrics"].map(|path| name(&Method::GET, path));
    let files = crate::dashboard::PATHS.map(|path| name(&Method::GET, path));
    let routes = crate::http::routes::ALL.iter().map(|(method, path)| name(method, path));
    let served: BTreeSet<String> = routes.chain(probes).chain(files).collect();
    let listed: BTreeSet<String> = HTTP_ROUTES.iter().map(|(method, path, _)| name(method, path)).collect();
    assert_eq!(listed, served);
    assert_eq!(listed.len(), HTTP_ROUTES.len(), "a route is listed twice");
}

/// Repeats the documented permissions, so that an accidental change of the list fails.
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
#[case("UpdateJob", "writer admin")]
#[case("StreamSamples", "reader writer admin")]
#[case("Explain", "reader writer admin")]
#[case("ListJobs", "reader writer admin")]
#[case("ListNodes", "reader writer admin")]
fn methods_of_the_controller_have_the_roles_of_the_contract(#[case] method: &str, #[case] roles: &str) {
    assert_eq!(of_grpc_method(&format!("/vmafx.controller.v1.VmafxController/{method}")), Some(of(roles)));
}

#[rstest]
#[case("/vmafx.v1.VmafxScoring/Score", "writer admin")]
#[case("/vmafx.v1.VmafxScoring/ScoreStream", "writer admin")]
#[case("/vmafx.v1.VmafxScoring/Health", "reader writer admin")]
#[case("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "reader writer admin")]
#[case("/grpc.health.v1.Health/Check", "")]
fn the_other_methods_have_theirs(#[case] path: &str, #[case] roles: &str) {
    assert_eq!(of_grpc_method(path), Some(of(roles)));
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
#[case("GET", "/jobs", Some(""))]
#[case("POST", "/session", Some(""))]
#[case("POST", "/jobs", None)]
fn routes_have_their_roles(#[case] method: &str, #[case] path: &str, #[case] roles: Option<&str>) {
    assert_eq!(of_http_route(&method.parse().unwrap(), path), roles.map(of));
}

#[rstest]
#[case("/vmafx.controller.v1.VmafxController/DropEverything")]
#[case("/vmafx.controller.v1.VmafxController/")]
#[case("/grpc.health.v1.Health/check")]
#[case("//grpc.health.v1.Health/Check")]
#[case("")]
fn an_unknown_method_is_denied(#[case] path: &str) {
    assert_eq!(of_grpc_method(path), None);
}

fn of(roles: &str) -> Permission {
    if roles.is_empty() {
        return Permission::Exempt;
    }
    let role = |name: &str| Role::from_name(&format!("vmafx:{name}")).unwrap();
    Permission::Roles(roles.split(' ').map(role).collect())
}
