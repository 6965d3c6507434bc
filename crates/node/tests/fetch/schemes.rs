//! Every kind of address, with real servers where there are any.

use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use vmafx_job::FailureReason;
use vmafx_node::fetch::DownloadProgress;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::rclone::{self, RcloneServer};
use vmafx_testkit::s3::S3Server;

use crate::fixture::{FixtureOptions, clip, read, roots};

#[tokio::test]
async fn a_local_file_is_used_in_place() {
    let fixture = FixtureOptions::default().build();
    let media = fixture.directory.path().join("media");
    std::fs::create_dir(&media).unwrap();
    std::fs::write(media.join("a.y4m"), clip(1000)).unwrap();
    let root = media.to_str().unwrap();
    for uri in [format!("{root}/a.y4m"), format!("file://{root}/a.y4m")] {
        let fetched = fixture.fetch(&uri, root).await.unwrap();
        assert_eq!((&**fetched, fetched.length()), (media.join("a.y4m").as_path(), 1000));
        assert!(fetched.in_place().is_some());
        fixture.assert_clean();
    }
    let missing = fixture.fetch(&format!("{root}/b.y4m"), root).await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputMissingOnNode);
    assert_eq!(missing.message, format!("{root}/b.y4m: there is no such file"));
    let outside = fixture.fetch("/etc/passwd", root).await.unwrap_err();
    assert_eq!(outside.reason, FailureReason::InputDenied);
    std::fs::write(media.join("large"), vec![0; (4 << 20) + 1]).unwrap();
    let large = fixture.fetch(&format!("{root}/large"), root).await.unwrap_err();
    assert_eq!(large.reason, FailureReason::InputTooLarge);
}

#[tokio::test]
async fn a_file_of_a_web_server_is_downloaded_and_removed_with_its_last_user() {
    let server = RcloneServer::start("http", &[]).await.unwrap();
    let content = clip(3 << 20);
    std::fs::create_dir(server.files().join("clips")).unwrap();
    std::fs::write(server.files().join("clips/a b.y4m"), &content).unwrap();
    let fixture = FixtureOptions::default().build();
    let reported = Mutex::new(Vec::new());
    let uri = format!("{}/clips/a%20b.y4m", server.url());
    let progress = |progress: DownloadProgress| reported.lock().unwrap().push(progress);
    let fetched = fixture
        .fetcher
        .fetch(&uri, &roots(&[server.url()]), &CancellationToken::new(), &progress)
        .await
        .unwrap();
    assert!(read(&**fetched) == content);
    assert!(fetched.starts_with(fixture.scratch.path()));
    assert!(fixture.scratch.reserved() >= 3 << 20);
    let reported = reported.into_inner().unwrap();
    assert!(reported.iter().all(|progress| progress.of == Some(3 << 20)));
    assert!(reported.is_sorted_by_key(|progress| progress.bytes));
    drop(fetched);
    fixture.assert_clean();
    let missing = fixture.fetch(&format!("{}/clips/b.y4m", server.url()), server.url()).await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputNotFound);
    fixture.assert_clean();
}

#[tokio::test]
async fn an_s3_object_is_downloaded() {
    let server = S3Server::start().await.unwrap();
    let content = clip((2 << 20) + 17);
    server.put("clips", "set one/a.y4m", &content).unwrap();
    let fixture = FixtureOptions { variables: server.variables(), ..FixtureOptions::default() }.build();
    let fetched = fixture.fetch("s3://clips/set one/a.y4m", "s3://clips").await.unwrap();
    assert!(read(&**fetched) == content);
    drop(fetched);
    let missing = fixture.fetch("s3://clips/b.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputNotFound, "{missing}");
    let elsewhere = fixture.fetch("s3://other/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(elsewhere.reason, FailureReason::InputDenied, "{elsewhere}");
    fixture.assert_clean();
}

#[tokio::test]
async fn an_s3_store_that_rejects_the_credentials_denies_access() {
    let server = S3Server::start().await.unwrap();
    server.put("clips", "a.y4m", b"x").unwrap();
    let mut variables = server.variables();
    variables
        .iter_mut()
        .filter(|(name, _)| name == "AWS_SECRET_ACCESS_KEY")
        .for_each(|(_, value)| *value = "WrongSecret".into());
    let fixture = FixtureOptions { variables, ..FixtureOptions::default() }.build();
    let denied = fixture.fetch("s3://clips/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(denied.reason, FailureReason::InputDeniedOnNode, "{denied}");
    assert!(!denied.message.contains("WrongSecret"));
}

#[tokio::test]
async fn a_store_without_tls_is_not_used_unless_that_is_configured() {
    let server = S3Server::start().await.unwrap();
    let mut variables = server.variables();
    variables.retain(|(name, _)| name != "AWS_ALLOW_HTTP");
    let fixture = FixtureOptions { variables, ..FixtureOptions::default() }.build();
    let failure = fixture.fetch("s3://clips/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
}

#[tokio::test]
async fn google_and_azure_objects_are_downloaded() {
    let content = clip(100_000);
    let copy = content.clone();
    let server = HttpServer::start(move |request| match request.path.as_str() {
        "/gbucket/set%2Fa%2Ey4m" | "/account/container/set/a.y4m" => {
            let reply = Reply::file(copy.clone()).etag("\"1\"").header("x-goog-generation", "1");
            reply.header("last-modified", "Mon, 16 Nov 2026 00:00:00 GMT")
        }
        _ => Reply::status(404),
    });
    let variables = [
        ("GOOGLE_BASE_URL", server.url("")),
        ("GOOGLE_SKIP_SIGNATURE", "true".into()),
        ("GOOGLE_ALLOW_HTTP", "true".into()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "account".into()),
        ("AZURE_ENDPOINT", server.url("/account")),
        ("AZURE_SKIP_SIGNATURE", "true".into()),
        ("AZURE_ALLOW_HTTP", "true".into()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let fixture = FixtureOptions { variables, ..FixtureOptions::default() }.build();
    for (uri, root) in
        [("gs://gbucket/set/a.y4m", "gs://gbucket"), ("azure://container/set/a.y4m", "azure://container")]
    {
        let fetched = fixture.fetch(uri, root).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("{uri}: {error}: {:?}", server.requests()));
        assert!(read(&**fetched) == content, "{uri}");
        let missing = fixture.fetch(&uri.replace("a.y4m", "b.y4m"), root).await.unwrap_err();
        assert_eq!(missing.reason, FailureReason::InputNotFound, "{missing}");
    }
    fixture.assert_clean();
}

#[tokio::test]
async fn other_stores_are_read_by_rclone() {
    let server = RcloneServer::start("webdav", &["--user=u", "--pass=p"]).await.unwrap();
    let content = clip((1 << 20) + 5);
    std::fs::write(server.files().join("a.y4m"), &content).unwrap();
    let program = rclone::program().unwrap();
    let hidden = std::process::Command::new(&program).args(["obscure", "p"]).output();
    let hidden = hidden
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8(output.stdout).unwrap());
    let hidden = hidden.expect("rclone obscure");
    let config =
        format!("[dav]\ntype = webdav\nurl = {}\nvendor = other\nuser = u\npass = {hidden}\n", server.url());
    let fixture = FixtureOptions { rclone: Some((program, config)), ..FixtureOptions::default() }.build();
    for uri in ["dav:a.y4m", "rclone://dav:a.y4m", "dav://a.y4m"] {
        let fetched = fixture.fetch(uri, "dav:").await.unwrap();
        assert!(read(&**fetched) == content);
    }
    let cases = [
        ("dav:b.y4m", "dav:", FailureReason::InputNotFound),
        ("other:a.y4m", "other:", FailureReason::InputDeniedOnNode),
    ];
    for (uri, root, expected) in cases {
        let failure = fixture.fetch(uri, root).await.unwrap_err();
        assert_eq!(failure.reason, expected, "{failure}");
    }
    fixture.assert_clean();
}

#[tokio::test]
async fn a_node_without_rclone_names_the_setting() {
    let fixture = FixtureOptions::default().build();
    let failure = fixture.fetch("dav:a.y4m", "dav:").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::Internal);
    assert!(failure.message.contains("VMAFX_RCLONE_BIN"), "{failure}");
}

#[tokio::test]
async fn a_file_in_chunks_has_no_length_and_is_downloaded_too() {
    let content = clip(300_000);
    let copy = content.clone();
    let server = HttpServer::start(move |_| Reply::body(ReplyBody::Chunked(copy.clone())));
    let fixture = FixtureOptions { scratch_bytes: 1 << 20, ..FixtureOptions::default() }.build();
    let fetched = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap();
    assert!(read(&**fetched) == content);
    assert!(fixture.scratch.reserved() < 400_000, "unused space is released");
}

#[tokio::test]
async fn a_user_and_password_in_an_address_are_used() {
    let server = HttpServer::start(|request| match request.header("authorization") {
        Some("Basic dXNlcjpwYXNz") => Reply::file("ok"),
        _ => Reply::status(401),
    });
    let fixture = FixtureOptions::default().build();
    let with = server.url("/a").replace("http://", "http://user:pass@");
    assert_eq!(read(&**fixture.fetch(&with, &server.url("/")).await.unwrap()), b"ok");
    let without = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(without.reason, FailureReason::InputDeniedOnNode);
}
