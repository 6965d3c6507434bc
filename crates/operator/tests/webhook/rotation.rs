//! Certificates and authorities are rotated under a load of reviews.

use std::cell::Cell;

use futures::future::join_all;
use k8s_openapi::jiff::SignedDuration;
use kube::api::PostParams;
use serde_json::json;
use vmafx_kit::tls::ServerTls;
use vmafx_operator::authority::authorities::{PUBLISHED_FOR, TRUSTED_FOR};
use vmafx_operator::authority::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_testkit::wait;

use crate::hook::{Hook, TIMEOUT, configurations, job, rotator};

/// Reviews that must succeed between two rotation steps.
const REVIEWS_BETWEEN_STEPS: u32 = 100;

/// Concurrent clients, so that some handshake is in progress at every moment.
const CLIENTS: u32 = 8;

/// More than any run needs: the load stops by itself if the rotation hangs.
const MAX_REVIEWS: u32 = 5_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_and_authority_are_replaced_without_one_failed_admission() {
    let mut hook = Hook::installed("rotation").await;
    let mut other = rotator(&hook.ns, &hook.clock, ServerTls::in_memory(&[]).unwrap());
    let (jobs, done, stop) = (hook.jobs(), Cell::new(0), Cell::new(false));
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let client = async |_| {
        while !stop.get() && done.get() < MAX_REVIEWS {
            // Every review differs, so that no answer can belong to another review.
            let job = job("load", &json!({ "priority": done.get() }));
            jobs.create(&dry, &job).await.unwrap_or_else(|error| panic!("review {}: {error}", done.get()));
            done.set(done.get() + 1);
        }
    };
    let load = join_all((0..CLIENTS).map(client));
    let reviews = async || {
        let begun = done.get();
        wait::until(TIMEOUT, "reviews", || async { done.get() >= begun + REVIEWS_BETWEEN_STEPS })
            .await
            .unwrap();
    };
    let bundle = async |ns: &_| {
        let name = vmafx_testkit::kube::TestNamespace::name(ns).to_owned();
        let webhooks = configurations(ns).get(&name).await.unwrap().webhooks.unwrap();
        String::from_utf8(webhooks[0].client_config.ca_bundle.clone().unwrap().0).unwrap()
    };
    let steps = async {
        reviews().await;
        let first = hook.rotator.authorities().unwrap().current.certificate.clone();
        let not_after = hook.rotator.certificate().unwrap().validity.not_after;

        hook.clock.advance(SignedDuration::from_hours(24 * 20));
        hook.rotator.refresh().await.unwrap();
        assert!(
            hook.rotator.certificate().unwrap().validity.not_after > not_after,
            "the certificate was not replaced"
        );
        assert_eq!(bundle(&hook.ns).await, first.pem);
        reviews().await;

        hook.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE);
        hook.rotator.refresh().await.unwrap();
        other.refresh().await.unwrap();
        assert_eq!(
            hook.rotator.certificate().unwrap().authority,
            first.pem,
            "the next authority signs too early"
        );
        assert_eq!(bundle(&hook.ns).await.matches("BEGIN CERTIFICATE").count(), 2);
        reviews().await;

        hook.clock.advance(PUBLISHED_FOR);
        hook.rotator.refresh().await.unwrap();
        other.refresh().await.unwrap();
        let second = hook.rotator.authorities().unwrap().current.certificate.clone();
        assert_ne!(second.pem, first.pem);
        assert_eq!(hook.rotator.certificate().unwrap().authority, second.pem);
        assert_eq!(other.certificate().unwrap().authority, second.pem);
        assert_eq!(bundle(&hook.ns).await.matches("BEGIN CERTIFICATE").count(), 2);
        reviews().await;

        hook.clock.advance(TRUSTED_FOR);
        hook.rotator.refresh().await.unwrap();
        assert_eq!(bundle(&hook.ns).await, second.pem, "the previous authority is still trusted");
        reviews().await;
        stop.set(true);
    };
    tokio::join!(load, steps);
    assert!(done.get() < MAX_REVIEWS);
}
