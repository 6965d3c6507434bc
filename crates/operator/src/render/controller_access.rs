//! How what runs in a Pod finds the controller, and proves who it is.

use k8s_openapi::api::core::v1::{
    EnvVar, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};

use super::pod;
use crate::render::pod_defaults::variable;
use crate::reserved::TOKEN_VOLUME;

const TOKEN_DIRECTORY: &str = "/var/run/secrets/vmafx.dev/controller";
/// The kubelet renews a token when four fifths of its time are over.
const TOKEN_SECONDS: i64 = 3600;

/// The way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAccess {
    /// Where it is.
    pub address: String,
    /// Whether TLS is spoken to it, and the name that its certificate carries.
    pub tls: Option<ControllerTls>,
    /// What it calls this cluster.
    pub cluster: String,
    /// Whom a token for it is for.
    pub audience: String,
}

/// How one makes sure of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerTls {
    /// The name on its certificate, if it is not that of its address.
    pub server_name: Option<String>,
}

impl ControllerAccess {
    /// The variables that `vmafx_kit::channel` reads, and the address.
    pub fn environment(&self) -> Vec<EnvVar> {
        let mut all = vec![
            variable("VMAFX_CONTROLLER_ADDR", &self.address),
            variable("VMAFX_CONTROLLER_TOKEN_FILE", format!("{TOKEN_DIRECTORY}/token")),
        ];
        if let Some(tls) = &self.tls {
            all.push(variable("VMAFX_CONTROLLER_TLS", "true"));
            all.extend(tls.server_name.as_ref().map(|name| variable("VMAFX_CONTROLLER_SERVER_NAME", name)));
        }
        all
    }

    /// A token of the Pod's ServiceAccount, good for the controller alone.
    pub fn token(&self) -> Volume {
        Volume {
            name: TOKEN_VOLUME.to_owned(),
            projected: Some(ProjectedVolumeSource {
                sources: Some(vec![VolumeProjection {
                    service_account_token: Some(ServiceAccountTokenProjection {
                        audience: Some(self.audience.clone()),
                        expiration_seconds: Some(TOKEN_SECONDS),
                        path: "token".to_owned(),
                    }),
                    ..VolumeProjection::default()
                }]),
                ..ProjectedVolumeSource::default()
            }),
            ..Volume::default()
        }
    }
}

/// Where the token is.
pub(super) fn token_mount() -> VolumeMount {
    pod::read_only(TOKEN_VOLUME, TOKEN_DIRECTORY)
}
