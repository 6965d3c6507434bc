//! Many nodes that only live.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::caller::LoadNode;
use crate::wire_client::Client;

/// How often each is heard of.
const EVERY: Duration = Duration::from_secs(10);

/// Heartbeats of so many nodes, each on a connection of its own. They come on the whole second, as those of agents do, and
/// evenly over the seconds. Says `steady` when all are there.
pub(crate) async fn beat(addresses: &str, token: &str, count: usize, seconds: u64) -> anyhow::Result<Value> {
    let addresses: Vec<&str> = addresses.split(',').collect();
    let mut nodes = Vec::with_capacity(count);
    for number in 0..count {
        let client = Client::connect(addresses[number % addresses.len()], token).await?;
        nodes.push(LoadNode::register(client, number).await?);
    }
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let second = Duration::from_secs(1);
    let mut beating = JoinSet::new();
    for (number, mut node) in (0..).zip(nodes) {
        beating.spawn(async move {
            let mut beats = interval_at(begin + second * (number % 10), EVERY);
            beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut sent = 0_u64;
            loop {
                if beats.tick().await >= end {
                    return anyhow::Ok(sent);
                }
                node.beat().await?;
                sent += 1;
            }
        });
    }
    println!("steady");
    let mut sent = 0;
    while let Some(part) = beating.join_next().await {
        sent += part.context("a node")??;
    }
    Ok(json!({ "nodes": count, "heartbeats": sent, "seconds": seconds }))
}
