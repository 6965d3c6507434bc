//! No secret of an address gets out.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use vmafx_node::fetch::Limits;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

use crate::agent::Setup;

const SECRET: &str = "S3cr3tS3cr3t";

/// Everything that is logged, down to the finest level.
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
    let server = HttpServer::start(|request| match request.path.as_str() {
        "/ok" => Reply::file("ok").etag("\"1\""),
        "/cut" => Reply::body(ReplyBody::Truncated { file: vec![0; 10], sent: 5 }),
        "/hang" => Reply::body(ReplyBody::HangUp),
        "/loop" => Reply::redirect(format!("/loop?{SECRET}")),
        "/out" => Reply::redirect(format!("http://user:{SECRET}@other.example/x?{SECRET}")),
        "/broken" => Reply::status(500),
        "/denied" => Reply::status(403),
        _ => Reply::status(404),
    });
    let setup = Setup::default();
    // Stores that nobody serves, so that no test asks the metadata service for credentials.
    let nobody = "http://127.0.0.1:9";
    let variables = [
        ("AWS_ENDPOINT_URL", nobody),
        ("AWS_ACCESS_KEY_ID", SECRET),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ALLOW_HTTP", "true"),
        ("GOOGLE_BASE_URL", nobody),
        ("GOOGLE_SKIP_SIGNATURE", "true"),
        ("GOOGLE_ALLOW_HTTP", "true"),
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_STORAGE_SAS_TOKEN", "sig=S3cr3tS3cr3t"),
        ("AZURE_ENDPOINT", nobody),
        ("AZURE_ALLOW_HTTP", "true"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let agent = Setup {
        variables,
        limits: Limits { attempts: 2, headers: Duration::from_millis(300), ..setup.limits.clone() },
        ..setup
    }
    .agent();
    let authority = server.authority();
    let host = prop_oneof![
        Just(authority.clone()),
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
    let shape = 0..4_u8;
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&(scheme, host, path, shape), |(scheme, host, path, shape)| {
        let uri = match shape {
            0 => format!("{scheme}://user:{SECRET}@{host}{path}"),
            1 => format!("{scheme}://{SECRET}@{host}{path}"),
            2 => format!("{scheme}://{host}{path}?X-Amz-Signature={SECRET}"),
            _ => format!("{scheme}://user:{SECRET}@{host}{path}?sig={SECRET}#{SECRET}"),
        };
        // Both inside and outside the roots.
        for root in [format!("http://{authority}"), "https://".to_owned(), format!("{scheme}://{host}")] {
            let Ok(roots) = vmafx_node::paths::Roots::parse(&[root]) else { continue };
            let cancel = tokio_util::sync::CancellationToken::new();
            let fetched = runtime.block_on(agent.fetcher.fetch(&uri, &roots, &cancel, &|_| {}));
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
    let told = ours.iter().find(|line| line.contains(SECRET));
    assert_eq!(told, None);
}

#[test]
fn no_name_of_an_object_stops_the_client() {
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
    let agent = Setup { variables, ..Setup::default() }.agent();
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
        let Ok(roots) = vmafx_node::paths::Roots::parse(&[format!("{scheme}://{bucket}")]) else {
            return Ok(());
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        let uri = format!("{scheme}://{bucket}/{key}");
        let failure = runtime.block_on(agent.fetcher.fetch(&uri, &roots, &cancel, &|_| {})).unwrap_err();
        prop_assert!(!failure.message.is_empty());
        Ok(())
    });
    tried.unwrap();
}
