//! The client against a real registry.

use rstest::rstest;
use vmafx_oci::{Descriptor, Digest, RegistryCredentials};
use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryServer, RegistryStorage, USER};

use crate::fixture::{artifact, client, login, repository};

#[rstest]
#[case::in_memory(RegistryStorage::Memory)]
#[case::on_disk(RegistryStorage::Disk)]
#[tokio::test]
async fn what_is_pushed_is_pulled_again_by_tag_and_by_digest(#[case] storage: RegistryStorage) {
    let registry = RegistryServer::start_on(storage, RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let pushed = artifact(b"one", &vec![7; 300_000]);
    let digest = client.push(&models, &pushed, "v1").await.unwrap();
    for reference in [models.tagged("v1"), models.pinned(digest.clone())] {
        let (found, manifest) = client.resolve(&reference).await.unwrap();
        assert_eq!(found, digest);
        assert_eq!(manifest.artifact_type.as_deref(), Some("application/vnd.example.v1"));
        assert_eq!(manifest.annotations, pushed.annotations);
        for (layer, pushed) in manifest.layers.iter().zip(&pushed.layers) {
            assert_eq!(*layer, pushed.descriptor());
            assert_eq!(client.blob(&models, layer, 1 << 20).await.unwrap(), pushed.content);
        }
    }
    assert_eq!(client.tags(&models).await.unwrap(), ["v1"]);
}

#[tokio::test]
async fn what_is_there_is_not_sent_again() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    client.push(&models, &artifact(b"same", b"first"), "v1").await.unwrap();
    let uploads = || registry.request_count("PUT", "/v2/team/models/blobs/uploads/");
    assert_eq!(uploads(), 3, "two layers and the empty configuration");
    client.push(&models, &artifact(b"same", b"other"), "v2").await.unwrap();
    assert_eq!(uploads(), 4, "one layer is new");
    client.push(&models, &artifact(b"same", b"other"), "v2").await.unwrap();
    assert_eq!(uploads(), 4);
}

#[tokio::test]
async fn a_tag_moves_and_what_it_meant_stays() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let first = client.push(&models, &artifact(b"1", b""), "v1").await.unwrap();
    let second = client.push(&models, &artifact(b"2", b""), "v2").await.unwrap();
    for digest in [&first, &second, &first] {
        client.retag(&models, digest, "stable").await.unwrap();
        assert_eq!(client.resolve(&models.tagged("stable")).await.unwrap().0, *digest);
    }
    let mut tags = client.tags(&models).await.unwrap();
    tags.sort();
    assert_eq!(tags, ["stable", "v1", "v2"]);
    let missing = client.retag(&models, &Digest::of(b"nothing"), "stable").await.unwrap_err();
    assert_eq!(missing.reason().as_str(), "RegistryNotFound", "{missing}");
}

#[tokio::test]
async fn many_tags_come_page_by_page() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let digest = client.push(&models, &artifact(b"1", b""), "sports-v000000").await.unwrap();
    for number in 1..1203 {
        client.retag(&models, &digest, &format!("sports-v{number:06}")).await.unwrap();
    }
    let tags = client.tags(&models).await.unwrap();
    assert_eq!(tags.len(), 1203);
    assert_eq!((tags[0].as_str(), tags[1202].as_str()), ("sports-v000000", "sports-v001202"));
    assert_eq!(registry.request_count("GET", "/v2/team/models/tags/list"), 2);
    assert_eq!(client.versions(&models, "sports", 3).await.unwrap(), [1200, 1201, 1202]);
    assert_eq!(client.versions(&models, "sport", 3).await.unwrap(), [0; 0]);
}

#[tokio::test]
async fn a_password_is_shown_to_whoever_asks_for_it() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let models = repository(registry.address());
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), registry.address(), USER, PASSWORD));
    let digest = client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    assert_eq!(
        registry.request_count("HEAD", "/v2/team/models/blobs/"),
        4,
        "only the first request is refused"
    );
    assert_eq!(client.resolve(&models.tagged("v1")).await.unwrap().0, digest);
}

#[tokio::test]
async fn a_password_that_changes_is_read_again() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    let models = repository(registry.address());
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), registry.address(), USER, "old"));
    client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap_err();
    login(home.path(), registry.address(), USER, PASSWORD);
    client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
}

#[tokio::test]
async fn a_registry_that_is_back_has_what_it_had() {
    let mut registry = RegistryServer::start_on(RegistryStorage::Disk, RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let digest = client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    registry.stop().unwrap();
    let down = client.resolve(&models.tagged("v1")).await.unwrap_err();
    assert_eq!((down.reason().as_str(), down.may_succeed_later()), ("RegistryUnavailable", true), "{down}");
    let down = client.push(&models, &artifact(b"1", b"3"), "v2").await.unwrap_err();
    assert_eq!(down.reason().as_str(), "RegistryUnavailable", "{down}");
    registry.restart_on(RegistryStorage::Disk).await.unwrap();
    assert_eq!(client.resolve(&models.tagged("v1")).await.unwrap().0, digest);
    client.push(&models, &artifact(b"1", b"3"), "v2").await.unwrap();
}

#[tokio::test]
async fn a_blob_that_is_longer_than_wanted_is_not_fetched() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (client, models) = (client(RegistryCredentials::none()), repository(registry.address()));
    let pushed = artifact(b"1", &[1; 5000]);
    client.push(&models, &pushed, "v1").await.unwrap();
    let layer = pushed.layers[1].descriptor();
    let refused = client.blob(&models, &layer, 4999).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "TooLarge", "{refused}");
    // A descriptor that states a smaller size.
    let understated = Descriptor { size: 4999, ..layer.clone() };
    let refused = client.blob(&models, &understated, 1 << 20).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "TooLarge", "{refused}");
    assert_eq!(registry.request_count("GET", &format!("/v2/team/models/blobs/{}", layer.digest)), 1);
}
