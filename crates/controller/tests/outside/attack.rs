//! Clients that send half of what they announce, or nothing, from other addresses than those who work.
//!
//! The addresses are those of the loopback interface: every address of `127.0.0.0/8` is a peer of its own.

pub(crate) mod peer;

use std::net::Ipv4Addr;
use std::time::Duration;

use rstest::rstest;
use tokio::task::JoinSet;
use vmafx_testkit::wait;

use self::peer::{Flood, resident_bytes};
use crate::controller::{ALL, Client, Controller, WRITER};
use crate::node::{TestNode, clips, submit};

const TIMEOUT: Duration = Duration::from_mins(1);
const MAX_RESIDENT_BYTES: u64 = 300 << 20;

const HALF_SENT_MESSAGES: usize = 1024;
const SILENT_SOCKETS: usize = 8192;
const CLAIMED_BYTES: u32 = 4 << 20;

const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
const SUBMIT_JOB: &str = "/vmafx.controller.v1.VmafxController/SubmitJob";

/// Submits a job, pulls it and reports a score.
async fn score_one(client: &mut Client, node: &TestNode) {
    let id = submit(client, clips()).await;
    let job = node.pull_for(TIMEOUT).await.unwrap().expect("the job that was submitted");
    assert_eq!(job.id, id);
    node.complete(&job, 90.0).await;
}

#[track_caller]
fn assert_small(controller: &Controller, when: &str) {
    let resident = resident_bytes(controller.pid());
    println!("resident {when}: {} MB", resident >> 20);
    assert!(resident < MAX_RESIDENT_BYTES, "{} MB {when}", resident >> 20);
}

#[rstest]
#[case::without_a_token(HEALTH_CHECK, None)]
#[case::with_a_token(SUBMIT_JOB, Some(WRITER))]
#[tokio::test]
async fn half_sent_messages_and_silent_sockets_cost_little_memory_and_no_call(
    #[case] method: &'static str,
    #[case] token: Option<&'static str>,
) {
    peer::raise_descriptor_limit();
    let controller = Controller::start(&[]).await;
    let mut client = controller.client(WRITER);
    let node = TestNode::register(controller.client(ALL)).await;
    assert_small(&controller, "before");

    let flood = Flood::new(controller.grpc());
    let mut attackers = JoinSet::new();
    for number in 0..8 {
        let from = Ipv4Addr::new(127, 0, 1, number + 1);
        let attack = flood.clone().half_sent(from, HALF_SENT_MESSAGES / 8, method, token, CLAIMED_BYTES);
        attackers.spawn(attack);
    }
    for number in 0..16 {
        let from = Ipv4Addr::new(127, 0, 2, number + 1);
        attackers.spawn(flood.clone().silent(from, SILENT_SOCKETS / 16));
    }
    let mut worst = 0;
    let all_tried = || flood.opened_sockets() >= SILENT_SOCKETS && flood.begun_calls() >= HALF_SENT_MESSAGES;
    let under_way = async {
        loop {
            score_one(&mut client, &node).await;
            worst = worst.max(resident_bytes(controller.pid()));
            assert!(worst < MAX_RESIDENT_BYTES, "{} MB under attack", worst >> 20);
            // Every client that comes now is served too.
            score_one(&mut controller.client(WRITER), &node).await;
            if all_tried() {
                break;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, under_way).await.unwrap_or_else(|_| panic!("{flood:?}"));
    println!("resident at most: {} MB; {flood:?}", worst >> 20);
    // Nothing of the attack is left once its deadlines have passed, although the attackers keep their sockets.
    let over = || std::future::ready(flood.open_sockets() == 0 && flood.open_calls() == 0);
    wait::until(TIMEOUT, "the end of all sockets and calls of the attack", over)
        .await
        .unwrap_or_else(|error| panic!("{error}; {flood:?}"));
    score_one(&mut client, &node).await;
    assert_small(&controller, "after");
}

/// The connections that an attacker opens, to keep everybody else away, are HTTP/2 connections without a call.
#[tokio::test]
async fn connections_without_an_authorized_call_keep_nobody_away() {
    peer::raise_descriptor_limit();
    let settings =
        [("VMAFX_GRPC_MAX_CONNECTIONS", "64"), ("VMAFX_GRPC_MAX_CONNECTIONS_UNAUTHENTICATED", "32")];
    let controller = Controller::start(&settings).await;
    let node = TestNode::register(controller.client(ALL)).await;
    let flood = Flood::new(controller.grpc());
    let mut attackers = JoinSet::new();
    for number in 0..4 {
        attackers.spawn(flood.clone().idle(Ipv4Addr::new(127, 0, 1, number + 1), 64));
    }
    let opened = || std::future::ready(flood.opened_sockets() >= 64);
    wait::until(TIMEOUT, "the idle connections", opened).await.unwrap();
    for _ in 0..8 {
        score_one(&mut controller.client(WRITER), &node).await;
    }
}

/// Sends as much as it may, and more, before anybody knows who it is, on as many connections as it may open, on both listeners.
#[tokio::test]
async fn the_largest_heads_of_strangers_fit_into_the_memory() {
    peer::raise_descriptor_limit();
    let controller = Controller::start(&[]).await;
    let node = TestNode::register(controller.client(ALL)).await;
    let mut attackers = JoinSet::new();
    let (grpc, http) = (Flood::new(controller.grpc()), Flood::new(controller.http()));
    for number in 0..4 {
        let from = Ipv4Addr::new(127, 0, 1, number + 1);
        attackers.spawn(grpc.clone().half_metadata(from, 512));
        let bytes = if number % 2 == 0 { 31 << 10 } else { 1000 << 10 };
        attackers.spawn(http.clone().half_head(from, 512, bytes));
    }
    let all_tried = || grpc.opened_sockets() >= 2048 && http.opened_sockets() >= 2048;
    let mut worst = 0;
    let under_way = async {
        loop {
            score_one(&mut controller.client(WRITER), &node).await;
            worst = worst.max(resident_bytes(controller.pid()));
            assert!(worst < MAX_RESIDENT_BYTES, "{} MB under attack", worst >> 20);
            if all_tried() {
                break;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, under_way).await.unwrap_or_else(|_| panic!("{grpc:?} {http:?}"));
    println!("resident at most: {} MB; {grpc:?}; {http:?}", worst >> 20);
}
