//! A trainer that stops making sense.

use serde_json::json;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::http_server::{Reply, ReplyBody};

use crate::world::{RUN, World, message, reason, samples};

#[tokio::test]
async fn whatever_a_trainer_answers_the_run_says_so_and_keeps_its_numbers() {
    let world = World::set().await;
    let running = json!({ "phase": "running", "current_samples": 10, "model_version": "m-v000001" });
    world.running().await;
    let long = format!(r#"{{"phase": "running", "current_samples": 99, "pad": "{}"}}"#, "x".repeat(4096));
    let bad = [
        (Reply::body(ReplyBody::HangUp), "ended the connection"),
        (Reply::status(503), "answered 503"),
        (Reply::file("<html>"), "makes no sense"),
        (Reply::file(r#"{"phase": "running", "current_samples": "many"}"#), "current_samples: "),
        (Reply::file(long), "more than 4096 bytes"),
        (Reply::body(ReplyBody::Endless), "more than 4096 bytes"),
        (Reply::redirect("/elsewhere"), "answered 302"),
        (Reply::body(ReplyBody::Silent), "within 5s"),
    ];
    let rounds = bad.len();
    for (reply, words) in bad {
        world.trainers.reply(world.namespace.name(), RUN, reply);
        let run = world.until(words, |run| message(run, "Ready").contains(words)).await;
        assert_eq!(reason(&run, "Ready"), "TrainerUnreachable");
        let status = run.status.as_ref().unwrap();
        assert_eq!((status.phase, samples(&run)), (Some(TrainingPhase::Running), Some(10)));
        world.says(running.clone());
        world.until_reason("Ready", "Training").await;
    }
    assert_eq!(world.notes("TrainerUnreachable").await.len(), rounds, "told once each");
}
