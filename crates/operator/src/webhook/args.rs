//! Settings of the webhooks.

use std::path::PathBuf;

use vmafx_kit::config::{ListenAddr, SettingsError};
use vmafx_kit::tls::{TlsFiles, TlsVariables};

/// Default name of the Service by which the API server reaches the webhooks.
pub const SERVICE: &str = "vmafx-operator-webhook";

/// Default name of the Secret with the certificate authority.
pub const SECRET: &str = "vmafx-operator-webhook-ca";

/// Default name of the `ValidatingWebhookConfiguration`.
pub const CONFIGURATION: &str = "vmafx-operator";

const PORT: &str = "VMAFX_OPERATOR_WEBHOOK_PORT";

const VARIABLES: TlsVariables = TlsVariables {
    switch: PORT,
    cert: "VMAFX_OPERATOR_WEBHOOK_CERT_FILE",
    key: "VMAFX_OPERATOR_WEBHOOK_KEY_FILE",
};

/// Flattened into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {
    /// Port of the admission webhooks; 0 turns them off.
    #[arg(long, env = "VMAFX_OPERATOR_WEBHOOK_PORT", value_name = "PORT", default_value_t = 0)]
    pub webhook_port: u16,

    /// Host or address that the webhooks listen on; by default every interface.
    #[arg(long, env = "VMAFX_OPERATOR_WEBHOOK_HOST", value_name = "HOST", default_value = "")]
    pub webhook_host: String,

    /// PEM file with the webhooks' certificate chain, as cert-manager issues it; it is reloaded when it changes. By
    /// default the operator issues a certificate itself.
    #[arg(long, env = "VMAFX_OPERATOR_WEBHOOK_CERT_FILE", value_name = "FILE")]
    pub webhook_cert_file: Option<PathBuf>,

    /// PEM file with the certificate's key.
    #[arg(long, env = "VMAFX_OPERATOR_WEBHOOK_KEY_FILE", value_name = "FILE")]
    pub webhook_key_file: Option<PathBuf>,

    /// Name of the Service, in the operator's namespace, by which the API server reaches the webhooks.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_WEBHOOK_SERVICE",
        value_name = "NAME",
        default_value = SERVICE
    )]
    pub webhook_service: String,

    /// Name of the Secret, in the operator's namespace, in which the operator stores its certificate authority.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_WEBHOOK_SECRET",
        value_name = "NAME",
        default_value = SECRET
    )]
    pub webhook_secret: String,

    /// Name of the `ValidatingWebhookConfiguration` whose CA bundles the operator maintains.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_WEBHOOK_CONFIGURATION",
        value_name = "NAME",
        default_value = CONFIGURATION
    )]
    pub webhook_configuration: String,

    /// Further host names and addresses for the operator's own certificate, for an API server that does not use the
    /// Service.
    #[arg(long, env = "VMAFX_OPERATOR_WEBHOOK_NAMES", value_name = "LIST", value_delimiter = ',')]
    pub webhook_names: Vec<String>,
}

impl WebhookArgs {
    pub(super) fn addr(&self) -> Result<ListenAddr, SettingsError> {
        if self.webhook_port == 0 {
            return Ok(ListenAddr::Off);
        }
        let host = self.webhook_host.trim_start_matches('[').trim_end_matches(']');
        let text = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("{text}:{}", self.webhook_port).parse().map_err(|error: vmafx_kit::config::AddrError| {
            SettingsError::Value {
                variable: "VMAFX_OPERATOR_WEBHOOK_HOST".to_owned(),
                value: self.webhook_host.clone(),
                reason: error.to_string(),
            }
        })
    }

    /// The mounted certificate, if there is one.
    pub(super) fn files(&self) -> Result<Option<TlsFiles>, SettingsError> {
        let (cert, key) = (self.webhook_cert_file.as_ref(), self.webhook_key_file.as_ref());
        let used = self.webhook_port > 0 && (cert.is_some() || key.is_some());
        TlsFiles::of(used, cert, key, VARIABLES)
    }

    /// Host names for the certificate: the Service, and the configured ones.
    pub(super) fn hosts(&self, namespace: &str) -> Vec<String> {
        let service = &self.webhook_service;
        let mut hosts =
            vec![format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")];
        hosts.extend(self.webhook_names.iter().filter(|name| !name.is_empty()).cloned());
        hosts
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct Settings {
        #[command(flatten)]
        webhook: WebhookArgs,
    }

    fn args(list: &[&str]) -> WebhookArgs {
        Settings::try_parse_from(["t"].iter().chain(list)).unwrap().webhook
    }

    #[rstest]
    #[case(&[], "0")]
    #[case(&["--webhook-port=9443"], ":9443")]
    #[case(&["--webhook-port=9443", "--webhook-host=127.0.0.1"], "127.0.0.1:9443")]
    #[case(&["--webhook-port=9443", "--webhook-host=::1"], "[::1]:9443")]
    fn it_listens_on_host_and_port(#[case] list: &[&str], #[case] expected: &str) {
        assert_eq!(args(list).addr().unwrap().to_string(), expected);
    }

    #[rstest]
    #[case(&["--webhook-port=1"], Ok(false))]
    #[case(&["--webhook-port=1", "--webhook-cert-file=c", "--webhook-key-file=k"], Ok(true))]
    #[case(
        &["--webhook-port=1", "--webhook-cert-file=c"],
        Err("not set: VMAFX_OPERATOR_WEBHOOK_KEY_FILE (needed by VMAFX_OPERATOR_WEBHOOK_PORT)")
    )]
    #[case(
        &["--webhook-cert-file=c", "--webhook-key-file=k"],
        Err("VMAFX_OPERATOR_WEBHOOK_CERT_FILE is set, but VMAFX_OPERATOR_WEBHOOK_PORT is not: either set \
             VMAFX_OPERATOR_WEBHOOK_PORT or remove VMAFX_OPERATOR_WEBHOOK_CERT_FILE")
    )]
    fn files_go_together_and_need_a_port(#[case] list: &[&str], #[case] expected: Result<bool, &str>) {
        let files = args(list).files().map(|files| files.is_some()).map_err(|refusal| refusal.to_string());
        assert_eq!(files, expected.map_err(str::to_owned));
    }

    #[test]
    fn the_certificate_is_for_the_service_and_further_names() {
        let args = args(&["--webhook-names=localhost,127.0.0.1"]);
        assert_eq!(
            args.hosts("ns"),
            [
                "vmafx-operator-webhook.ns.svc",
                "vmafx-operator-webhook.ns.svc.cluster.local",
                "localhost",
                "127.0.0.1"
            ]
        );
    }
}
