//! Streams end with the access of their callers, and those of others go on.

use std::time::SystemTime;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use rstest::rstest;
use serde_json::json;
use tokio::time::timeout;
use tonic::{Code, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::ControllerServer;

use crate::fixture::{Platform, TIMEOUT, answered, tenant, token, token_with};
use crate::http::Http;
use crate::issuer::Issuer;

const JOBS: &str = "/v1/jobs";

/// How a stream ended.
type StreamEnd = BoxFuture<'static, Status>;

/// The end of one stream of each kind, as a gRPC status.
async fn open_all(controller: &ControllerServer, token: &str) -> [(&'static str, StreamEnd); 3] {
    let mut client = VmafxControllerClient::new(controller.channel(Some(token)));
    let watch = wire::StreamJobsRequest { watch: true, ..Default::default() };
    let jobs = client.stream_jobs(watch).await.unwrap().into_inner();
    let follow = wire::StreamSamplesRequest { follow: true, ..Default::default() };
    let samples = client.stream_samples(follow).await.unwrap().into_inner();
    let events = Http::new(controller.http(), Some(token)).request("GET", "/v1/events").timeout(TIMEOUT * 2);
    let events = events.send().await.unwrap();
    assert_eq!(events.status(), 200);
    [
        ("jobs", async { jobs.map_ok(drop).try_collect::<()>().await.unwrap_err() }.boxed()),
        ("samples", async { samples.map_ok(drop).try_collect::<()>().await.unwrap_err() }.boxed()),
        ("events", async { end_of_events(&events.text().await.unwrap()) }.boxed()),
    ]
}

/// The last event has the text of the refusal.
fn end_of_events(events: &str) -> Status {
    let last = events.trim_end().rsplit("\n\n").next().unwrap();
    let data = last.strip_prefix("event: error\ndata: ").unwrap_or_else(|| panic!("no refusal: {events}"));
    let problem: serde_json::Value = serde_json::from_str(data).unwrap();
    Status::unknown(problem["error"].as_str().unwrap())
}

/// Waits for the ends; HTTP has the text only.
async fn end_with<const N: usize>(streams: [(&str, StreamEnd); N], code: Code, text: &str) {
    for (name, stream) in streams {
        let ended = timeout(TIMEOUT, stream).await.unwrap_or_else(|_| panic!("{name} goes on"));
        assert_eq!(ended.message(), text, "{name}");
        let expected = if name == "events" { Code::Unknown } else { code };
        assert_eq!(ended.code(), expected, "{name}");
    }
}

enum Change {
    Suspend,
    Delete,
    DenyReaders,
}

#[rstest]
#[case::suspended(Change::Suspend, "the tenant is suspended")]
#[case::deleted(Change::Delete, "the tenant does not exist any more, or does not accept this token")]
#[case::without_the_role(Change::DenyReaders, "the caller is not authorized for this call")]
#[tokio::test]
async fn the_streams_of_a_tenant_end_with_its_permission_and_those_of_others_go_on(
    #[case] change: Change,
    #[case] text: &str,
) {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    for name in ["acme", "bolt"] {
        platform.apply(name, tenant(name, &issuer)).await;
        answered(&controller, &token(&issuer, name), JOBS, 200).await;
    }
    let streams = open_all(&controller, &token(&issuer, "acme")).await;
    let bolt = token(&issuer, "bolt");
    let mut client = VmafxControllerClient::new(controller.channel(Some(&bolt)));
    let watch = wire::StreamJobsRequest { watch: true, ..Default::default() };
    let mut others = client.stream_jobs(watch).await.unwrap().into_inner();

    let mut changed = tenant("acme", &issuer);
    match change {
        Change::Suspend => {
            changed["enabled"] = json!(false);
            platform.apply("acme", changed).await;
        }
        Change::Delete => platform.delete("acme").await,
        Change::DenyReaders => {
            changed["rbac"] = json!({"allowedRoles": ["vmafx:node"]});
            platform.apply("acme", changed).await;
        }
    }
    end_with(streams, Code::PermissionDenied, text).await;

    let job = json!({"scoring": {"reference": "/clips/r.y4m", "distorted": "/clips/d.y4m"}});
    let submitted = Http::new(controller.http(), Some(&bolt)).post(JOBS, &job).await.expect(201);
    let arrived = async {
        while let Some(item) = others.next().await {
            if item.unwrap().id == submitted["id"].as_str().unwrap() {
                return true;
            }
        }
        false
    };
    assert!(timeout(TIMEOUT, arrived).await.unwrap());
}

#[tokio::test]
async fn the_streams_of_a_namespace_end_when_its_tenant_no_longer_lists_it() {
    let platform = Platform::new().await;
    let [web, tv] = platform.namespaces(["web", "tv"]).await;
    let controller = platform.config_with_accounts().start().await.unwrap();
    let studio = |namespaces: &[&str]| json!({"tenantId": "studio", "namespaces": namespaces});
    platform.apply("studio", studio(&[web.name(), tv.name()])).await;
    let token = platform.submitter(&web).await;
    answered(&controller, &token, JOBS, 200).await;
    let streams = open_all(&controller, &token).await;
    platform.apply("studio", studio(&[tv.name()])).await;
    let text = "the namespace belongs to no tenant: one VmafxTenant, which is Ready, must list it in spec.namespaces";
    end_with(streams, Code::PermissionDenied, text).await;
}

/// A token is accepted for 30 s longer than it says.
#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    platform.apply("acme", tenant("acme", &issuer)).await;
    answered(&controller, &token(&issuer, "acme"), JOBS, 200).await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let expires = now.as_secs() + 15 - 30;
    let short = token_with(&issuer, "acme", |claims| claims["exp"] = json!(expires));
    let streams = open_all(&controller, &short).await;
    end_with(streams, Code::Unauthenticated, "invalid or missing token").await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_removed_from_the_file() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let tokens =
        |reader: &str| format!("tokens:\n- {{token: {reader}, tenant: acme, roles: ['vmafx:reader']}}\n");
    let config = platform.config().tokens(&tokens("reader-0123456789abcdef"));
    let controller = config.start().await.unwrap();
    platform.apply("acme", tenant("acme", &issuer)).await;
    answered(&controller, "reader-0123456789abcdef", JOBS, 200).await;
    let streams = open_all(&controller, "reader-0123456789abcdef").await;
    controller.set_tokens(&tokens("another-0123456789abcdef")).unwrap();
    end_with(streams, Code::Unauthenticated, "invalid or missing token").await;
}

/// Somebody may have suspended the tenant meanwhile.
#[tokio::test]
async fn streams_end_when_the_tenants_cannot_be_read_for_ten_intervals() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    platform.apply("acme", tenant("acme", &issuer)).await;
    let controller = platform.config().start().await.unwrap();
    let token = token(&issuer, "acme");
    answered(&controller, &token, JOBS, 200).await;
    let streams = open_all(&controller, &token).await;
    let _refused = platform.proxy.refuse_connections();
    let text = "tokens cannot be verified: the tenants cannot be read; try again later";
    end_with(streams, Code::Unavailable, text).await;
}
