//! Stored values are read back bit for bit.

use std::collections::BTreeMap;

use vmafx_job::ScoringRequest;
use vmafx_job::{FrameSize, PooledScores, ScoreDetails, ScoreResult};
use vmafx_queue::job::Origin;
use vmafx_queue::policy::Policy;
use vmafx_queue::store::Filter;

use crate::support::build::{job, key, node, of_origin};
use crate::support::fixture::Fixture;

/// Texts that reveal careless quoting, encoding or comparison.
const TEXTS: [&str; 12] = [
    "",
    " ",
    "plain",
    "it's \"quoted\" `here`",
    "'; DROP TABLE jobs; --",
    "back\\slash \\u0041 \\n",
    "line\nbreak\ttab\r\n",
    "\u{fc}ber \u{4e16}\u{754c} \u{1f3ac}\u{200d}\u{1f4fd}",
    "e\u{301} is not \u{e9}",
    "{\"json\": [1, null]}",
    "$1 ? :name %s %25 {}",
    "\u{feff}\u{202e}\u{7f}\u{1}",
];

/// Numbers that do not survive a conversion to text or to single precision.
const NUMBERS: [f64; 12] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    1e308,
    f64::MAX,
    f64::MIN,
    0.1 + 0.2,
    1.0 / 3.0,
    76.668_905_019_705_54,
    9_007_199_254_740_993.0,
];

fn bits(numbers: &BTreeMap<String, f64>) -> Vec<(&str, u64)> {
    numbers.iter().map(|(name, value)| (name.as_str(), value.to_bits())).collect()
}

pub(crate) async fn texts_of_a_job_come_back_as_they_were(q: Fixture) {
    for text in TEXTS {
        let scoring = ScoringRequest {
            reference: text.into(),
            distorted: text.into(),
            model: Some(text.into()),
            report_uri: Some(text.into()),
            ..ScoringRequest::default()
        };
        let origin =
            Origin { cluster: text.into(), namespace: text.into(), name: text.into(), uid: text.into() };
        let id = q.submit(job().scoring(scoring.clone()).origin(origin.clone())).await;
        let found = q.job(id).await;
        assert_eq!((found.scoring, found.origin), (scoring, Some(origin.clone())), "{text:?}");
        let listed = q.list(&of_origin(origin)).await;
        assert!(listed.iter().any(|job| job.id == id), "{text:?}");
        let node = q.register(node("n").backends([text])).await;
        assert_eq!(node.take().await.id, id, "{text:?}");
        q.cancelled(id, text).await;
        assert_eq!(q.job(id).await.error, Policy::cancel_text(text));
    }
}

pub(crate) async fn keys_come_back_as_they_were(q: Fixture) {
    let longest = "\u{1f3ac}".repeat(256);
    let printable = TEXTS.into_iter().filter(|text| vmafx_queue::IdempotencyKey::new(text).is_ok());
    for text in printable.chain([longest.as_str()]) {
        let id = q.submit(job().key(text)).await;
        assert_eq!(q.job(id).await.key, Some(key(text)));
        assert_eq!(q.submit(job().key(text)).await, id, "{text:?}");
    }
}

pub(crate) async fn texts_of_nodes_and_reports_come_back_as_they_were(q: Fixture) {
    for text in TEXTS {
        let mut new = node(text).backends([text, "cpu"]);
        new.0.capability.vendor = text.into();
        new.0.capability.device = text.into();
        new.0.capability.labels = BTreeMap::from([(text.to_owned(), text.to_owned())]);
        let worker = q.register(new.clone()).await;
        let nodes = q.store.nodes(&q.tenant).await.unwrap();
        let found = nodes.iter().find(|node| node.session == worker.who.session).unwrap();
        assert_eq!((found.name.as_str(), &found.capability), (text, &new.0.capability));

        let failed = worker.holds(job()).await;
        assert_eq!(failed.node.as_deref(), Some(text));
        worker.fail(&failed, text).await;
        assert_eq!(q.job(failed.id).await.error, text);
        let attempt = &q.attempts(failed.id).await[0];
        assert_eq!((attempt.node.as_str(), attempt.error.as_str()), (text, text));

        let done = worker.holds(job().label(1.0)).await;
        let result = ScoreResult {
            score: 1.0,
            features: BTreeMap::from([(text.to_owned(), 2.0)]),
            details: Some(ScoreDetails {
                model: text.into(),
                model_digest: text.into(),
                backend: text.into(),
                warnings: vec![text.into(), text.into()],
                report_uri: text.into(),
                ..ScoreDetails::default()
            }),
        };
        worker.complete_with(&done, result.clone()).await;
        assert_eq!(q.job(done.id).await.result, Some(result.clone()), "{text:?}");
        let sample = q.all_samples().await.pop().unwrap();
        assert_eq!((sample.features, sample.node_labels), (result.features, new.0.capability.labels));
    }
}

pub(crate) async fn numbers_come_back_to_the_last_bit(q: Fixture) {
    let node = q.node("n").await;
    let features: BTreeMap<_, _> =
        NUMBERS.iter().enumerate().map(|(place, number)| (format!("f{place:02}"), *number)).collect();
    for number in NUMBERS {
        let taken = node.holds(job().label(0.1 + 0.2)).await;
        let pooled = PooledScores {
            mean: number,
            harmonic_mean: number,
            min: number,
            max: number,
            stddev: number,
            p1: number,
            p5: number,
            p10: number,
            p50: number,
        };
        let details = ScoreDetails {
            frames: u64::MAX >> 1,
            size: Some(FrameSize { width: u32::MAX, height: 1 }),
            scores: Some(pooled),
            ..ScoreDetails::default()
        };
        let result = ScoreResult { score: number, features: features.clone(), details: Some(details) };
        node.complete_with(&taken, result).await;
        let found = q.job(taken.id).await;
        let result = found.result.unwrap();
        assert_eq!(result.score.to_bits(), number.to_bits(), "{number:e}");
        assert_eq!(bits(&result.features), bits(&features), "{number:e}");
        let details = result.details.unwrap();
        let pooled = details.scores.unwrap();
        let PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = pooled;
        for value in [mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50] {
            assert_eq!(value.to_bits(), number.to_bits(), "{number:e}");
        }
        assert_eq!(
            (details.frames, details.size),
            (u64::MAX >> 1, Some(FrameSize { width: u32::MAX, height: 1 }))
        );
        let sample = q.all_samples().await.pop().unwrap();
        assert_eq!(bits(&sample.features), bits(&features));
        assert_eq!(sample.label.to_bits(), (0.1_f64 + 0.2).to_bits());
        assert_eq!(found.label.unwrap().value().to_bits(), (0.1_f64 + 0.2).to_bits());
    }
}

pub(crate) async fn a_result_may_have_many_features_or_none(q: Fixture) {
    let node = q.node("n").await;
    for count in [0_u32, 1, 2000] {
        let features: BTreeMap<_, _> =
            (0..count).map(|place| (format!("feature {place}"), f64::from(place) / 7.0)).collect();
        let taken = node.holds(job()).await;
        let result = ScoreResult { score: 0.0, features, details: None };
        node.complete_with(&taken, result.clone()).await;
        assert_eq!(q.job(taken.id).await.result, Some(result), "{count}");
    }
}

pub(crate) async fn progress_may_be_as_large_as_a_count_can_be(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.progress(&taken, u64::MAX, u64::MAX).await;
    let progress = q.job(taken.id).await.progress.unwrap();
    assert_eq!((progress.done, progress.total), (u64::MAX, u64::MAX));
}

pub(crate) async fn limits_as_large_as_a_number_can_be_are_kept(q: Fixture) {
    let id = q.submit(job().lost_limit(u32::MAX).deadline(std::time::Duration::MAX)).await;
    let found = q.job(id).await;
    assert_eq!(found.max_lost_attempts, u32::MAX);
    assert_eq!(found.deadline_at, Some(q.now() + std::time::Duration::MAX));
    assert_eq!(q.pass(crate::support::build::seconds(10), &[]).await.failed, []);
}

pub(crate) async fn a_long_text_is_kept_whole(q: Fixture) {
    let text = "\u{fc}".repeat(100_000);
    let id = q.submit(job()).await;
    q.cancelled(id, &text).await;
    assert_eq!(q.job(id).await.error, Policy::cancel_text(&text));
    assert_eq!(q.list(&Filter::default()).await[0].error, Policy::cancel_text(&text));
}
