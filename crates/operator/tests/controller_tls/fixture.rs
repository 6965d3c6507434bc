//! An issuer for a controller in a namespace of its own.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use vmafx_operator::controller_tls::issue::{CertificateIssuer, IssuedNames};
use vmafx_operator::controller_tls::{
    CA_CONFIG_MAP, CLIENT_SECRET, CaDistributor, ClientCertificateSource, ClientCertificates,
};
use vmafx_testkit::kube::{ControlPlane, TestNamespace};

use crate::clock::ManualClock;

pub(crate) const SECRET: &str = "controller-tls";
pub(crate) const AUTHORITY: &str = "controller-ca";

pub(crate) struct IssuerFixture {
    /// Of the operator and the controller.
    pub(crate) own: TestNamespace,
    /// Of workers.
    pub(crate) workers: TestNamespace,
    pub(crate) clock: ManualClock,
    pub(crate) issuer: CertificateIssuer,
    pub(crate) distributor: CaDistributor,
}

impl IssuerFixture {
    pub(crate) async fn new(prefix: &str) -> Self {
        Self::with(prefix, ClientCertificateSource::Off).await
    }

    /// One whose workers have client certificates.
    pub(crate) async fn with_clients(prefix: &str) -> Self {
        Self::with(prefix, ClientCertificateSource::Issue).await
    }

    async fn with(prefix: &str, clients: ClientCertificateSource) -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        let own = cluster.namespace(prefix).await.unwrap();
        let workers = cluster.namespace(prefix).await.unwrap();
        let clock = ManualClock::new();
        let namespaces = vec![own.name().to_owned(), workers.name().to_owned()];
        let (issuer, distributor) = issuer_with(own.client(), own.name(), &clock, namespaces, clients);
        Self { own, workers, clock, issuer, distributor }
    }

    pub(crate) fn client(&self) -> Client {
        self.own.client()
    }

    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client(), self.own.name())
    }

    /// The text of the controller's Secret.
    pub(crate) async fn secret(&self) -> BTreeMap<String, String> {
        text(&self.secrets().get(SECRET).await.unwrap())
    }

    /// The text of the Secret that the Pods of this namespace mount.
    pub(crate) async fn client_secret(&self, namespace: &TestNamespace) -> BTreeMap<String, String> {
        let secrets = Api::<Secret>::namespaced(self.client(), namespace.name());
        text(&secrets.get(CLIENT_SECRET).await.unwrap())
    }

    /// The authorities that Pods of this namespace mount.
    pub(crate) async fn bundle(&self, namespace: &TestNamespace) -> String {
        config_map(self.client(), namespace.name()).await.data.unwrap().remove("ca.crt").unwrap()
    }
}

fn text(secret: &Secret) -> BTreeMap<String, String> {
    let data = secret.data.iter().flatten();
    data.map(|(key, ByteString(bytes))| (key.clone(), String::from_utf8(bytes.clone()).unwrap())).collect()
}

pub(crate) async fn config_map(client: Client, namespace: &str) -> ConfigMap {
    Api::namespaced(client, namespace).get(CA_CONFIG_MAP).await.unwrap()
}

/// An issuer as a leader starts it: it knows nothing of what earlier leaders have published.
pub(crate) fn issuer(
    own: &TestNamespace,
    clock: &ManualClock,
    namespaces: Vec<String>,
) -> (CertificateIssuer, CaDistributor) {
    issuer_as(own.client(), own.name(), clock, namespaces)
}

pub(crate) fn issuer_as(
    client: Client,
    own: &str,
    clock: &ManualClock,
    namespaces: Vec<String>,
) -> (CertificateIssuer, CaDistributor) {
    issuer_with(client, own, clock, namespaces, ClientCertificateSource::Off)
}

pub(crate) fn issuer_with(
    client: Client,
    own: &str,
    clock: &ManualClock,
    namespaces: Vec<String>,
    clients: ClientCertificateSource,
) -> (CertificateIssuer, CaDistributor) {
    let certificates = (clients == ClientCertificateSource::Issue)
        .then(|| ClientCertificates::new(client.clone(), clock.clock()));
    let namespaces = move || namespaces.iter().cloned().collect();
    let distributor = CaDistributor::with_certificates(client.clone(), namespaces, certificates);
    let names = IssuedNames {
        namespace: own.to_owned(),
        certificate: SECRET.to_owned(),
        authority: AUTHORITY.to_owned(),
        hosts: vec!["vmafx-controller".to_owned(), "localhost".to_owned()],
    };
    (CertificateIssuer::new(client, names, clock.clock(), distributor.clone()), distributor)
}
