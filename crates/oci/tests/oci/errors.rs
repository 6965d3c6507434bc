//! Errors of a real registry, and their messages.

use rstest::rstest;
use vmafx_oci::{OciError, RegistryClient, RegistryCredentials};
use vmafx_testkit::registry::{RegistryAuth, RegistryLayer, RegistryServer, RegistryStorage, USER};

use crate::fixture::{artifact, client, login, repository};

async fn push(client: &RegistryClient, registry: &RegistryServer, content: &[u8]) -> Result<(), OciError> {
    client.push(&repository(registry.address()), &artifact(content, b"2"), "v1").await.map(drop)
}

#[tokio::test]
async fn without_credentials_the_error_says_where_to_put_them() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let refused = push(&client(RegistryCredentials::none()), &registry, b"1").await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "RegistryUnauthorized");
    let text = refused.to_string();
    assert!(text.contains("401 Unauthorized") && text.contains("set registrySecret"), "{text}");
}

#[tokio::test]
async fn a_wrong_password_is_distinguished_from_none() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), registry.address(), USER, "hunter2"));
    let refused = push(&client, &registry, b"1").await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "RegistryUnauthorized");
    let text = refused.to_string();
    assert!(text.contains("does not know this user or password") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_full_disk_is_reported_and_a_small_blob_still_fits() {
    let storage = RegistryStorage::Full { max_file_bytes: 100_000 };
    let registry = RegistryServer::start_on(storage, RegistryAuth::Open).await.unwrap();
    let client = client(RegistryCredentials::none());
    let full = push(&client, &registry, &vec![1; 400_000]).await.unwrap_err();
    assert_eq!((full.reason().as_str(), full.may_succeed_later()), ("RegistryFull", true), "{full}");
    push(&client, &registry, b"1").await.unwrap();
}

#[tokio::test]
async fn a_read_only_registry_is_reported() {
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let client = client(RegistryCredentials::none());
    push(&client, &registry, b"1").await.unwrap();
    registry.restart_on(RegistryStorage::ReadOnly).await.unwrap();
    let refused = push(&client, &registry, b"2").await.unwrap_err();
    assert_eq!(
        (refused.reason().as_str(), refused.may_succeed_later()),
        ("RegistryReadOnly", true),
        "{refused}"
    );
    client.resolve(&repository(registry.address()).tagged("v1")).await.unwrap();
}

#[tokio::test]
async fn a_missing_name_is_reported_with_the_registrys_error_code() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let unknown = client.tags(&models).await.unwrap_err().to_string();
    assert!(unknown.contains("404 Not Found, NAME_UNKNOWN"), "{unknown}");
    let unknown = client.resolve(&models.tagged("v1")).await.unwrap_err();
    assert_eq!(unknown.reason().as_str(), "RegistryNotFound", "{unknown}");
}

#[tokio::test]
async fn an_index_is_not_a_model() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let layers = [RegistryLayer { media_type: "application/json", content: b"{}" }];
    let one = registry.push("team/models", "one", &layers).unwrap();
    registry.push_index("team/models", "several", &[one]).unwrap();
    let refused = client.resolve(&models.tagged("several")).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "ManifestInvalid");
    assert!(refused.to_string().contains("an index of several artifacts"), "{refused}");
}

#[rstest]
#[case("")]
#[case("-v1")]
#[case("a/b")]
#[case("../x")]
#[case("v1?x=y")]
#[tokio::test]
async fn an_invalid_tag_is_never_sent(#[case] tag: &str) {
    let client = client(RegistryCredentials::none());
    let models = repository("127.0.0.1:1");
    let refused = client.push(&models, &artifact(b"1", b"2"), tag).await.unwrap_err();
    assert!(matches!(refused, OciError::InvalidTag(_)), "{refused}");
}

#[tokio::test]
async fn a_registry_without_tls_is_distinguished_from_one_that_is_down() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let port = registry.address().rsplit_once(':').unwrap().1.to_owned();
    // A spelling of this machine that is not recognized as local, so TLS is used.
    let name = format!("127.1:{port}");
    let failed = push_to(&name, Vec::new()).await.unwrap_err();
    assert_eq!(failed.reason().as_str(), "RegistryTlsFailed", "{failed}");
    push_to(&name, vec![name.clone()]).await.unwrap();
}

async fn push_to(name: &str, plain_http: Vec<String>) -> Result<(), OciError> {
    let client = crate::fixture::client_with(RegistryCredentials::none(), plain_http);
    client.push(&repository(name), &artifact(b"1", b"2"), "v1").await.map(drop)
}
