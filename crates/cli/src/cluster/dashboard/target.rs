//! The controller in the cluster: its Service, a Pod that is ready, and the authority of its certificate.
//!
//! What was found is used until a connection fails. Then it is looked up again, because a restarted controller has another
//! Pod, and may have another certificate authority.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::error::DashboardError;
use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;

const LABELS: &str = "app.kubernetes.io/part-of=vmafx,app.kubernetes.io/component=controller";
const HTTP_PORT: &str = "http";
const GRPC_PORT: &str = "grpc";
/// `appProtocol` of the gRPC port if the chart gives the controller TLS.
const TLS_PROTOCOL: &str = "https";
const AUTHORITY_KEY: &str = "ca.crt";

/// The Service of a controller.
#[derive(Clone, Debug)]
pub(super) struct ControllerService {
    namespace: String,
    name: String,
    selector: String,
    http_port: IntOrString,
    tls: bool,
}

impl fmt::Display for ControllerService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Pod of the controller, and what is needed to connect to it.
#[derive(Clone)]
pub(super) struct ControllerTarget {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) port: u16,
    pub(super) tls: Option<TargetTls>,
}

#[derive(Clone)]
pub(super) struct TargetTls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server_name: ServerName<'static>,
}

impl ControllerService {
    /// The only controller of the namespace or, without one, of the cluster.
    pub(super) async fn find(cluster: &Cluster, namespace: Option<&str>) -> Result<Self, DashboardError> {
        let api: Api<Service> = match namespace {
            Some(namespace) => Api::namespaced(cluster.client.clone(), namespace),
            None => Api::all(cluster.client.clone()),
        };
        let listed =
            cluster.call("find the controller", api.list(&ListParams::default().labels(LABELS))).await;
        let services = match listed {
            Err(KubeError::Forbidden { .. }) if namespace.is_none() => {
                return Err(DashboardError::NamespaceRequired);
            }
            listed => listed?.items,
        };
        match services.as_slice() {
            [] => Err(DashboardError::NoController {
                place: namespace.map_or_else(
                    || format!("the cluster at {}", cluster.server),
                    |name| format!("namespace {name}"),
                ),
            }),
            [service] => Self::of(service),
            several => Err(DashboardError::SeveralControllers(
                several
                    .iter()
                    .map(|one| format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any()))
                    .collect(),
            )),
        }
    }

    fn of(service: &Service) -> Result<Self, DashboardError> {
        let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
        let spec = service.spec.clone().unwrap_or_default();
        let ports = spec.ports.unwrap_or_default();
        let port = |name: &str| ports.iter().find(|port| port.name.as_deref() == Some(name));
        let Some(http) = port(HTTP_PORT) else {
            return Err(DashboardError::NoHttpPort { service: format!("{namespace}/{name}") });
        };
        let selector = spec.selector.unwrap_or_default();
        let labels: Vec<_> = selector.iter().map(|(label, value)| format!("{label}={value}")).collect();
        Ok(Self {
            namespace,
            name,
            selector: labels.join(","),
            http_port: http.target_port.clone().unwrap_or(IntOrString::Int(http.port)),
            tls: port(GRPC_PORT).is_some_and(|port| protocol(port) == Some(TLS_PROTOCOL)),
        })
    }

    async fn target(
        &self,
        cluster: &Cluster,
        ca_file: Option<&Path>,
    ) -> Result<ControllerTarget, DashboardError> {
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &self.namespace);
        let params = ListParams::default().labels(&self.selector);
        let pods = cluster.call("list the Pods of the controller", pods.list(&params)).await?;
        let mut ready = pods.items.iter().filter(|pod| is_ready(pod));
        let found = ready.find_map(|pod| Some((pod.name_any(), port_of(pod, &self.http_port)?)));
        let Some((pod, port)) = found else {
            return Err(DashboardError::NoReadyPod {
                service: self.to_string(),
                namespace: self.namespace.clone(),
            });
        };
        let tls = if self.tls { Some(self.target_tls(cluster, ca_file).await?) } else { None };
        Ok(ControllerTarget { namespace: self.namespace.clone(), pod, port, tls })
    }

    async fn target_tls(
        &self,
        cluster: &Cluster,
        ca_file: Option<&Path>,
    ) -> Result<TargetTls, DashboardError> {
        let roots = match ca_file {
            Some(file) => {
                let pem = tokio::fs::read(file)
                    .await
                    .map_err(|source| DashboardError::File { file: file.to_owned(), source })?;
                roots(&pem).ok_or_else(|| DashboardError::InvalidAuthority(file.to_owned()))?
            }
            None => roots(self.published_authority(cluster).await?.as_bytes())
                .ok_or_else(|| DashboardError::InvalidPublishedAuthority { service: self.to_string() })?,
        };
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let host = format!("{}.{}.svc.cluster.local", self.name, self.namespace);
        let server_name = ServerName::try_from(host).map_err(|error| DashboardError::Handshake {
            service: self.to_string(),
            cause: error.to_string(),
        })?;
        Ok(TargetTls { config: Arc::new(config), server_name })
    }

    /// The authority that the operator publishes.
    async fn published_authority(&self, cluster: &Cluster) -> Result<String, DashboardError> {
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &self.namespace);
        let name = format!("{}-ca", self.name);
        let what = "read the certificate authority of the controller";
        let map = cluster.call(what, maps.get_opt(&name)).await?;
        let authority = map.and_then(|map| map.data).and_then(|mut data| data.remove(AUTHORITY_KEY));
        authority.ok_or_else(|| DashboardError::NoAuthority {
            service: self.to_string(),
            config_map: format!("{}/{name}", self.namespace),
        })
    }
}

fn protocol(port: &ServicePort) -> Option<&str> {
    port.app_protocol.as_deref()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// The number of a port that may have a name.
fn port_of(pod: &Pod, port: &IntOrString) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            ports.find(|port| port.name.as_ref() == Some(name))?.container_port
        }
    };
    u16::try_from(number).ok()
}

fn roots(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
    roots.add_parsable_certificates(certificates);
    (!roots.is_empty()).then_some(roots)
}

/// The controller, looked up again after a failure.
pub(super) struct TargetCache {
    cluster: Cluster,
    service: ControllerService,
    ca_file: Option<PathBuf>,
    found: Mutex<Option<ControllerTarget>>,
}

impl TargetCache {
    pub(super) fn new(cluster: Cluster, service: ControllerService, ca_file: Option<PathBuf>) -> Self {
        Self { cluster, service, ca_file, found: Mutex::default() }
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub(super) fn service(&self) -> &ControllerService {
        &self.service
    }

    pub(super) fn cached(&self) -> Option<ControllerTarget> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn look_up(&self) -> Result<ControllerTarget, DashboardError> {
        let target = self.service.target(&self.cluster, self.ca_file.as_deref()).await?;
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(target.clone());
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(ports: &serde_json::Value) -> Result<ControllerService, DashboardError> {
        let object = json!({ "metadata": { "name": "vmafx-controller", "namespace": "system" },
            "spec": { "selector": { "a": "b", "c": "d" }, "ports": ports } });
        ControllerService::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn the_service_of_the_chart_tells_port_and_tls() {
        let http = json!({ "name": "http", "port": 8080, "targetPort": "http" });
        let grpc = |protocol: &str| json!({ "name": "grpc", "port": 9090, "appProtocol": protocol });
        let with_tls = service(&json!([http, grpc("https")])).unwrap();
        assert!(with_tls.tls);
        assert_eq!(with_tls.selector, "a=b,c=d");
        assert_eq!(with_tls.http_port, IntOrString::String("http".to_owned()));
        assert!(!service(&json!([http, grpc("kubernetes.io/h2c")])).unwrap().tls);
        assert!(matches!(service(&json!([grpc("https")])), Err(DashboardError::NoHttpPort { .. })));
    }

    #[test]
    fn only_a_ready_pod_that_stays_is_used() {
        let pod = |ready: &str, deleted: Option<&str>| -> Pod {
            let object = json!({ "metadata": { "deletionTimestamp": deleted },
                "spec": { "containers": [{ "name": "c", "ports": [{ "name": "http", "containerPort": 80 }] }] },
                "status": { "conditions": [{ "type": "Ready", "status": ready }] } });
            serde_json::from_value(object).unwrap()
        };
        assert!(is_ready(&pod("True", None)));
        assert!(!is_ready(&pod("False", None)));
        assert!(!is_ready(&pod("True", Some("2026-01-02T03:04:05Z"))));
        let port = |port| port_of(&pod("True", None), &port);
        assert_eq!(port(IntOrString::String("http".to_owned())), Some(80));
        assert_eq!(port(IntOrString::String("grpc".to_owned())), None);
        assert_eq!(port(IntOrString::Int(8080)), Some(8080));
    }
}
