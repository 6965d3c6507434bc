//! Address and token by which a Pod reaches the controller.

use k8s_openapi::api::core::v1::{
    EnvVar, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};

use super::pod;
use crate::render::pod_defaults::variable;
use crate::reserved::TOKEN_VOLUME;

const TOKEN_DIRECTORY: &str = "/var/run/secrets/vmafx.dev/controller";
/// The kubelet renews a token after 80 % of its lifetime.
const TOKEN_SECONDS: i64 = 3600;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAccess {
    pub address: String,
    /// `None` for a connection without TLS.
    pub tls: Option<ControllerTls>,
    /// Name of this cluster at the controller.
    pub cluster: String,
    /// Audience of the token.
    pub audience: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerTls {
    /// Name in the controller's certificate, if it differs from the host of its address.
    pub server_name: Option<String>,
}

impl ControllerAccess {
    /// The address, and the variables that `vmafx_kit::channel` reads.
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

    /// A token of the Pod's ServiceAccount that only the controller accepts.
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

pub(super) fn token_mount() -> VolumeMount {
    pod::read_only(TOKEN_VOLUME, TOKEN_DIRECTORY)
}
