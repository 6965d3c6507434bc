//! Certificates and authorities change while reviews come in.

use std::cell::Cell;

use futures::future::join_all;
use k8s_openapi::jiff::SignedDuration;
use kube::api::PostParams;
use serde_json::json;
use vmafx_kit::tls::ServerTls;
use vmafx_operator::webhook::authorities::{KNOWN_FOR, TRUSTED_FOR};
use vmafx_operator::webhook::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_testkit::wait;

use crate::hook::{Hook, PATIENCE, configurations, job, rotator};

/// Reviews that must come through between two steps.
const BETWEEN: u32 = 100;

/// Who send them at the same time, so that some handshake is under way at every moment.
const CLIENTS: u32 = 8;

/// More than any run needs: the load ends by itself if the steps never do.
const MOST: u32 = 5_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaf_and_authority_are_replaced_without_one_failed_admission() {
    let mut hook = Hook::asked("rotation").await;
    let mut other = rotator(&hook.ns, &hook.clock, ServerTls::in_memory(&[]).unwrap());
    let (jobs, done, stop) = (hook.jobs(), Cell::new(0), Cell::new(false));
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let client = async |_| {
        while !stop.get() && done.get() < MOST {
            // Fields that the webhook reads, so that its answer cannot be another's.
            let wanted = job("load", &json!({ "priority": done.get() }));
            jobs.create(&dry, &wanted).await.unwrap_or_else(|error| panic!("review {}: {error}", done.get()));
            done.set(done.get() + 1);
        }
    };
    let load = join_all((0..CLIENTS).map(client));
    let reviews = async || {
        let begun = done.get();
        wait::until(PATIENCE, "reviews", || async { done.get() >= begun + BETWEEN }).await.unwrap();
    };
    let bundle = async |ns: &_| {
        let name = vmafx_testkit::kube::TestNamespace::name(ns).to_owned();
        let webhooks = configurations(ns).get(&name).await.unwrap().webhooks.unwrap();
        String::from_utf8(webhooks[0].client_config.ca_bundle.clone().unwrap().0).unwrap()
    };
    let steps = async {
        reviews().await;
        let first = hook.rotator.trust().unwrap().current.root.clone();
        let leaf = hook.rotator.leaf().unwrap().ends();

        hook.clock.by(SignedDuration::from_hours(24 * 20));
        hook.rotator.look().await.unwrap();
        assert!(hook.rotator.leaf().unwrap().ends() > leaf, "the leaf was not replaced");
        assert_eq!(bundle(&hook.ns).await, first.pem);
        reviews().await;

        hook.clock.to(first.ends - AUTHORITY_REPLACED_BEFORE);
        hook.rotator.look().await.unwrap();
        other.look().await.unwrap();
        assert_eq!(hook.rotator.leaf().unwrap().authority, first.pem, "the next authority signs too early");
        assert_eq!(bundle(&hook.ns).await.matches("BEGIN CERTIFICATE").count(), 2);
        reviews().await;

        hook.clock.by(KNOWN_FOR);
        hook.rotator.look().await.unwrap();
        other.look().await.unwrap();
        let second = hook.rotator.trust().unwrap().current.root.clone();
        assert_ne!(second.pem, first.pem);
        assert_eq!(hook.rotator.leaf().unwrap().authority, second.pem);
        assert_eq!(other.leaf().unwrap().authority, second.pem);
        assert_eq!(bundle(&hook.ns).await.matches("BEGIN CERTIFICATE").count(), 2);
        reviews().await;

        hook.clock.by(TRUSTED_FOR);
        hook.rotator.look().await.unwrap();
        assert_eq!(bundle(&hook.ns).await, second.pem, "the previous authority is still trusted");
        reviews().await;
        stop.set(true);
    };
    tokio::join!(load, steps);
    assert!(done.get() < MOST);
}
