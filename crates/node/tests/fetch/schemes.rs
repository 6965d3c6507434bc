//! Every kind of address, from a server that is real where there is one.

use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use vmafx_job::FailureReason;
use vmafx_node::fetch::Progress;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::rclone::{self, RcloneServer};
use vmafx_testkit::s3::S3Server;

use crate::agent::{Setup, clip, read, roots};

#[tokio::test]
async fn a_local_file_is_used_in_place() {
    let agent = Setup::default().agent();
    let media = agent.directory.path().join("media");
    std::fs::create_dir(&media).unwrap();
    std::fs::write(media.join("a.y4m"), clip(1000)).unwrap();
    let root = media.to_str().unwrap();
    for uri in [format!("{root}/a.y4m"), format!("file://{root}/a.y4m")] {
        let fetched = agent.fetch(&uri, root).await.unwrap();
        assert_eq!((&**fetched, fetched.length()), (media.join("a.y4m").as_path(), 1000));
        assert!(fetched.in_place().is_some());
        agent.assert_clean();
    }
    let missing = agent.fetch(&format!("{root}/b.y4m"), root).await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputNotFound);
    assert_eq!(missing.message, format!("{root}/b.y4m: there is no such file"));
    let outside = agent.fetch("/etc/passwd", root).await.unwrap_err();
    assert_eq!(outside.reason, FailureReason::InputDenied);
    std::fs::write(media.join("large"), vec![0; (4 << 20) + 1]).unwrap();
    let large = agent.fetch(&format!("{root}/large"), root).await.unwrap_err();
    assert_eq!(large.reason, FailureReason::InputTooLarge);
}

#[tokio::test]
async fn a_web_server_s_file_comes_whole_and_goes_with_its_last_user() {
    let server = RcloneServer::start("http", &[]).await.unwrap();
    let content = clip(3 << 20);
    std::fs::create_dir(server.files().join("clips")).unwrap();
    std::fs::write(server.files().join("clips/a b.y4m"), &content).unwrap();
    let agent = Setup::default().agent();
    let told = Mutex::new(Vec::new());
    let uri = format!("{}/clips/a%20b.y4m", server.url());
    let progress = |progress: Progress| told.lock().unwrap().push(progress);
    let fetched = agent
        .fetcher
        .fetch(&uri, &roots(&[server.url()]), &CancellationToken::new(), &progress)
        .await
        .unwrap();
    assert!(read(&**fetched) == content);
    assert!(fetched.starts_with(agent.scratch.path()));
    assert!(agent.scratch.reserved() >= 3 << 20);
    let told = told.into_inner().unwrap();
    assert!(told.iter().all(|progress| progress.of == Some(3 << 20)));
    assert!(told.is_sorted_by_key(|progress| progress.bytes));
    drop(fetched);
    agent.assert_clean();
    let missing = agent.fetch(&format!("{}/clips/b.y4m", server.url()), server.url()).await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputNotFound);
    agent.assert_clean();
}

#[tokio::test]
async fn an_s3_object_comes_whole() {
    let server = S3Server::start().await.unwrap();
    let content = clip((2 << 20) + 17);
    server.put("clips", "set one/a.y4m", &content).unwrap();
    let agent = Setup { variables: server.variables(), ..Setup::default() }.agent();
    let fetched = agent.fetch("s3://clips/set one/a.y4m", "s3://clips").await.unwrap();
    assert!(read(&**fetched) == content);
    drop(fetched);
    let missing = agent.fetch("s3://clips/b.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(missing.reason, FailureReason::InputNotFound, "{missing}");
    let elsewhere = agent.fetch("s3://other/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(elsewhere.reason, FailureReason::InputDenied, "{elsewhere}");
    agent.assert_clean();
}

#[tokio::test]
async fn an_s3_store_that_does_not_know_us_denies_access() {
    let server = S3Server::start().await.unwrap();
    server.put("clips", "a.y4m", b"x").unwrap();
    let mut variables = server.variables();
    variables
        .iter_mut()
        .filter(|(name, _)| name == "AWS_SECRET_ACCESS_KEY")
        .for_each(|(_, value)| *value = "WrongSecret".into());
    let agent = Setup { variables, ..Setup::default() }.agent();
    let denied = agent.fetch("s3://clips/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(denied.reason, FailureReason::InputDenied, "{denied}");
    assert!(!denied.message.contains("WrongSecret"));
}

#[tokio::test]
async fn a_store_without_tls_is_not_spoken_to_unless_that_is_configured() {
    let server = S3Server::start().await.unwrap();
    let mut variables = server.variables();
    variables.retain(|(name, _)| name != "AWS_ALLOW_HTTP");
    let agent = Setup { variables, ..Setup::default() }.agent();
    let failure = agent.fetch("s3://clips/a.y4m", "s3://clips").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
}

#[tokio::test]
async fn google_and_azure_objects_come_whole() {
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
    let agent = Setup { variables, ..Setup::default() }.agent();
    for (uri, root) in
        [("gs://gbucket/set/a.y4m", "gs://gbucket"), ("azure://container/set/a.y4m", "azure://container")]
    {
        let fetched = agent.fetch(uri, root).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("{uri}: {error}: {:?}", server.requests()));
        assert!(read(&**fetched) == content, "{uri}");
        let missing = agent.fetch(&uri.replace("a.y4m", "b.y4m"), root).await.unwrap_err();
        assert_eq!(missing.reason, FailureReason::InputNotFound, "{missing}");
    }
    agent.assert_clean();
}

#[tokio::test]
async fn everything_else_comes_by_rclone() {
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
    let agent = Setup { rclone: Some((program, config)), ..Setup::default() }.agent();
    for uri in ["dav:a.y4m", "rclone://dav:a.y4m", "dav://a.y4m"] {
        let fetched = agent.fetch(uri, "dav:").await.unwrap();
        assert!(read(&**fetched) == content);
    }
    let cases = [
        ("dav:b.y4m", "dav:", FailureReason::InputNotFound),
        ("other:a.y4m", "other:", FailureReason::InputDenied),
    ];
    for (uri, root, expected) in cases {
        let failure = agent.fetch(uri, root).await.unwrap_err();
        assert_eq!(failure.reason, expected, "{failure}");
    }
    agent.assert_clean();
}

#[tokio::test]
async fn a_node_without_rclone_says_so() {
    let agent = Setup::default().agent();
    let failure = agent.fetch("dav:a.y4m", "dav:").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable);
    assert!(failure.message.contains("VMAFX_RCLONE_BIN"), "{failure}");
}

#[tokio::test]
async fn a_file_in_chunks_has_no_length_and_comes_whole_too() {
    let content = clip(300_000);
    let copy = content.clone();
    let server = HttpServer::start(move |_| Reply::body(ReplyBody::Chunked(copy.clone())));
    let agent = Setup { scratch_bytes: 1 << 20, ..Setup::default() }.agent();
    let fetched = agent.fetch(&server.url("/a"), &server.url("/")).await.unwrap();
    assert!(read(&**fetched) == content);
    assert!(agent.scratch.reserved() < 400_000, "unused room is given back");
}

#[tokio::test]
async fn a_user_and_password_in_an_address_are_used() {
    let server = HttpServer::start(|request| match request.header("authorization") {
        Some("Basic dXNlcjpwYXNz") => Reply::file("ok"),
        _ => Reply::status(401),
    });
    let agent = Setup::default().agent();
    let with = server.url("/a").replace("http://", "http://user:pass@");
    assert_eq!(read(&**agent.fetch(&with, &server.url("/")).await.unwrap()), b"ok");
    let without = agent.fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(without.reason, FailureReason::InputDenied);
}
