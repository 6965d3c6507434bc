//! Reports to every kind of address.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_node::publish::Publisher;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::rclone;
use vmafx_testkit::s3::S3Server;

use crate::fixture::{Fixture, FixtureOptions, clip, read, roots};

struct Report {
    fixture: Fixture,
    file: PathBuf,
}

impl Report {
    fn new(setup: FixtureOptions, content: &[u8]) -> Self {
        let fixture = setup.build();
        let file = fixture.directory.path().join("report.json");
        std::fs::write(&file, content).unwrap();
        Self { fixture, file }
    }

    async fn publish(&self, uri: &str, root: &str) -> Result<(), Failure> {
        let publisher = Publisher::new(&self.fixture.fetcher);
        publisher.publish(&self.file, uri, &roots(&[root]), &CancellationToken::new()).await
    }
}

#[tokio::test]
async fn a_local_report_replaces_the_one_before_and_leaves_nothing_beside_it() {
    let report = Report::new(FixtureOptions::default(), b"new");
    let root = report.fixture.directory.path().join("reports");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a.json"), "old").unwrap();
    let root = root.to_str().unwrap();
    report.publish(&format!("{root}/a.json"), root).await.unwrap();
    assert_eq!(read(format!("{root}/a.json")), b"new");
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1);

    std::fs::create_dir(format!("{root}/taken")).unwrap();
    for (uri, expected) in [
        (format!("{root}/nowhere/a.json"), FailureReason::ReportNotWritten),
        (format!("{root}/taken"), FailureReason::ReportNotWritten),
        ("/etc/a.json".to_owned(), FailureReason::InputDenied),
        (format!("{root}/../a.json"), FailureReason::InputDenied),
    ] {
        assert_eq!(report.publish(&uri, root).await.unwrap_err().reason, expected, "{uri}");
    }
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 2, "no temporary file is left");
}

#[tokio::test]
async fn a_link_at_the_path_of_the_report_is_replaced_and_not_followed() {
    let report = Report::new(FixtureOptions::default(), b"new");
    let (root, victim) =
        (report.fixture.directory.path().join("reports"), report.fixture.directory.path().join("victim"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(&victim, "untouched").unwrap();
    symlink(&victim, root.join("a.json")).unwrap();
    symlink(report.fixture.directory.path(), root.join("out")).unwrap();
    let root = root.to_str().unwrap();
    report.publish(&format!("{root}/a.json"), root).await.unwrap();
    assert_eq!((read(format!("{root}/a.json")), read(&victim)), (b"new".to_vec(), b"untouched".to_vec()));
    let out = report.publish(&format!("{root}/out/victim"), root).await.unwrap_err();
    assert_eq!(out.reason, FailureReason::ReportNotWritten);
    assert_eq!(read(&victim), b"untouched");
}

#[tokio::test]
async fn a_link_that_a_worker_left_instead_of_its_report_is_not_published() {
    let report = Report::new(FixtureOptions::default(), b"x");
    std::fs::remove_file(&report.file).unwrap();
    symlink("/etc/passwd", &report.file).unwrap();
    let root = report.fixture.directory.path().to_str().unwrap();
    let failure = report.publish(&format!("{root}/a.json"), root).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ReportNotWritten);
    assert!(!PathBuf::from(format!("{root}/a.json")).exists());
}

#[tokio::test]
async fn a_report_goes_to_a_bucket_in_one_part_or_in_many() {
    let server = S3Server::start().await.unwrap();
    std::fs::create_dir(server.files().join("reports")).unwrap();
    for length in [1000, (20 << 20) + 3] {
        let content = clip(length);
        let report = Report::new(
            FixtureOptions { variables: server.variables(), ..FixtureOptions::default() },
            &content,
        );
        report.publish("s3://reports/a.json", "s3://reports").await.unwrap();
        assert!(read(server.files().join("reports/a.json")) == content);
        let failure = report.publish("s3://nowhere/a.json", "s3://nowhere").await.unwrap_err();
        assert_eq!(failure.reason, FailureReason::ReportNotWritten, "{failure}");
    }
}

#[tokio::test]
async fn a_report_is_sent_to_a_web_server_with_its_length() {
    let server = HttpServer::start(|request| match request.path.as_str() {
        "/reports/a.json" => Reply::status(201),
        "/reports/moved" => Reply::redirect("/reports/a.json"),
        _ => Reply::status(403),
    });
    let content = clip(100_000);
    let report = Report::new(FixtureOptions::default(), &content);
    let root = server.url("/reports");
    report.publish(&server.url("/reports/a.json?sig=S3cr3t"), &root).await.unwrap();
    let request = server.requests().remove(0);
    assert_eq!((request.method.as_str(), request.header("content-length")), ("PUT", Some("100000")));
    assert!(request.body == content);
    for path in ["/reports/b.json?sig=S3cr3t", "/reports/moved?sig=S3cr3t"] {
        let failure = report.publish(&server.url(path), &root).await.unwrap_err();
        assert_eq!(failure.reason, FailureReason::ReportNotWritten, "{failure}");
        assert!(!failure.message.contains("S3cr3t"), "{failure}");
    }
    assert_eq!(server.requests().len(), 3, "a redirect is not followed");
}

#[tokio::test]
async fn a_report_goes_to_a_remote_of_rclone() {
    let directory = tempfile::tempdir().unwrap();
    let config = format!("[box]\ntype = alias\nremote = {}\n", directory.path().display());
    let report = Report::new(
        FixtureOptions { rclone: Some((rclone::program().unwrap(), config)), ..FixtureOptions::default() },
        b"new",
    );
    report.publish("box:a.json", "box:").await.unwrap();
    assert_eq!(read(directory.path().join("a.json")), b"new");
}
