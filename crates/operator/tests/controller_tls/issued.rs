//! The Secret with the certificate, and the ConfigMaps with the authorities.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::SignedDuration;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use vmafx_operator::authority::authorities::{PUBLISHED_FOR, TRUSTED_FOR};
use vmafx_operator::authority::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_operator::controller_tls::CA_CONFIG_MAP;
use vmafx_testkit::kube::ControlPlane;
use vmafx_testkit::kube::proxy::ApiProxy;

use crate::fixture::{AUTHORITY, IssuerFixture, SECRET, config_map, issuer, issuer_as};

#[tokio::test]
async fn a_certificate_and_its_authorities_appear_once_and_are_not_written_again() {
    let mut fixture = IssuerFixture::new("issued").await;
    fixture.issuer.refresh().await.unwrap();
    let secret = fixture.secret().await;
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["ca.crt", "tls.crt", "tls.key"]);
    for namespace in [&fixture.own, &fixture.workers] {
        assert_eq!(fixture.bundle(namespace).await, secret["ca.crt"]);
    }
    assert_eq!(*fixture.distributor.authorities().pem(), *secret["ca.crt"]);

    let proxy = ApiProxy::start(fixture.own.cluster()).await.unwrap();
    let namespaces = vec![fixture.own.name().to_owned(), fixture.workers.name().to_owned()];
    let client = proxy.client().unwrap();
    let (mut next_leader, _) = issuer_as(client, fixture.own.name(), &fixture.clock, namespaces);
    next_leader.refresh().await.unwrap();
    // Two Secrets and two ConfigMaps are read; the next time the Secrets only.
    assert_eq!(proxy.request_count(), 4);
    next_leader.refresh().await.unwrap();
    assert_eq!(proxy.request_count(), 6);
    assert_eq!(proxy.writes().len(), 0);
}

#[tokio::test]
async fn a_namespace_gets_the_authorities_with_its_first_workload() {
    let mut fixture = IssuerFixture::new("ensured").await;
    let late = ControlPlane::shared().await.unwrap().namespace("ensured").await.unwrap();
    // Before the first authority there is nothing to publish.
    fixture.distributor.ensure(late.name()).await.unwrap();
    let config_maps = Api::<ConfigMap>::namespaced(fixture.client(), late.name());
    assert_eq!(config_maps.get_opt(CA_CONFIG_MAP).await.unwrap(), None);
    fixture.issuer.refresh().await.unwrap();
    fixture.distributor.ensure(late.name()).await.unwrap();
    assert_eq!(fixture.bundle(&late).await, fixture.secret().await["ca.crt"]);
}

#[tokio::test]
async fn what_others_changed_is_restored() {
    let mut fixture = IssuerFixture::new("restored").await;
    fixture.issuer.refresh().await.unwrap();
    let before = fixture.secret().await;
    let config_maps = Api::<ConfigMap>::namespaced(fixture.client(), fixture.workers.name());
    let body = json!({ "data": { "ca.crt": "another", "own": "kept" } });
    config_maps.patch(CA_CONFIG_MAP, &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    let body = json!({ "stringData": { "tls.key": "damaged" } });
    fixture.secrets().patch(SECRET, &PatchParams::default(), &Patch::Merge(body)).await.unwrap();

    let namespaces = vec![fixture.own.name().to_owned(), fixture.workers.name().to_owned()];
    let (mut next_leader, _) = issuer(&fixture.own, &fixture.clock, namespaces);
    next_leader.refresh().await.unwrap();
    let after = fixture.secret().await;
    assert_eq!(after["ca.crt"], before["ca.crt"]);
    assert_ne!(after["tls.crt"], before["tls.crt"], "a damaged pair was kept");
    let data = config_map(fixture.client(), fixture.workers.name()).await.data.unwrap();
    assert_eq!((data["ca.crt"].as_str(), data["own"].as_str()), (after["ca.crt"].as_str(), "kept"));
}

#[tokio::test]
async fn a_namespace_that_cannot_be_written_delays_neither_the_others_nor_the_certificate() {
    let mut fixture = IssuerFixture::new("partly").await;
    let names = ["a-namespace-that-does-not-exist", fixture.own.name(), fixture.workers.name()];
    let names = names.map(str::to_owned).to_vec();
    (fixture.issuer, fixture.distributor) = issuer(&fixture.own, &fixture.clock, names);
    fixture.issuer.refresh().await.unwrap_err();
    let secret = fixture.secret().await;
    assert_eq!(fixture.bundle(&fixture.workers).await, secret["ca.crt"]);

    fixture.clock.advance(SignedDuration::from_hours(24 * 20));
    fixture.issuer.refresh().await.unwrap_err();
    assert_ne!(fixture.secret().await["tls.crt"], secret["tls.crt"], "the certificate was not renewed");

    // But the next authority is not used before everybody has it.
    let first = fixture.issuer.authorities().unwrap().current.certificate.clone();
    fixture.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE);
    for _ in 0..2 {
        fixture.issuer.refresh().await.unwrap_err();
        fixture.clock.advance(PUBLISHED_FOR);
    }
    assert_eq!(fixture.issuer.authorities().unwrap().current.certificate, first);
}

#[tokio::test]
async fn clients_have_both_authorities_while_they_change() {
    let mut fixture = IssuerFixture::new("rotated").await;
    fixture.issuer.refresh().await.unwrap();
    let first = fixture.issuer.authorities().unwrap().current.certificate.clone();
    let count = async |fixture: &IssuerFixture| {
        let bundle = fixture.bundle(&fixture.workers).await;
        assert_eq!(fixture.secret().await["ca.crt"], bundle);
        bundle.matches("BEGIN CERTIFICATE").count()
    };
    assert_eq!(count(&fixture).await, 1);

    let hour = SignedDuration::from_hours(1);
    fixture.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE - hour);
    fixture.issuer.refresh().await.unwrap();
    let before = fixture.secret().await["tls.crt"].clone();
    fixture.clock.advance(hour);
    fixture.issuer.refresh().await.unwrap();
    assert_eq!(count(&fixture).await, 2);
    assert_eq!(fixture.secret().await["tls.crt"], before, "a new authority alone renewed the certificate");
    assert_eq!(fixture.issuer.authorities().unwrap().current.certificate, first);

    fixture.clock.advance(PUBLISHED_FOR);
    fixture.issuer.refresh().await.unwrap();
    assert_eq!(count(&fixture).await, 2);
    let second = fixture.issuer.authorities().unwrap().current.certificate.clone();
    assert_ne!(second, first);
    assert_ne!(fixture.secret().await["tls.crt"], before, "the new authority did not sign");

    fixture.clock.advance(TRUSTED_FOR);
    fixture.issuer.refresh().await.unwrap();
    assert_eq!(fixture.bundle(&fixture.workers).await, second.pem);
}

#[tokio::test]
async fn a_lost_authority_is_replaced_together_with_its_certificate() {
    let mut fixture = IssuerFixture::new("lost").await;
    fixture.issuer.refresh().await.unwrap();
    let before = fixture.secret().await;
    fixture.secrets().delete(AUTHORITY, &DeleteParams::default()).await.unwrap();
    fixture.issuer.refresh().await.unwrap();
    let after = fixture.secret().await;
    assert!(after["ca.crt"] != before["ca.crt"] && after["tls.crt"] != before["tls.crt"]);
    assert_eq!(fixture.bundle(&fixture.workers).await, after["ca.crt"]);
}
