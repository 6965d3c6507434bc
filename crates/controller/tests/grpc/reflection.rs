//! Reflection and health checks, which third-party clients use.

use std::collections::BTreeSet;

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::server::TestServer;

#[tokio::test]
async fn reflection_lists_every_service() {
    let server = TestServer::start().await;
    let mut client = ServerReflectionClient::new(server.channel().await);
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let request = ServerReflectionRequest { host: String::new(), message_request };
    let mut responses =
        client.server_reflection_info(futures::stream::iter([request])).await.unwrap().into_inner();
    let response = responses.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(list) = response else { panic!("{response:?}") };
    let names: BTreeSet<_> = list.service.into_iter().map(|service| service.name).collect();
    for name in ["vmafx.controller.v1.VmafxController", "vmafx.v1.VmafxScoring", "grpc.health.v1.Health"] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
}

#[tokio::test]
async fn both_services_are_healthy() {
    let server = TestServer::start().await;
    let mut client = HealthClient::new(server.channel().await);
    for service in ["", "vmafx.controller.v1.VmafxController", "vmafx.v1.VmafxScoring"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let status = client.check(request).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service:?}");
    }
}
