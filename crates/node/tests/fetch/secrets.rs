//! No secret of an address leaks.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use vmafx_node::fetch::FetchLimits;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

use crate::fixture::{Fixture, FixtureOptions};

const SECRET: &str = "S3cr3tS3cr3t";

/// All log lines down to the debug level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn server() -> HttpServer {
    HttpServer::start(|request| match request.path.as_str() {
        "/ok" => Reply::file("ok").etag("\"1\""),
        "/cut" => Reply::body(ReplyBody::Truncated { file: vec![0; 10], sent: 5 }),
        "/hang" => Reply::body(ReplyBody::HangUp),
        "/loop" => Reply::redirect(format!("/loop?{SECRET}")),
        "/out" => Reply::redirect(format!("http://user:{SECRET}@other.example/x?{SECRET}")),
        "/broken" => Reply::status(500),
        "/denied" => Reply::status(403),
        _ => Reply::status(404),
    })
}

/// A fetcher whose object stores have no server, so that no test asks the metadata service for credentials.
fn fixture() -> Fixture {
    let unserved = "http://127.0.0.1:9";
    let variables = [
        ("AWS_ENDPOINT_URL", unserved),
        ("AWS_ACCESS_KEY_ID", SECRET),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ALLOW_HTTP", "true"),
        ("GOOGLE_BASE_URL", unserved),
        ("GOOGLE_SKIP_SIGNATURE", "true"),
        ("GOOGLE_ALLOW_HTTP", "true"),
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_STORAGE_SAS_TOKEN", "sig=S3cr3tS3cr3t"),
        ("AZURE_ENDPOINT", unserved),
        ("AZURE_ALLOW_HTTP", "true"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let options = FixtureOptions::default();
    let limits = FetchLimits { attempts: 2, headers: Duration::from_millis(300), ..options.limits.clone() };
    FixtureOptions { limits, variables, ..options }.build()
}

/// Scheme, host, path, and the form of the address.
fn addresses(server: &HttpServer) -> impl Strategy<Value = (&'static str, String, &'static str, u8)> {
    let host = prop_oneof![
        Just(server.authority()),
        Just("127.0.0.1:9".to_owned()),
        Just("nobody.invalid".to_owned()),
        Just("ho st".to_owned())
    ];
    let path = prop::sample::select(vec![
        "/ok", "/cut", "/hang", "/loop", "/out", "/broken", "/denied", "/missing", "/../up", "",
    ]);
    let scheme = prop::sample::select(vec![
        "http", "https", "s3", "gs", "azure", "sftp", "rclone", "file", "box", "oci",
    ]);
    (scheme, host, path, 0..4_u8)
}

#[test]
fn no_failure_log_line_or_file_name_holds_a_secret() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone());
    let _logging = tracing::subscriber::set_default(subscriber.finish());
    let (server, fixture) = (server(), fixture());
    let authority = server.authority();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&addresses(&server), |(scheme, host, path, form)| {
        let uri = match form {
            0 => format!("{scheme}://user:{SECRET}@{host}{path}"),
            1 => format!("{scheme}://{SECRET}@{host}{path}"),
            2 => format!("{scheme}://{host}{path}?X-Amz-Signature={SECRET}"),
            _ => format!("{scheme}://user:{SECRET}@{host}{path}?sig={SECRET}#{SECRET}"),
        };
        // Both inside and outside the roots.
        for root in [format!("http://{authority}"), "https://".to_owned(), format!("{scheme}://{host}")] {
            let Ok(roots) = vmafx_node::paths::ScoringRoots::parse(&[root]) else { continue };
            let cancel = tokio_util::sync::CancellationToken::new();
            let fetched = runtime.block_on(fixture.fetcher.fetch(&uri, &roots, &cancel, &|_| {}));
            match fetched {
                Ok(fetched) => prop_assert!(!fetched.display().to_string().contains(SECRET)),
                Err(failure) => {
                    prop_assert!(!failure.message.contains(SECRET), "{failure}");
                    let printed = format!("{failure:?}");
                    prop_assert!(!printed.contains(SECRET), "{}", printed);
                }
            }
        }
        Ok(())
    });
    tried.unwrap();
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    let ours: Vec<_> = log.lines().filter(|line| line.contains("vmafx")).collect();
    assert!(!ours.is_empty(), "nothing was logged, so nothing was checked");
    let leaked = ours.iter().find(|line| line.contains(SECRET));
    assert_eq!(leaked, None);
}

#[test]
fn no_name_of_an_object_makes_the_client_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = HttpServer::start(|_| Reply::status(404));
    let variables = [
        ("AWS_ENDPOINT_URL", server.url("")),
        ("AWS_ACCESS_KEY_ID", "id".into()),
        ("AWS_SECRET_ACCESS_KEY", "key".into()),
        ("AWS_ALLOW_HTTP", "true".into()),
        ("GOOGLE_BASE_URL", server.url("")),
        ("GOOGLE_SKIP_SIGNATURE", "true".into()),
        ("GOOGLE_ALLOW_HTTP", "true".into()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "account".into()),
        ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5".into()),
        ("AZURE_ENDPOINT", server.url("")),
        ("AZURE_ALLOW_HTTP", "true".into()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let fixture = FixtureOptions { variables, ..FixtureOptions::default() }.build();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let names = (
        "s3|gs|azure",
        "[a-zA-Z0-9._-]{1,10}|\\PC{1,5}",
        "\\PC{1,20}|[a-z/%?#\\\\: \t\r\n\u{7f}\u{0}]{1,12}",
    );
    let tried = runner.run(&names, |(scheme, bucket, key)| {
        let Ok(roots) = vmafx_node::paths::ScoringRoots::parse(&[format!("{scheme}://{bucket}")]) else {
            return Ok(());
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        let uri = format!("{scheme}://{bucket}/{key}");
        let failure = runtime.block_on(fixture.fetcher.fetch(&uri, &roots, &cancel, &|_| {})).unwrap_err();
        prop_assert!(!failure.message.is_empty());
        Ok(())
    });
    tried.unwrap();
}
