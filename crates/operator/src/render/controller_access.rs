//! Address, token, certificate authorities and client certificate by which a Pod reaches the controller.

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, EnvVar, KeyToPath, ProjectedVolumeSource, SecretProjection,
    ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};

use super::pod;
use crate::controller_tls::distribute::CA_KEY;
use crate::render::pod_defaults::variable;
use crate::reserved::TOKEN_VOLUME;

const TOKEN_DIRECTORY: &str = "/var/run/secrets/vmafx.dev/controller";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
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
    /// `ConfigMap` in the namespace of the Pod with the authorities (ca.crt); `None` for those of the image.
    pub ca_config_map: Option<String>,
    /// Secret in the namespace of the Pod with its client certificate; `None` without one.
    pub client_secret: Option<String>,
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
            let file = || variable("VMAFX_CONTROLLER_CA_FILE", format!("{TOKEN_DIRECTORY}/{CA_KEY}"));
            all.extend(tls.ca_config_map.as_ref().map(|_| file()));
            if tls.client_secret.is_some() {
                let file = |name| format!("{TOKEN_DIRECTORY}/{name}");
                all.push(variable("VMAFX_CONTROLLER_CERT_FILE", file(CERTIFICATE)));
                all.push(variable("VMAFX_CONTROLLER_KEY_FILE", file(KEY)));
            }
        }
        all
    }

    /// A token of the Pod's ServiceAccount that only the controller accepts, the controller's authorities, and a client
    /// certificate. The kubelet starts no container before `ConfigMap` and Secret exist, and updates the files when they
    /// change.
    pub fn token(&self) -> Volume {
        let token = VolumeProjection {
            service_account_token: Some(ServiceAccountTokenProjection {
                audience: Some(self.audience.clone()),
                expiration_seconds: Some(TOKEN_SECONDS),
                path: "token".to_owned(),
            }),
            ..VolumeProjection::default()
        };
        let authorities = self.tls.as_ref().and_then(|tls| tls.ca_config_map.clone()).map(authorities);
        let certificate = self.tls.as_ref().and_then(|tls| tls.client_secret.clone()).map(certificate);
        Volume {
            name: TOKEN_VOLUME.to_owned(),
            projected: Some(ProjectedVolumeSource {
                sources: Some([token].into_iter().chain(authorities).chain(certificate).collect()),
                ..ProjectedVolumeSource::default()
            }),
            ..Volume::default()
        }
    }
}

fn authorities(config_map: String) -> VolumeProjection {
    VolumeProjection {
        config_map: Some(ConfigMapProjection {
            name: config_map,
            items: Some(vec![KeyToPath { key: CA_KEY.to_owned(), path: CA_KEY.to_owned(), mode: None }]),
            optional: None,
        }),
        ..VolumeProjection::default()
    }
}

/// The key is readable by the group of the Pod only.
fn certificate(secret: String) -> VolumeProjection {
    let item = |key: &str| KeyToPath { key: key.to_owned(), path: key.to_owned(), mode: Some(0o440) };
    VolumeProjection {
        secret: Some(SecretProjection {
            name: secret,
            items: Some(vec![item(CERTIFICATE), item(KEY)]),
            optional: None,
        }),
        ..VolumeProjection::default()
    }
}

pub(super) fn token_mount() -> VolumeMount {
    pod::read_only(TOKEN_VOLUME, TOKEN_DIRECTORY)
}
