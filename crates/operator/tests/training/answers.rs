//! A trainer that does not answer, or answers with an invalid report.

use serde_json::json;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::http_server::{Reply, ReplyBody};

use crate::fixture::{RUN, TrainingFixture, samples};
use crate::resources::{message, reason};

#[tokio::test]
async fn a_bad_answer_of_the_trainer_is_reported_and_the_run_keeps_its_numbers() {
    let fixture = TrainingFixture::new().await;
    let running = json!({ "phase": "running", "current_samples": 10, "model_version": "m-v000001" });
    fixture.running().await;
    let long = format!(r#"{{"phase": "running", "current_samples": 99, "pad": "{}"}}"#, "x".repeat(4096));
    let bad = [
        (Reply::body(ReplyBody::HangUp), "closed the connection"),
        (Reply::status(503), "answered 503"),
        (Reply::file("<html>"), "invalid report"),
        (Reply::file(r#"{"phase": "running", "current_samples": "many"}"#), "current_samples: "),
        (Reply::file(long), "more than 4096 bytes"),
        (Reply::body(ReplyBody::Endless), "more than 4096 bytes"),
        (Reply::redirect("/elsewhere"), "answered 302"),
        (Reply::body(ReplyBody::Silent), "within 5s"),
    ];
    let rounds = bad.len();
    for (reply, words) in bad {
        fixture.trainers.reply(fixture.namespace.name(), RUN, reply);
        let run = fixture.until(words, |run| message(run, "Ready").contains(words)).await;
        assert_eq!(reason(&run, "Ready"), "TrainerUnreachable");
        let status = run.status.as_ref().unwrap();
        assert_eq!((status.phase, samples(&run)), (Some(TrainingPhase::Running), Some(10)));
        fixture.set_report(running.clone());
        fixture.until_reason("Ready", "Training").await;
    }
    assert_eq!(fixture.notes("TrainerUnreachable").await.len(), rounds, "one event each");
}
