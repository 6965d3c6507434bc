//! Models: built-in ones, files, and artifacts of registries, real and hostile.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod egress;
mod faults;
mod fixture;

use std::time::Duration;

use futures::future::join_all;
use rstest::rstest;
use vmafx_job::FailureReason;
use vmafx_kit::config::GoDuration;
use vmafx_node::models::RegistryCredentials;
use vmafx_node::scratch::ByteSize;
use vmafx_node::task::ModelSource;
use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, RegistryServer, USER};

use fixture::{FixtureOptions, MEDIA_TYPE, json, name, path};

#[rstest]
#[case::nothing("", None, ModelSource::Auto)]
#[case::auto("auto", Some("vmaf_v0.6.1"), ModelSource::Auto)]
#[case::default("", Some("vmaf_v0.6.1neg"), ModelSource::BuiltIn("vmaf_v0.6.1neg".into()))]
#[case::built_in("vmaf_4k_v0.6.1", None, ModelSource::BuiltIn("vmaf_4k_v0.6.1".into()))]
#[tokio::test]
async fn a_name_without_a_file_is_resolved(
    #[case] name: &str,
    #[case] default: Option<&str>,
    #[case] expected: ModelSource,
) {
    let mut options = FixtureOptions::new();
    options.settings.default_model = default.map(Into::into);
    assert_eq!(*options.build().find(name).await.unwrap(), expected);
}

#[tokio::test]
async fn a_typo_gets_a_suggestion() {
    let failure = FixtureOptions::new().build().find("vmaf_v0.6.1neq").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ModelMissingOnNode);
    assert_eq!(
        failure.message,
        "there is no model \"vmaf_v0.6.1neq\" and this node has no directory of models (VMAFX_MODEL_DIR); did you mean vmaf_v0.6.1neg?"
    );
}

#[tokio::test]
async fn a_file_is_found_in_the_directory_and_in_those_of_families_and_nowhere_else() {
    let mut options = FixtureOptions::new();
    let models = options.directory.path().join("models");
    std::fs::create_dir_all(models.join("vmaf_v1.0.16_hfr")).unwrap();
    std::fs::create_dir_all(models.join("..data")).unwrap();
    for file in [
        "mine.json",
        "bare",
        "vmaf_v1.0.16_hfr/fast.json",
        "..data/mounted.json",
        "../secret.json",
        "vmaf_v0.6.1.json",
    ] {
        std::fs::write(models.join(file), "{}").unwrap();
    }
    // The layout of a mounted ConfigMap.
    std::os::unix::fs::symlink("..data/mounted.json", models.join("mounted.json")).unwrap();
    std::os::unix::fs::symlink("../secret.json", models.join("link.json")).unwrap();
    options.settings.model_dir = Some(models.clone());
    let fixture = options.build();
    let real = models.canonicalize().unwrap();
    let absolute = models.join("mine.json").to_str().unwrap().to_owned();
    for (name, file) in [
        ("mine", "mine.json"),
        ("mine.json", "mine.json"),
        ("bare", "bare"),
        ("fast", "vmaf_v1.0.16_hfr/fast.json"),
        ("mounted", "..data/mounted.json"),
        (absolute.as_str(), "mine.json"),
    ] {
        let found = fixture.find(name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(*found, ModelSource::File { path: real.join(file), name: name.to_owned() });
    }
    let secret = models.parent().unwrap().join("secret.json");
    for name in
        ["../secret", "link", "..", "vmaf_v1.0.16_hfr", "/etc/passwd", secret.to_str().unwrap(), "nothing"]
    {
        assert_eq!(fixture.find(name).await.unwrap_err().reason, FailureReason::ModelMissingOnNode, "{name}");
    }
    assert_eq!(
        *fixture.find("vmaf_v0.6.1").await.unwrap(),
        ModelSource::BuiltIn("vmaf_v0.6.1".into()),
        "built-in names win"
    );
}

#[tokio::test]
async fn an_artifact_is_pulled_once_by_tag_and_by_digest() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let layers = [
        RegistryLayer { media_type: "text/plain", content: b"read me" },
        RegistryLayer { media_type: MEDIA_TYPE, content: b"{\"model\":1}" },
    ];
    let digest = registry.push("team/model", "v1", &layers).unwrap();
    let fixture = FixtureOptions::new().build();
    let (tag, pinned) = (
        format!("oci://{}/team/model:v1", registry.address()),
        format!("oci://{}/team/model@{digest}", registry.address()),
    );
    let all: Vec<_> =
        join_all((0..5).map(|_| fixture.find(&tag))).await.into_iter().map(Result::unwrap).collect();
    assert!(all.iter().all(|found| json(found) == b"{\"model\":1}"));
    let named = format!("{tag}@{digest}");
    assert!(all.iter().all(|found| name(found) == named), "the name has the digest of the tag");
    for again in [&pinned, &named] {
        assert_eq!(json(&fixture.find(again).await.unwrap()), b"{\"model\":1}");
    }
    assert_eq!(name(&fixture.find(&pinned).await.unwrap()), pinned);
    assert_eq!(registry.served("/v2/team/model/manifests/v1"), 1, "a fresh tag is not resolved again");
    assert_eq!(fixture.cached(), 1);
}

#[tokio::test]
async fn a_tag_that_moves_is_resolved_again_and_a_registry_that_is_down_is_tolerated_for_a_while() {
    let mut registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let push = |content: &[u8]| {
        registry
            .push("model", "stable", &[RegistryLayer { media_type: "application/json", content }])
            .unwrap()
    };
    push(b"{\"v\":1}");
    let mut options = FixtureOptions::new();
    options.settings.model_tag_ttl = GoDuration(Duration::ZERO);
    let fixture = options.build();
    let tag = format!("oci://{}/model:stable", registry.address());
    assert_eq!(json(&fixture.find(&tag).await.unwrap()), b"{\"v\":1}");
    let second = push(b"{\"v\":2}");
    assert_eq!(json(&fixture.find(&tag).await.unwrap()), b"{\"v\":2}");
    registry.stop().unwrap();
    let last = fixture.find(&tag).await.unwrap();
    assert_eq!((json(&last), name(&last)), (b"{\"v\":2}".to_vec(), format!("{tag}@{second}").as_str()));
    let unknown = fixture.find(&tag.replace("stable", "other")).await.unwrap_err();
    assert_eq!(unknown.reason, FailureReason::SourceUnreachable, "{unknown}");
}

#[tokio::test]
async fn the_resolution_of_a_tag_is_not_used_forever() {
    let mut registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    registry.push("model", "stable", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let mut options = FixtureOptions::new();
    options.settings.model_tag_ttl = GoDuration(Duration::ZERO);
    options.settings.model_tag_stale = GoDuration(Duration::ZERO);
    let fixture = options.build();
    let tag = format!("oci://{}/model:stable", registry.address());
    fixture.find(&tag).await.unwrap();
    registry.stop().unwrap();
    assert_eq!(fixture.find(&tag).await.unwrap_err().reason, FailureReason::SourceUnreachable);
}

#[tokio::test]
async fn a_registry_with_a_password_gets_that_of_the_docker_configuration() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    registry.push("model", "v1", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let reference = format!("oci://{}/model:v1", registry.address());
    let denied = FixtureOptions::new().build().find(&reference).await.unwrap_err();
    assert_eq!(denied.reason, FailureReason::ModelMissingOnNode, "{denied}");
    assert!(denied.message.contains("access is denied (401"), "{denied}");

    let mut options = FixtureOptions::new();
    let config = serde_json::json!({"auths": {registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::write(options.directory.path().join("config.json"), config.to_string()).unwrap();
    options.credentials = RegistryCredentials::in_directory(options.directory.path());
    let fixture = options.build();
    assert_eq!(json(&fixture.find(&reference).await.unwrap()), b"{}");
}

#[tokio::test]
async fn the_least_recently_used_model_is_evicted_unless_it_is_in_use() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    for name in ["a", "b", "c"] {
        let content = format!("{{\"{name}\":\"{}\"}}", "x".repeat(1000));
        registry
            .push("model", name, &[RegistryLayer { media_type: MEDIA_TYPE, content: content.as_bytes() }])
            .unwrap();
    }
    let mut options = FixtureOptions::new();
    options.settings.model_cache_bytes = ByteSize(1500);
    let fixture = options.build();
    let reference = |name: &str| format!("oci://{}/model:{name}", registry.address());
    let a = fixture.find(&reference("a")).await.unwrap();
    let b = fixture.find(&reference("b")).await.unwrap();
    assert_eq!(fixture.cached(), 2, "both are in use");
    drop(b);
    let c = fixture.find(&reference("c")).await.unwrap();
    assert!(path(&a).exists() && path(&c).exists());
    assert_eq!(fixture.cached(), 2);
}

#[tokio::test]
async fn a_model_that_is_damaged_on_disk_is_pulled_again() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    registry.push("model", "v1", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let fixture = FixtureOptions::new().build();
    let reference = format!("oci://{}/model:v1", registry.address());
    let found = path(&fixture.find(&reference).await.unwrap()).to_owned();
    std::fs::write(&found, b"[]").unwrap();
    assert_eq!(json(&fixture.find(&reference).await.unwrap()), b"{}");
}
