//! What a real registry refuses, and what is said about it.

use rstest::rstest;
use vmafx_oci::{Client, Credentials, OciError};
use vmafx_testkit::registry::{Access, Layer, Registry, Storage, USER};

use crate::stage::{artifact, client, login, repository};

async fn push(client: &Client, registry: &Registry, content: &[u8]) -> Result<(), OciError> {
    client.push(&repository(registry.address()), &artifact(content, b"2"), "v1").await.map(drop)
}

#[tokio::test]
async fn nobody_is_told_where_to_put_credentials() {
    let registry = Registry::start(Access::Password).await.unwrap();
    let refused = push(&client(Credentials::none()), &registry, b"1").await.unwrap_err();
    assert_eq!(refused.reason(), "RegistryUnauthorized");
    let text = refused.to_string();
    assert!(text.contains("401 Unauthorized") && text.contains("set registrySecret"), "{text}");
}

#[tokio::test]
async fn a_wrong_password_is_told_from_none() {
    let registry = Registry::start(Access::Password).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), registry.address(), USER, "hunter2"));
    let refused = push(&client, &registry, b"1").await.unwrap_err();
    assert_eq!(refused.reason(), "RegistryUnauthorized");
    let text = refused.to_string();
    assert!(text.contains("does not know this user or password") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_full_disk_is_told_and_a_small_blob_still_fits() {
    let storage = Storage::Full { file: 100_000 };
    let registry = Registry::start_on(storage, Access::Open).await.unwrap();
    let client = client(Credentials::none());
    let full = push(&client, &registry, &vec![1; 400_000]).await.unwrap_err();
    assert_eq!((full.reason(), full.may_pass()), ("RegistryFull", true), "{full}");
    push(&client, &registry, b"1").await.unwrap();
}

#[tokio::test]
async fn a_registry_that_takes_nothing_is_told() {
    let mut registry = Registry::start_on(Storage::Disk, Access::Open).await.unwrap();
    let client = client(Credentials::none());
    push(&client, &registry, b"1").await.unwrap();
    registry.restart_on(Storage::ReadOnly).await.unwrap();
    let refused = push(&client, &registry, b"2").await.unwrap_err();
    assert_eq!((refused.reason(), refused.may_pass()), ("RegistryReadOnly", true), "{refused}");
    client.resolve(&repository(registry.address()).tagged("v1")).await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_is_named_by_what_the_registry_says() {
    let registry = Registry::start(Access::Open).await.unwrap();
    let (client, models) = (client(Credentials::none()), repository(registry.address()));
    let unknown = client.tags(&models).await.unwrap_err().to_string();
    assert!(unknown.contains("404 Not Found, NAME_UNKNOWN"), "{unknown}");
    let unknown = client.resolve(&models.tagged("v1")).await.unwrap_err();
    assert_eq!(unknown.reason(), "RegistryNotFound", "{unknown}");
}

#[tokio::test]
async fn several_artifacts_under_one_name_are_no_model() {
    let registry = Registry::start(Access::Open).await.unwrap();
    let (client, models) = (client(Credentials::none()), repository(registry.address()));
    let layers = [Layer { media_type: "application/json", content: b"{}" }];
    let one = registry.push("team/models", "one", &layers).unwrap();
    registry.push_index("team/models", "several", &[one]).unwrap();
    let refused = client.resolve(&models.tagged("several")).await.unwrap_err();
    assert_eq!(refused.reason(), "ManifestInvalid");
    assert!(refused.to_string().contains("an index of several artifacts"), "{refused}");
}

#[rstest]
#[case("")]
#[case("-v1")]
#[case("a/b")]
#[case("../x")]
#[case("v1?x=y")]
#[tokio::test]
async fn what_is_no_tag_never_reaches_a_registry(#[case] tag: &str) {
    let client = client(Credentials::none());
    let models = repository("127.0.0.1:1");
    let refused = client.push(&models, &artifact(b"1", b"2"), tag).await.unwrap_err();
    assert!(matches!(refused, OciError::Tag(_)), "{refused}");
}

#[tokio::test]
async fn a_registry_without_tls_is_told_from_one_that_is_down() {
    let registry = Registry::start(Access::Open).await.unwrap();
    let port = registry.address().rsplit_once(':').unwrap().1.to_owned();
    // This machine by a name that does not say so, hence asked with TLS.
    let name = format!("127.1:{port}");
    let failed = push_to(&name, Vec::new()).await.unwrap_err();
    assert_eq!(failed.reason(), "RegistryTlsFailed", "{failed}");
    push_to(&name, vec![name.clone()]).await.unwrap();
}

async fn push_to(name: &str, plain: Vec<String>) -> Result<(), OciError> {
    let client = crate::stage::client_with(Credentials::none(), plain);
    client.push(&repository(name), &artifact(b"1", b"2"), "v1").await.map(drop)
}
