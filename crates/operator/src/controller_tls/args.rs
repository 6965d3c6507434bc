//! Settings of the controller's certificate.

use rcgen::CertificateParams;
use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::SettingsError;

use super::issue::IssuedNames;

/// Default name of the Secret with the certificate authority.
pub const CA_SECRET: &str = "vmafx-controller-ca";

/// Name that the chart gives to the Secret with the certificate.
pub const CERT_SECRET: &str = "vmafx-controller-tls";

const TLS: &str = "VMAFX_CONTROLLER_TLS=true";
const CERT_SECRET_VARIABLE: &str = "VMAFX_OPERATOR_CONTROLLER_CERT_SECRET";

/// Where the client certificates of workers and trainers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ClientCertificateSource {
    /// They have none.
    #[default]
    Off,
    /// This operator issues one for each namespace.
    Issue,
    /// Somebody else stores one in each namespace.
    Mount,
}

/// Flattened into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct ControllerCertificateArgs {
    /// Name of a Secret in the operator's namespace: the operator issues a certificate for the controller and stores
    /// it there (tls.crt, tls.key, ca.crt). By default it issues none. It needs `VMAFX_CONTROLLER_TLS=true`.
    #[arg(long, env = "VMAFX_OPERATOR_CONTROLLER_CERT_SECRET", value_name = "NAME")]
    pub controller_cert_secret: Option<String>,

    /// Name of the Secret, in the operator's namespace, with the certificate authority for the controller.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_CONTROLLER_CA_SECRET",
        value_name = "NAME",
        default_value = CA_SECRET
    )]
    pub controller_ca_secret: String,

    /// Name of the controller's Service in the operator's namespace, for which the certificate is issued.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_CONTROLLER_SERVICE",
        value_name = "NAME",
        default_value = "vmafx-controller"
    )]
    pub controller_service: String,

    /// Further host names and addresses for the controller's certificate, such as that of an Ingress.
    #[arg(long, env = "VMAFX_OPERATOR_CONTROLLER_CERT_NAMES", value_name = "LIST", value_delimiter = ',')]
    pub controller_cert_names: Vec<String>,

    /// Client certificates of workers and trainers: issue stores one in the Secret vmafx-client-tls of each of their
    /// namespaces, mount expects that somebody else does.
    #[arg(long, env = "VMAFX_OPERATOR_CLIENT_CERTS", value_name = "SOURCE", value_enum, default_value_t)]
    pub client_certs: ClientCertificateSource,
}

impl ControllerCertificateArgs {
    /// Names of the Secrets in which this operator keeps private keys.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.controller_cert_secret.as_deref().into_iter().chain([self.controller_ca_secret.as_str()])
    }

    /// What the operator issues; `None` if it does not.
    pub(super) fn names(
        &self,
        channel: &ChannelArgs,
        namespace: &str,
    ) -> Result<Option<IssuedNames>, SettingsError> {
        let without = |variable, needs| Err(SettingsError::Without { variable, needs });
        match self.client_certs {
            ClientCertificateSource::Issue if self.controller_cert_secret.is_none() => {
                return without("VMAFX_OPERATOR_CLIENT_CERTS=issue", CERT_SECRET_VARIABLE);
            }
            ClientCertificateSource::Mount if !channel.controller_tls => {
                return without("VMAFX_OPERATOR_CLIENT_CERTS=mount", TLS);
            }
            _ => {}
        }
        let Some(certificate) = self.controller_cert_secret.clone() else { return Ok(None) };
        if !channel.controller_tls {
            return without(CERT_SECRET_VARIABLE, TLS);
        }
        if channel.controller_ca_file.is_some() {
            return Err(SettingsError::Both {
                first: CERT_SECRET_VARIABLE,
                second: "VMAFX_CONTROLLER_CA_FILE",
            });
        }
        let hosts = self.hosts(namespace);
        if let Some(host) = hosts.iter().find(|host| CertificateParams::new([(*host).clone()]).is_err()) {
            return Err(SettingsError::Value {
                variable: "VMAFX_OPERATOR_CONTROLLER_CERT_NAMES".to_owned(),
                value: host.clone(),
                reason: "it is neither a host name nor an address".to_owned(),
            });
        }
        let authority = self.controller_ca_secret.clone();
        Ok(Some(IssuedNames { namespace: namespace.to_owned(), certificate, authority, hosts }))
    }

    /// The names of the Service, `localhost` for those who forward a port, and the configured ones.
    fn hosts(&self, namespace: &str) -> Vec<String> {
        let service = &self.controller_service;
        let mut hosts = vec![
            service.clone(),
            format!("{service}.{namespace}"),
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            "localhost".to_owned(),
        ];
        hosts.extend(self.controller_cert_names.iter().filter(|name| !name.is_empty()).cloned());
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
        certificate: ControllerCertificateArgs,
        #[command(flatten)]
        channel: ChannelArgs,
    }

    fn names(list: &[&str]) -> Result<Option<IssuedNames>, String> {
        let settings = Settings::try_parse_from(["t"].iter().chain(list)).unwrap();
        settings.certificate.names(&settings.channel, "ns").map_err(|error| error.to_string())
    }

    #[rstest]
    #[case(
        &["--controller-cert-secret=s"],
        "VMAFX_OPERATOR_CONTROLLER_CERT_SECRET is set, but VMAFX_CONTROLLER_TLS=true is not: either set \
         VMAFX_CONTROLLER_TLS=true or remove VMAFX_OPERATOR_CONTROLLER_CERT_SECRET"
    )]
    #[case(
        &["--controller-cert-secret=s", "--controller-tls", "--controller-ca-file=f"],
        "VMAFX_OPERATOR_CONTROLLER_CERT_SECRET and VMAFX_CONTROLLER_CA_FILE are both set: give only one of them"
    )]
    #[case(
        &["--controller-cert-secret=s", "--controller-tls", "--controller-cert-names=größe.example.com"],
        "VMAFX_OPERATOR_CONTROLLER_CERT_NAMES cannot be \"größe.example.com\": it is neither a host name nor an address"
    )]
    #[case(
        &["--controller-tls", "--client-certs=issue"],
        "VMAFX_OPERATOR_CLIENT_CERTS=issue is set, but VMAFX_OPERATOR_CONTROLLER_CERT_SECRET is not: either set \
         VMAFX_OPERATOR_CONTROLLER_CERT_SECRET or remove VMAFX_OPERATOR_CLIENT_CERTS=issue"
    )]
    #[case(
        &["--client-certs=mount"],
        "VMAFX_OPERATOR_CLIENT_CERTS=mount is set, but VMAFX_CONTROLLER_TLS=true is not: either set \
         VMAFX_CONTROLLER_TLS=true or remove VMAFX_OPERATOR_CLIENT_CERTS=mount"
    )]
    fn what_contradicts_the_certificate_is_named(#[case] list: &[&str], #[case] expected: &str) {
        assert_eq!(names(list).unwrap_err(), expected);
    }

    #[test]
    fn the_certificate_is_for_all_names_of_the_service_a_forwarded_port_and_further_names() {
        assert_eq!(names(&["--controller-tls"]), Ok(None));
        let list = [
            "--controller-cert-secret=s",
            "--controller-tls",
            "--controller-service=c",
            "--controller-cert-names=vmafx.example.com",
        ];
        assert_eq!(
            names(&list).unwrap().unwrap().hosts,
            ["c", "c.ns", "c.ns.svc", "c.ns.svc.cluster.local", "localhost", "vmafx.example.com"]
        );
    }
}
