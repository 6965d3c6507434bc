//! The API server does not answer.

use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};
use vmafx_testkit::wait;

use crate::fixture::{Platform, TIMEOUT, answered, tenant, token};
use crate::issuer::Issuer;

const JOBS: &str = "/v1/jobs";

#[tokio::test]
async fn tenants_that_cannot_be_read_for_ten_intervals_are_not_trusted() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    platform.apply("acme", tenant("acme", &issuer)).await;
    let controller = platform.config().start().await.unwrap();
    let token = token(&issuer, "acme");
    answered(&controller, &token, JOBS, 200).await;

    let refused = platform.proxy.refuse_connections();
    let text = answered(&controller, &token, JOBS, 503).await.refused(503);
    assert!(text.contains("the tenants cannot be read"), "{text}");
    let ready = answered(&controller, &token, "/readyz", 503).await;
    assert!(ready.body.as_str().unwrap().contains("- tenants: could not be read"), "{ready:?}");
    drop(refused);
    answered(&controller, &token, JOBS, 200).await;
    answered(&controller, &token, "/readyz", 200).await;
}

#[tokio::test]
async fn a_controller_that_starts_without_the_api_server_waits_for_it() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    platform.apply("acme", tenant("acme", &issuer)).await;
    let of_tenants = || RequestMatcher::matching(|_| true).of("vmafxtenants");
    let fault = platform.proxy.inject(of_tenants(), Fault::Respond(503));
    let started = platform.config().start();
    tokio::pin!(started);
    let attempts = || async { fault.hits().len() >= 3 };
    tokio::select! {
        server = &mut started => panic!("it is ready: {server:?}"),
        attempted = wait::until(TIMEOUT, "three attempts", attempts) => attempted.unwrap(),
    }
    drop(fault);
    let controller = started.await.unwrap();
    answered(&controller, &token(&issuer, "acme"), JOBS, 200).await;
}
