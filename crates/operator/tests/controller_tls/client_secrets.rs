//! The Secrets with client certificates.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::SignedDuration;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use vmafx_kit::tls::ClientCertificate;
use vmafx_operator::authority::authorities::PUBLISHED_FOR;
use vmafx_operator::authority::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_operator::controller_tls::{CLIENT_SECRET, ClientCertificateSource};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::proxy::ApiProxy;

use crate::fixture::{IssuerFixture, SECRET, issuer_with};

/// The namespace that a certificate names.
fn named(pem: &str) -> Option<String> {
    ClientCertificate::parse(&CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).namespace
}

async fn certificate(fixture: &IssuerFixture, namespace: &TestNamespace) -> String {
    fixture.client_secret(namespace).await["tls.crt"].clone()
}

#[tokio::test]
async fn each_namespace_gets_a_certificate_of_its_own_once() {
    let mut fixture = IssuerFixture::with_clients("clients").await;
    fixture.issuer.refresh().await.unwrap();
    for namespace in [&fixture.own, &fixture.workers] {
        let secret = fixture.client_secret(namespace).await;
        assert_eq!(secret.keys().collect::<Vec<_>>(), ["tls.crt", "tls.key"]);
        assert_eq!(named(&secret["tls.crt"]).as_deref(), Some(namespace.name()));
    }
    let proxy = ApiProxy::start(fixture.own.cluster()).await.unwrap();
    let namespaces = vec![fixture.own.name().to_owned(), fixture.workers.name().to_owned()];
    let (client, own) = (proxy.client().unwrap(), fixture.own.name());
    let (mut next_leader, _) =
        issuer_with(client, own, &fixture.clock, namespaces, ClientCertificateSource::Issue);
    next_leader.refresh().await.unwrap();
    // Four Secrets and two ConfigMaps are read; the next time those of the operator's namespace only.
    assert_eq!(proxy.request_count(), 6);
    next_leader.refresh().await.unwrap();
    assert_eq!(proxy.request_count(), 8);
    assert_eq!(proxy.writes().len(), 0);
}

#[tokio::test]
async fn a_certificate_is_renewed_and_what_others_stored_is_replaced() {
    let mut fixture = IssuerFixture::with_clients("renewed").await;
    // Somebody was there first, with a Secret of another type.
    let secrets = Api::<Secret>::namespaced(fixture.client(), fixture.workers.name());
    let foreign = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": CLIENT_SECRET },
        "stringData": { "tls.crt": "theirs", "own": "kept" },
    });
    secrets.create(&PostParams::default(), &serde_json::from_value(foreign).unwrap()).await.unwrap();
    fixture.issuer.refresh().await.unwrap();
    let first = fixture.client_secret(&fixture.workers).await;
    assert_eq!(named(&first["tls.crt"]).as_deref(), Some(fixture.workers.name()));
    assert_eq!(first["own"], "kept");

    fixture.clock.advance(SignedDuration::from_hours(24 * 20));
    fixture.issuer.refresh().await.unwrap();
    let second = certificate(&fixture, &fixture.workers).await;
    assert_ne!(second, first["tls.crt"], "the certificate was not renewed");

    // The certificate of another namespace, with its key.
    let of_another = fixture.client_secret(&fixture.own).await;
    let patch = Patch::Merge(json!({ "stringData": of_another }));
    secrets.patch(CLIENT_SECRET, &PatchParams::default(), &patch).await.unwrap();
    let namespaces = vec![fixture.workers.name().to_owned()];
    let (client, own) = (fixture.client(), fixture.own.name());
    let (mut next_leader, _) =
        issuer_with(client, own, &fixture.clock, namespaces, ClientCertificateSource::Issue);
    next_leader.refresh().await.unwrap();
    let third = certificate(&fixture, &fixture.workers).await;
    assert_eq!(named(&third).as_deref(), Some(fixture.workers.name()));
}

#[tokio::test]
async fn a_namespace_gets_its_certificate_with_its_first_workload() {
    let mut fixture = IssuerFixture::with_clients("first").await;
    let late = fixture.own.cluster().namespace("first").await.unwrap();
    fixture.distributor.ensure(late.name()).await.unwrap();
    let secrets = Api::<Secret>::namespaced(fixture.client(), late.name());
    assert_eq!(secrets.get_opt(CLIENT_SECRET).await.unwrap(), None, "there is no authority yet");
    fixture.issuer.refresh().await.unwrap();
    fixture.distributor.ensure(late.name()).await.unwrap();
    assert_eq!(named(&certificate(&fixture, &late).await).as_deref(), Some(late.name()));
}

#[tokio::test]
async fn a_namespace_that_cannot_be_written_delays_no_other() {
    let mut fixture = IssuerFixture::with_clients("others").await;
    let names = ["a-namespace-that-does-not-exist", fixture.workers.name()].map(str::to_owned).to_vec();
    let (client, own) = (fixture.client(), fixture.own.name());
    let source = ClientCertificateSource::Issue;
    (fixture.issuer, fixture.distributor) = issuer_with(client, own, &fixture.clock, names, source);
    fixture.issuer.refresh().await.unwrap_err();
    let issued = certificate(&fixture, &fixture.workers).await;
    assert_eq!(named(&issued).as_deref(), Some(fixture.workers.name()));
}

#[tokio::test]
async fn the_next_authority_signs_when_the_controller_has_it_too() {
    let mut fixture = IssuerFixture::with_clients("next").await;
    fixture.issuer.refresh().await.unwrap();
    let first = fixture.issuer.authorities().unwrap().current.certificate.clone();
    fixture.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE - SignedDuration::from_hours(1));
    fixture.issuer.refresh().await.unwrap();
    let before = certificate(&fixture, &fixture.workers).await;

    // The Secret of the controller cannot be written, the ConfigMaps can.
    let fixed = Patch::Merge(json!({ "immutable": true }));
    fixture.secrets().patch(SECRET, &PatchParams::default(), &fixed).await.unwrap();
    fixture.clock.advance(SignedDuration::from_hours(1));
    for _ in 0..3 {
        fixture.issuer.refresh().await.unwrap_err();
        fixture.clock.advance(PUBLISHED_FOR);
    }
    assert_eq!(fixture.bundle(&fixture.workers).await.matches("BEGIN CERTIFICATE").count(), 2);
    assert_eq!(fixture.issuer.authorities().unwrap().current.certificate, first);

    fixture.secrets().delete(SECRET, &kube::api::DeleteParams::default()).await.unwrap();
    fixture.issuer.refresh().await.unwrap();
    assert_eq!(
        certificate(&fixture, &fixture.workers).await,
        before,
        "it signed before the controller had it"
    );
    fixture.issuer.refresh().await.unwrap();
    assert_ne!(fixture.issuer.authorities().unwrap().current.certificate, first);
    assert_ne!(certificate(&fixture, &fixture.workers).await, before, "the next authority did not sign");
}
