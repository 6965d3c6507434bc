//! Models: built-in ones, files, and artifacts of registries, real and hostile.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_kit::config::GoDuration;
use vmafx_node::fetch::{FetchSettings, Fetcher, Limits, StoreVariables};
use vmafx_node::models::{Found, ModelSettings, Models, RegistryCredentials};
use vmafx_node::scratch::{Scratch, ScratchSettings, Size};
use vmafx_node::task::ModelSource;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, RegistryServer, USER};

const MEDIA_TYPE: &str = "application/vnd.vmafx.model.v1+json";

struct Node {
    models: Models,
    directory: tempfile::TempDir,
}

struct Setup {
    settings: ModelSettings,
    credentials: RegistryCredentials,
    directory: tempfile::TempDir,
}

impl Setup {
    fn new() -> Self {
        let settings = ModelSettings {
            model_dir: None,
            default_model: None,
            model_cache_bytes: Size(1 << 30),
            model_tag_ttl: GoDuration(Duration::from_mins(1)),
            model_tag_stale: GoDuration(Duration::from_hours(1)),
            oci_plain_http: Vec::new(),
        };
        Self { settings, credentials: RegistryCredentials::none(), directory: tempfile::tempdir().unwrap() }
    }

    fn node(self) -> Node {
        let scratch = Scratch::open(&ScratchSettings {
            scratch_dir: Some(self.directory.path().join("scratch")),
            scratch_bytes: Size(1 << 30),
            scratch_wait: GoDuration(Duration::from_secs(1)),
        })
        .unwrap();
        let settings = FetchSettings {
            max_input_bytes: Size(1 << 30),
            fetch_idle_timeout: GoDuration(Duration::from_secs(5)),
            fetch_timeout: GoDuration(Duration::from_mins(1)),
            rclone_bin: "rclone".into(),
            rclone_config: None,
        };
        let limits = Limits { attempts: 2, back_off: Duration::from_millis(1), ..settings.limits() };
        let fetcher = Fetcher::with_limits(&settings, limits, &StoreVariables::default(), scratch).unwrap();
        let models = Models::new(&self.settings, self.credentials, &fetcher).unwrap();
        Node { models, directory: self.directory }
    }
}

impl Node {
    async fn find(&self, name: &str) -> Result<Found, Failure> {
        self.models.find(name, &CancellationToken::new()).await
    }

    fn kept(&self) -> usize {
        std::fs::read_dir(self.directory.path().join("scratch/models")).unwrap().count()
    }
}

fn path(found: &Found) -> &Path {
    match &**found {
        ModelSource::File { path, .. } => path,
        other => panic!("{other:?}"),
    }
}

fn name(found: &Found) -> &str {
    match &**found {
        ModelSource::File { name, .. } => name,
        other => panic!("{other:?}"),
    }
}

fn json(found: &Found) -> Vec<u8> {
    std::fs::read(path(found)).unwrap()
}

#[rstest]
#[case::nothing("", None, ModelSource::Auto)]
#[case::auto("auto", Some("vmaf_v0.6.1"), ModelSource::Auto)]
#[case::default("", Some("vmaf_v0.6.1neg"), ModelSource::BuiltIn("vmaf_v0.6.1neg".into()))]
#[case::built_in("vmaf_4k_v0.6.1", None, ModelSource::BuiltIn("vmaf_4k_v0.6.1".into()))]
#[tokio::test]
async fn names_without_a_file(
    #[case] name: &str,
    #[case] default: Option<&str>,
    #[case] expected: ModelSource,
) {
    let mut setup = Setup::new();
    setup.settings.default_model = default.map(Into::into);
    assert_eq!(*setup.node().find(name).await.unwrap(), expected);
}

#[tokio::test]
async fn a_typo_is_told_what_was_meant() {
    let failure = Setup::new().node().find("vmaf_v0.6.1neq").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ModelNotFound);
    assert_eq!(
        failure.message,
        "there is no model \"vmaf_v0.6.1neq\" and this node has no directory of models (VMAFX_MODEL_DIR); did you mean vmaf_v0.6.1neg?"
    );
}

#[tokio::test]
async fn a_file_is_found_in_the_directory_and_in_those_of_families_and_nowhere_else() {
    let mut setup = Setup::new();
    let models = setup.directory.path().join("models");
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
    // As a mounted ConfigMap has it.
    std::os::unix::fs::symlink("..data/mounted.json", models.join("mounted.json")).unwrap();
    std::os::unix::fs::symlink("../secret.json", models.join("link.json")).unwrap();
    setup.settings.model_dir = Some(models.clone());
    let node = setup.node();
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
        let found = node.find(name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(*found, ModelSource::File { path: real.join(file), name: name.to_owned() });
    }
    let secret = setup_secret(&models);
    for name in
        ["../secret", "link", "..", "vmaf_v1.0.16_hfr", "/etc/passwd", secret.to_str().unwrap(), "nothing"]
    {
        assert_eq!(node.find(name).await.unwrap_err().reason, FailureReason::ModelNotFound, "{name}");
    }
    assert_eq!(
        *node.find("vmaf_v0.6.1").await.unwrap(),
        ModelSource::BuiltIn("vmaf_v0.6.1".into()),
        "built-in names win"
    );
}

fn setup_secret(models: &Path) -> PathBuf {
    models.parent().unwrap().join("secret.json")
}

#[tokio::test]
async fn an_artifact_is_pulled_once_by_tag_and_by_digest() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let layers = [
        RegistryLayer { media_type: "text/plain", content: b"read me" },
        RegistryLayer { media_type: MEDIA_TYPE, content: b"{\"model\":1}" },
    ];
    let digest = registry.push("team/model", "v1", &layers).unwrap();
    let node = Setup::new().node();
    let (tag, pinned) = (
        format!("oci://{}/team/model:v1", registry.address()),
        format!("oci://{}/team/model@{digest}", registry.address()),
    );
    let all: Vec<_> =
        join_all((0..5).map(|_| node.find(&tag))).await.into_iter().map(Result::unwrap).collect();
    assert!(all.iter().all(|found| json(found) == b"{\"model\":1}"));
    let named = format!("{tag}@{digest}");
    assert!(all.iter().all(|found| name(found) == named), "a tag says what it meant");
    for again in [&pinned, &named] {
        assert_eq!(json(&node.find(again).await.unwrap()), b"{\"model\":1}");
    }
    assert_eq!(name(&node.find(&pinned).await.unwrap()), pinned);
    assert_eq!(registry.served("/v2/team/model/manifests/v1"), 1, "a fresh tag is not asked again");
    assert_eq!(node.kept(), 1);
}

#[tokio::test]
async fn a_tag_that_moves_is_seen_and_a_registry_that_is_down_is_borne_for_a_while() {
    let mut registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let push = |content: &[u8]| {
        registry
            .push("model", "stable", &[RegistryLayer { media_type: "application/json", content }])
            .unwrap()
    };
    push(b"{\"v\":1}");
    let mut setup = Setup::new();
    setup.settings.model_tag_ttl = GoDuration(Duration::ZERO);
    let node = setup.node();
    let tag = format!("oci://{}/model:stable", registry.address());
    assert_eq!(json(&node.find(&tag).await.unwrap()), b"{\"v\":1}");
    let second = push(b"{\"v\":2}");
    assert_eq!(json(&node.find(&tag).await.unwrap()), b"{\"v\":2}");
    registry.stop().unwrap();
    let last = node.find(&tag).await.unwrap();
    assert_eq!((json(&last), name(&last)), (b"{\"v\":2}".to_vec(), format!("{tag}@{second}").as_str()));
    let unknown = node.find(&tag.replace("stable", "other")).await.unwrap_err();
    assert_eq!(unknown.reason, FailureReason::SourceUnreachable, "{unknown}");
}

#[tokio::test]
async fn what_a_tag_meant_is_not_trusted_forever() {
    let mut registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    registry.push("model", "stable", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let mut setup = Setup::new();
    setup.settings.model_tag_ttl = GoDuration(Duration::ZERO);
    setup.settings.model_tag_stale = GoDuration(Duration::ZERO);
    let node = setup.node();
    let tag = format!("oci://{}/model:stable", registry.address());
    node.find(&tag).await.unwrap();
    registry.stop().unwrap();
    assert_eq!(node.find(&tag).await.unwrap_err().reason, FailureReason::SourceUnreachable);
}

#[tokio::test]
async fn a_registry_with_a_password_is_shown_the_one_of_the_docker_configuration() {
    let registry = RegistryServer::start(RegistryAuth::Password).await.unwrap();
    registry.push("model", "v1", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let reference = format!("oci://{}/model:v1", registry.address());
    let denied = Setup::new().node().find(&reference).await.unwrap_err();
    assert_eq!(denied.reason, FailureReason::ModelNotFound, "{denied}");
    assert!(denied.message.contains("access is denied (401"), "{denied}");

    let mut setup = Setup::new();
    let config = serde_json::json!({"auths": {registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::write(setup.directory.path().join("config.json"), config.to_string()).unwrap();
    setup.credentials = RegistryCredentials::in_directory(setup.directory.path());
    let node = setup.node();
    assert_eq!(json(&node.find(&reference).await.unwrap()), b"{}");
}

#[tokio::test]
async fn the_least_recently_used_model_makes_room_unless_it_is_in_use() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    for name in ["a", "b", "c"] {
        let content = format!("{{\"{name}\":\"{}\"}}", "x".repeat(1000));
        registry
            .push("model", name, &[RegistryLayer { media_type: MEDIA_TYPE, content: content.as_bytes() }])
            .unwrap();
    }
    let mut setup = Setup::new();
    setup.settings.model_cache_bytes = Size(1500);
    let node = setup.node();
    let reference = |name: &str| format!("oci://{}/model:{name}", registry.address());
    let a = node.find(&reference("a")).await.unwrap();
    let b = node.find(&reference("b")).await.unwrap();
    assert_eq!(node.kept(), 2, "both are in use");
    drop(b);
    let c = node.find(&reference("c")).await.unwrap();
    assert!(path(&a).exists() && path(&c).exists());
    assert_eq!(node.kept(), 2);
}

#[tokio::test]
async fn a_model_that_is_damaged_on_disk_is_fetched_again() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    registry.push("model", "v1", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let node = Setup::new().node();
    let reference = format!("oci://{}/model:v1", registry.address());
    let found = path(&node.find(&reference).await.unwrap()).to_owned();
    std::fs::write(&found, b"[]").unwrap();
    assert_eq!(json(&node.find(&reference).await.unwrap()), b"{}");
}

/// A registry that is a script: what it says for the manifest and for the blob.
fn script(
    manifest: impl Fn() -> Reply + Send + Sync + 'static,
    blob: impl Fn() -> Reply + Send + Sync + 'static,
) -> HttpServer {
    HttpServer::start(move |request| match request.path.as_str() {
        path if path.contains("/manifests/") => manifest(),
        path if path.contains("/blobs/") => blob(),
        _ => Reply::status(404),
    })
}

const EMPTY: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; // of {}

fn manifest(digest: &str, size: u64) -> Vec<u8> {
    let layer = serde_json::json!({"mediaType": MEDIA_TYPE, "digest": digest, "size": size});
    serde_json::json!({"schemaVersion": 2, "layers": [layer]}).to_string().into_bytes()
}

#[rstest]
#[case::good(Reply::file(manifest(EMPTY, 2)), Reply::file("{}"), None)]
#[case::other_content(Reply::file(manifest(EMPTY, 2)), Reply::file("[]"), Some(FailureReason::ModelInvalid))]
#[case::longer_than_declared(
    Reply::file(manifest(EMPTY, 2)),
    Reply::file("{} "),
    Some(FailureReason::ModelInvalid)
)]
#[case::shorter_than_declared(
    Reply::file(manifest(EMPTY, 3)),
    Reply::file("{}"),
    Some(FailureReason::SourceUnreachable)
)]
#[case::endless_model(Reply::file(manifest(EMPTY, 1 << 20)), Reply::body(ReplyBody::Endless), Some(FailureReason::ModelInvalid))]
#[case::declared_too_large(Reply::file(manifest(EMPTY, (64 << 20) + 1)), Reply::file("{}"), Some(FailureReason::ModelInvalid))]
#[case::endless_manifest(
    Reply::body(ReplyBody::Endless),
    Reply::file("{}"),
    Some(FailureReason::ModelInvalid)
)]
#[case::no_manifest(Reply::file("<html>"), Reply::file("{}"), Some(FailureReason::ModelInvalid))]
#[case::missing(Reply::status(404), Reply::file("{}"), Some(FailureReason::ModelNotFound))]
#[case::broken(Reply::status(500), Reply::file("{}"), Some(FailureReason::SourceUnreachable))]
#[case::blob_at_metadata(
    Reply::file(manifest(EMPTY, 2)),
    Reply::redirect("https://169.254.169.254/latest"),
    Some(FailureReason::ModelNotFound)
)]
#[case::blob_without_tls(
    Reply::file(manifest(EMPTY, 2)),
    Reply::redirect("http://storage.example/blob"),
    Some(FailureReason::ModelNotFound)
)]
#[tokio::test]
async fn a_registry_s_fault_has_a_reason_and_nothing_wrong_is_kept(
    #[case] manifest: Reply,
    #[case] blob: Reply,
    #[case] expected: Option<FailureReason>,
) {
    let server = script(move || manifest.clone(), move || blob.clone());
    let node = Setup::new().node();
    let found = node.find(&format!("oci://{}/model:v1", server.authority())).await;
    assert_eq!(found.as_ref().err().map(|failure| failure.reason), expected, "{found:?}");
    assert_eq!(node.kept(), usize::from(expected.is_none()));
}

#[tokio::test]
async fn a_pinned_manifest_must_have_its_digest() {
    let server = script(|| Reply::file(manifest(EMPTY, 2)), || Reply::file("{}"));
    let node = Setup::new().node();
    let failure = node.find(&format!("oci://{}/model@{EMPTY}", server.authority())).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ModelInvalid);
    assert!(failure.message.contains("its manifest does not have the digest"), "{failure}");
}

#[tokio::test]
async fn a_token_is_fetched_with_the_password_and_shown_to_the_registry_alone() {
    let storage = HttpServer::start(|_| Reply::file("{}"));
    let blob = storage.url("/blob?signature=x");
    let tokens =
        HttpServer::start(|request| match (request.header("authorization"), request.query.as_str()) {
            (Some("Basic dXNlcjpwYXNz"), "scope=repository%3Amodel%3Apull&service=models") => {
                Reply::file(r#"{"token":"T0ken"}"#)
            }
            _ => Reply::status(403),
        });
    let challenge = format!(
        "Bearer realm=\"{}\",service=\"models\",scope=\"repository:model:pull\"",
        tokens.url("/token")
    );
    let server =
        HttpServer::start(move |request| match (request.header("authorization"), request.path.as_str()) {
            (Some("Bearer T0ken"), "/v2/model/manifests/v1") => Reply::file(manifest(EMPTY, 2)),
            (Some("Bearer T0ken"), _) => Reply::redirect(blob.clone()),
            _ => Reply::status(401).header("www-authenticate", challenge.clone()),
        });
    let mut setup = Setup::new();
    let config = serde_json::json!({"auths": {server.authority(): {"auth": "dXNlcjpwYXNz"}}});
    std::fs::write(setup.directory.path().join(".dockerconfigjson"), config.to_string()).unwrap();
    setup.credentials = RegistryCredentials::in_directory(setup.directory.path());
    let node = setup.node();
    let found = node.find(&format!("oci://{}/model:v1", server.authority())).await.unwrap();
    assert_eq!(json(&found), b"{}");
    assert_eq!(tokens.requests().len(), 1);
    assert_eq!(storage.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_registry_elsewhere_is_asked_with_tls_unless_it_is_listed() {
    // Nobody answers at either; which of the two it was is told by the connection that was tried.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let proxyless = HttpServer::start(move |request| {
        seen.lock().unwrap().push(request.method.clone());
        Reply::status(404)
    });
    let port = proxyless.authority().rsplit_once(':').unwrap().1.to_owned();
    // A name that is this machine but does not look like it.
    let name = format!("localhost.localdomain:{port}");
    if tokio::net::lookup_host(&name).await.is_err() {
        return;
    }
    let _ = Setup::new().node().find(&format!("oci://{name}/model:v1")).await.unwrap_err();
    assert!(asked.lock().unwrap().iter().all(|method| method != "GET"));
    let mut setup = Setup::new();
    setup.settings.oci_plain_http = vec![name.clone()];
    assert_eq!(
        setup.node().find(&format!("oci://{name}/model:v1")).await.unwrap_err().reason,
        FailureReason::ModelNotFound
    );
    assert!(asked.lock().unwrap().iter().any(|method| method == "GET"));
}

#[tokio::test]
async fn whoever_cancels_leaves_the_pull_to_the_next() {
    let stall = Arc::new(AtomicBool::new(true));
    let (asked, hang) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&stall));
    let count = Arc::clone(&asked);
    let server = script(
        || Reply::file(manifest(EMPTY, 2)),
        move || {
            count.fetch_add(1, Ordering::Relaxed);
            if hang.swap(false, Ordering::Relaxed) {
                Reply::body(ReplyBody::Silent)
            } else {
                Reply::file("{}")
            }
        },
    );
    let node = Setup::new().node();
    let (name, cancel) = (format!("oci://{}/model:v1", server.authority()), CancellationToken::new());
    let leaving = async {
        vmafx_testkit::wait::until(Duration::from_secs(20), "the pull", async || {
            asked.load(Ordering::Relaxed) == 1
        })
        .await
        .unwrap();
        cancel.cancel();
    };
    let (first, second, ()) = tokio::join!(node.models.find(&name, &cancel), node.find(&name), leaving);
    assert_eq!(first.unwrap_err().reason, FailureReason::Internal);
    assert_eq!(json(&second.unwrap()), b"{}");
}
