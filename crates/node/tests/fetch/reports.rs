//! Reports to every kind of address.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_node::publish::{Publisher, WriteMode};
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
        self.publish_as(WriteMode::Create, uri, root).await
    }

    async fn publish_as(&self, mode: WriteMode, uri: &str, root: &str) -> Result<(), Failure> {
        let publisher = Publisher::new(&self.fixture.fetcher);
        publisher.publish(&self.file, uri, &roots(&[root]), mode, &CancellationToken::new()).await
    }

    /// Publishes to an address where a report of the same bytes and then another one is, and reads it by `content`.
    async fn assert_creates_only(&self, uri: &str, root: &str, content: impl Fn() -> Vec<u8>) {
        let publisher = Publisher::new(&self.fixture.fetcher);
        publisher.check_absent(uri, &roots(&[root])).await.unwrap();
        let report = read(&self.file);
        self.publish(uri, root).await.unwrap();
        assert!(content() == report);
        // An earlier attempt may have written the same report.
        self.publish(uri, root).await.unwrap();
        let early = publisher.check_absent(uri, &roots(&[root])).await.unwrap_err();

        std::fs::write(&self.file, "another report").unwrap();
        let refused = self.publish(uri, root).await.unwrap_err();
        assert_eq!(refused.reason, FailureReason::OptionsInvalid, "{refused}");
        assert!(refused.message.contains("overwriteReport") && refused.message.contains(uri), "{refused}");
        assert_eq!(early, refused);
        assert!(content() == report, "the first report is untouched");

        self.publish_as(WriteMode::Overwrite, uri, root).await.unwrap();
        assert_eq!(content(), b"another report");
    }
}

#[tokio::test]
async fn a_local_report_overwrites_nothing_unless_told_to() {
    let report = Report::new(FixtureOptions::default(), &clip(100_000));
    let root = report.fixture.directory.path().join("reports");
    std::fs::create_dir(&root).unwrap();
    let root = root.to_str().unwrap();
    let path = format!("{root}/a.json");
    report.assert_creates_only(&path, root, || read(&path)).await;
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1, "no temporary file is left");
}

/// Many jobs with one address: one of them wins.
#[tokio::test]
async fn of_several_reports_for_one_path_exactly_one_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let path = format!("{root}/a.json");
    let reports: Vec<Report> =
        (0..8_u8).map(|number| Report::new(FixtureOptions::default(), &[number; 1000])).collect();
    let written = futures::future::join_all(reports.iter().map(|report| report.publish(&path, root))).await;
    assert_eq!(written.iter().filter(|written| written.is_ok()).count(), 1);
    let winner = written.iter().position(Result::is_ok).unwrap();
    assert_eq!(read(&path), read(&reports[winner].file));
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1);
}

#[tokio::test]
async fn a_local_report_that_may_overwrite_leaves_nothing_beside_it() {
    let report = Report::new(FixtureOptions::default(), b"new");
    let root = report.fixture.directory.path().join("reports");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a.json"), "old").unwrap();
    let root = root.to_str().unwrap();
    report.publish_as(WriteMode::Overwrite, &format!("{root}/a.json"), root).await.unwrap();
    assert_eq!(read(format!("{root}/a.json")), b"new");
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 1);

    std::fs::create_dir(format!("{root}/taken")).unwrap();
    for (uri, expected) in [
        (format!("{root}/nowhere/a.json"), FailureReason::ReportNotWritten),
        (format!("{root}/taken"), FailureReason::OptionsInvalid),
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
    let refused = report.publish(&format!("{root}/a.json"), root).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::OptionsInvalid, "a link is something too");
    report.publish_as(WriteMode::Overwrite, &format!("{root}/a.json"), root).await.unwrap();
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
    for length in [1000, (20 << 20) + 3, (40 << 20) + 3] {
        let _ = std::fs::remove_file(server.files().join("reports/a.json"));
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

/// The server ignores the condition of a PUT, as many do.
#[tokio::test]
async fn a_report_overwrites_no_object_of_a_bucket_unless_told_to() {
    let server = S3Server::start().await.unwrap();
    std::fs::create_dir(server.files().join("reports")).unwrap();
    for (number, length) in [1000, (40 << 20) + 3].into_iter().enumerate() {
        let setup = FixtureOptions { variables: server.variables(), ..FixtureOptions::default() };
        let report = Report::new(setup, &clip(length));
        let object = server.files().join(format!("reports/{number}.json"));
        let uri = format!("s3://reports/{number}.json");
        report.assert_creates_only(&uri, "s3://reports", || read(&object)).await;
    }
}

/// A store that knows conditional requests, and an object that appears after it was looked for.
#[tokio::test]
async fn an_object_that_appears_at_the_last_moment_is_not_overwritten() {
    let server =
        HttpServer::start(|request| match (request.method.as_str(), request.header("if-none-match")) {
            ("HEAD", _) => Reply::status(404),
            ("PUT", Some("*")) => Reply::status(412),
            ("PUT", _) => Reply::status(200),
            _ => Reply::file(b"of another job".to_vec()).etag("\"1\""),
        });
    let variables = [
        ("AWS_ENDPOINT_URL", server.url("")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "a".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "b".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let report = Report::new(FixtureOptions { variables, ..FixtureOptions::default() }, b"new");
    let refused = report.publish("s3://reports/a.json", "s3://reports").await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::OptionsInvalid, "{refused}");
    std::fs::write(&report.file, "of another job").unwrap();
    report.publish("s3://reports/a.json", "s3://reports").await.expect("the same bytes");
}

#[tokio::test]
async fn a_web_server_is_told_not_to_overwrite() {
    let server =
        HttpServer::start(|request| match (request.method.as_str(), request.header("if-none-match")) {
            ("PUT", Some("*")) => Reply::status(412),
            ("PUT", None) => Reply::status(204),
            _ => Reply::file(b"old".to_vec()).etag("\"1\""),
        });
    let report = Report::new(FixtureOptions::default(), b"new");
    let (root, uri) = (server.url("/reports"), server.url("/reports/a.json"));
    let refused = report.publish(&uri, &root).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::OptionsInvalid, "{refused}");
    report.publish_as(WriteMode::Overwrite, &uri, &root).await.unwrap();
    std::fs::write(&report.file, "old").unwrap();
    report.publish(&uri, &root).await.expect("the same bytes");
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
    report.assert_creates_only("box:a.json", "box:", || read(directory.path().join("a.json"))).await;
}
