//! TLS between the controller and its clients: who issues the certificate, who mounts it, and who verifies it.

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_kit::config::{Environment, parse};
use vmafx_operator::controller_tls::CertificateSource;
use vmafx_operator::settings::Settings;

use crate::helm::Chart;

struct Release(Vec<Value>);

impl Release {
    fn new(values: &str, set: &[&str]) -> Self {
        Self(Chart::render_with(&Chart::values(values), "ns", set))
    }

    fn get(&self, kind: &str, name: &str) -> &Value {
        let found = self.0.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    fn pod(&self, deployment: &str) -> &Value {
        &self.get("Deployment", deployment)["spec"]["template"]["spec"]
    }

    fn variable(&self, deployment: &str, name: &str) -> Option<&str> {
        let all = self.pod(deployment)["containers"][0]["env"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name)?["value"].as_str()
    }

    fn secret(&self, deployment: &str, volume: &str) -> Option<&str> {
        let volumes = self.pod(deployment)["volumes"].as_array().unwrap();
        volumes.iter().find(|one| one["name"] == volume)?["secret"]["secretName"].as_str()
    }

    /// What the operator would do about the certificate.
    fn source(&self, operator: &str) -> CertificateSource {
        let all = self.pod(operator)["containers"][0]["env"].as_array().unwrap();
        let environment: Environment =
            all.iter().filter_map(|one| Some((one["name"].as_str()?, one["value"].as_str()?))).collect();
        let settings: Settings = parse(["vmafx-operator"], &environment, &[]).unwrap();
        CertificateSource::of(&settings.controller, "ns").unwrap()
    }
}

#[rstest]
#[case("quick-start", &[], "vmafx")]
#[case("quick-start", &["fullnameOverride=other", "tls.dnsNames={vmafx.example.com}"], "other")]
fn by_default_the_operator_issues_what_the_controller_mounts(
    #[case] values: &str,
    #[case] set: &[&str],
    #[case] name: &str,
) {
    let release = Release::new(values, set);
    let (operator, controller) = (format!("{name}-operator"), format!("{name}-controller"));
    let CertificateSource::Issued(issued) = release.source(&operator) else { panic!("nothing is issued") };
    assert_eq!(release.secret(&controller, "tls"), Some(issued.certificate.as_str()));
    assert_eq!(release.secret(&operator, "controller-ca"), None, "the operator waits for itself");
    let address = release.variable(&operator, "VMAFX_CONTROLLER_GRPC_ADDR").unwrap();
    let host = address.split(':').next().unwrap().to_owned();
    assert!(issued.hosts.contains(&host), "{host} is not in {:?}", issued.hosts);
    assert_eq!(issued.hosts.contains(&"vmafx.example.com".to_owned()), name == "other");

    let rules = release.get("Role", &operator)["rules"].as_array().unwrap();
    let named = rules.iter().filter(|rule| rule["resources"] == json!(["secrets"]));
    let named: Vec<_> =
        named.flat_map(|rule| rule["resourceNames"].as_array().into_iter().flatten()).collect();
    for secret in [&issued.certificate, &issued.authority] {
        assert!(named.contains(&&json!(secret)), "the role does not permit {secret}: {named:?}");
    }
}

#[rstest]
#[case::a_secret("quick-start", &["tls.secretName=mine"], "mine")]
#[case::cert_manager("postgres", &[], "vmafx-controller-tls")]
fn a_certificate_of_others_is_mounted_by_the_controller_and_verified_by_the_operator(
    #[case] values: &str,
    #[case] set: &[&str],
    #[case] secret: &str,
) {
    let release = Release::new(values, set);
    assert_eq!(release.secret("vmafx-controller", "tls"), Some(secret));
    assert_eq!(release.secret("vmafx-operator", "controller-ca"), Some(secret));
    let file = "/var/run/secrets/vmafx.dev/controller-ca/ca.crt".into();
    assert_eq!(release.source("vmafx-operator"), CertificateSource::File(file));
}

#[test]
fn cert_manager_issues_for_the_names_that_the_operator_would() {
    let set = ["tls.certManager.enabled=false"];
    let CertificateSource::Issued(operator) = Release::new("postgres", &set).source("vmafx-operator") else {
        panic!("nothing is issued")
    };
    let release = Release::new("postgres", &[]);
    let certificate = &release.get("Certificate", "vmafx-controller")["spec"];
    assert_eq!(certificate["dnsNames"], json!(operator.hosts));
    assert_eq!(certificate["secretName"], json!(operator.certificate));
    let signer = release.get("Issuer", certificate["issuerRef"]["name"].as_str().unwrap());
    let authority = release.get("Certificate", "vmafx-controller-ca");
    assert_eq!(signer["spec"]["ca"]["secretName"], authority["spec"]["secretName"]);
    let company = Release::new("namespaces", &[]);
    let certificate = &company.get("Certificate", "vmafx-controller")["spec"];
    assert_eq!(certificate["issuerRef"]["kind"], "ClusterIssuer");
}

#[rstest]
#[case::with_tls("quick-start", "true", "HTTPS", "https")]
#[case::without("laboratory", "", "HTTP", "kubernetes.io/h2c")]
fn one_value_is_for_grpc_http_probes_and_the_operator(
    #[case] values: &str,
    #[case] tls: &str,
    #[case] scheme: &str,
    #[case] protocol: &str,
) {
    let release = Release::new(values, &[]);
    let name = if values == "laboratory" { "lab" } else { "vmafx" };
    let (operator, controller) = (format!("{name}-operator"), format!("{name}-controller"));
    for (deployment, variable) in [
        (&controller, "VMAFX_GRPC_TLS"),
        (&controller, "VMAFX_HTTP_TLS"),
        (&operator, "VMAFX_CONTROLLER_TLS"),
    ] {
        assert_eq!(release.variable(deployment, variable).unwrap_or_default(), tls, "{variable}");
    }
    let http = release.variable(&operator, "VMAFX_CONTROLLER_HTTP_ADDR").unwrap();
    assert!(http.starts_with(&format!("{}://", scheme.to_lowercase())), "{http}");
    let container = &release.pod(&controller)["containers"][0];
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["scheme"], scheme);
    }
    let ports = release.get("Service", &controller)["spec"]["ports"].as_array().unwrap();
    assert_eq!(ports.iter().find(|port| port["name"] == "grpc").unwrap()["appProtocol"], protocol);
}

#[test]
fn prometheus_verifies_the_controller() {
    let release = Release::new("controller-alone", &[]);
    let endpoint = &release.get("ServiceMonitor", "vmafx-controller")["spec"]["endpoints"][0];
    assert_eq!(endpoint["scheme"], "https");
    let secret = json!({ "name": "controller-certificate", "key": "ca.crt" });
    assert_eq!(endpoint["tlsConfig"]["ca"]["secret"], secret);
    assert_eq!(endpoint["tlsConfig"]["serverName"], "vmafx-controller.ns.svc");
    let plain = Release::new("controller-alone", &["tls.enabled=false"]);
    assert_eq!(
        plain.get("ServiceMonitor", "vmafx-controller")["spec"]["endpoints"][0]["scheme"],
        Value::Null
    );
}

#[test]
fn a_controller_elsewhere_is_verified_by_the_authorities_that_are_named_or_those_of_the_image() {
    let release = Release::new("elsewhere", &[]);
    assert_eq!(release.secret("vmafx-operator", "controller-ca"), Some("vmafx-ca"));
    assert_eq!(release.variable("vmafx-operator", "VMAFX_CONTROLLER_TLS"), Some("true"));
    let public = Release::new("elsewhere", &["operator.controllerAddress.caSecret="]);
    assert_eq!(public.source("vmafx-operator"), CertificateSource::Elsewhere);
}

#[rstest]
#[case::off("quick-start", &[], None, None, false)]
#[case::optional("quick-start", &["tls.clientCertificates=optional"], Some("issue"), Some("tls"), false)]
#[case::required("quick-start", &["tls.clientCertificates=required"], Some("issue"), Some("tls"), true)]
#[case::of_the_companys_authority(
    "quick-start",
    &["tls.clientCertificates=required", "tls.clientAuthoritySecret=company"],
    Some("mount"),
    Some("client-ca"),
    true
)]
#[case::cert_manager("postgres", &["tls.clientCertificates=required"], Some("mount"), Some("tls"), true)]
fn one_value_gives_workers_certificates_that_the_controller_verifies(
    #[case] values: &str,
    #[case] set: &[&str],
    #[case] source: Option<&str>,
    #[case] authorities: Option<&str>,
    #[case] required: bool,
) {
    let release = Release::new(values, set);
    release.source("vmafx-operator");
    assert_eq!(release.variable("vmafx-operator", "VMAFX_OPERATOR_CLIENT_CERTS"), source);
    let file = authorities.map(|volume| format!("/var/run/secrets/vmafx.dev/{volume}/ca.crt"));
    assert_eq!(release.variable("vmafx-controller", "VMAFX_GRPC_CLIENT_CA_FILE"), file.as_deref());
    let refuses = release.variable("vmafx-controller", "VMAFX_GRPC_CLIENT_CERTS_REQUIRED");
    assert_eq!(refuses, required.then_some("true"));
    let company = set.contains(&"tls.clientAuthoritySecret=company").then_some("company");
    assert_eq!(release.secret("vmafx-controller", "client-ca"), company);
    let mounts = release.pod("vmafx-controller")["containers"][0]["volumeMounts"].as_array().unwrap();
    if let Some(volume) = authorities {
        assert!(mounts.iter().any(|mount| mount["name"] == volume), "{volume} is not mounted");
    }
    // Only an operator that issues them has the permission to write them.
    let rules = release.get("ClusterRole", "vmafx-operator")["rules"].as_array().unwrap();
    let secrets: Vec<_> = rules.iter().filter(|rule| rule["resources"] == json!(["secrets"])).collect();
    let names: Vec<_> = secrets.iter().map(|rule| &rule["resourceNames"]).collect();
    let expected = json!(["vmafx-client-tls"]);
    assert_eq!(names, if source == Some("issue") { vec![&expected] } else { vec![] });
}

#[rstest]
#[case("tls.clientCertificates=required,tls.enabled=false", "certificates of clients need tls.enabled=true")]
#[case("tls.clientAuthoritySecret=company", "set tls.clientCertificates to optional or required too")]
#[case("tls.clientCertificates=always", "clientCertificates")]
fn client_certificates_that_cannot_work_are_refused(#[case] set: &str, #[case] expected: &str) {
    let refusal = Chart::refused(&["--set", "operator.enabled=true", "--set", set]);
    assert!(refusal.contains(expected), "{refusal}");
}
