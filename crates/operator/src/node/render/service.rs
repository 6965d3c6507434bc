//! The headless Service that gives each worker a name.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use vmafx_api::VmafxNode;

use super::{labels, metadata, pod};

/// Makes it. Workers that are not ready are named too: somebody may want to ask them why.
pub fn render(node: &VmafxNode) -> Service {
    Service {
        metadata: metadata(node),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            selector: Some(labels::selector(node)),
            ports: Some(vec![ServicePort {
                name: Some(pod::HTTP.to_owned()),
                port: pod::HTTP_PORT,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String(pod::HTTP.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}
