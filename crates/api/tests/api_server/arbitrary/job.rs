use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use vmafx_api::conditions::JobCondition;
use vmafx_api::job::{
    Backend, BitDepth, Execution, Feature, LengthMismatch, ModelUsed, Phase, PixelFormat, PooledScores,
    RawVideo, ScaleTo, ScoringOptions,
};
use vmafx_api::{VmafxJobSpec, VmafxJobStatus};

use super::{conditions, count, number, percent, pod_template, text, time, uri};

pub(crate) fn job() -> impl Strategy<Value = (VmafxJobSpec, VmafxJobStatus)> {
    (spec(), status())
}

fn spec() -> impl Strategy<Value = VmafxJobSpec> {
    let what = (uri(), uri(), option::of(text()), backend(), count(), any::<bool>(), any::<bool>());
    let limits = (0..=100, option::of(1..i64::MAX), option::of(count()), option::of(raw_video()));
    let report = (option::of(uri()), any::<bool>());
    let how = (option::of(scoring()), option::of(percent()), option::of(percent()), report);
    // A Pod template is only allowed with Pod execution.
    (what, limits, how, option::of(option::of(pod_template()))).prop_map(|(what, limits, how, pod)| {
        let (reference, distorted, model, backend, priority, suspend, cancel) = what;
        let (backoff_limit, active_deadline_seconds, ttl_seconds_after_finished, input) = limits;
        let (scoring, min_score, ground_truth, (report_uri, overwrite_report)) = how;
        VmafxJobSpec {
            reference,
            distorted,
            model,
            backend,
            priority,
            suspend,
            cancel,
            execution: if pod.is_some() { Execution::Pod } else { Execution::Queue },
            backoff_limit,
            active_deadline_seconds,
            ttl_seconds_after_finished,
            input,
            scoring,
            min_score,
            ground_truth,
            report_uri,
            overwrite_report,
            pod_template: pod.flatten(),
        }
    })
}

fn backend() -> impl Strategy<Value = Backend> {
    select(Backend::ALL.to_vec())
}

fn raw_video() -> impl Strategy<Value = RawVideo> {
    let format = select(PixelFormat::ALL.to_vec());
    (1..=65535_u32, 1..=65535_u32, format, select(BitDepth::ALL.to_vec())).prop_map(
        |(width, height, pixel_format, bit_depth)| RawVideo { width, height, pixel_format, bit_depth },
    )
}

fn scoring() -> impl Strategy<Value = ScoringOptions> {
    let features = subsequence(Feature::ALL.to_vec(), 0..=Feature::ALL.len());
    let step = (1..=10_000_u32).prop_map(|step| step.try_into().unwrap());
    let length = select(LengthMismatch::ALL.to_vec());
    (features, option::of(step), option::of(scale_to()), option::of(length)).prop_map(
        |(features, frame_step, scale_to, length_mismatch)| ScoringOptions {
            features,
            frame_step,
            scale_to,
            length_mismatch,
        },
    )
}

fn scale_to() -> impl Strategy<Value = ScaleTo> {
    prop_oneof![
        Just(ScaleTo::Reference),
        Just(ScaleTo::Distorted),
        Just(ScaleTo::Never),
        (1..=9999_u32, 1..=9999_u32).prop_map(|(width, height)| format!("{width}x{height}").parse().unwrap()),
    ]
}

fn status() -> impl Strategy<Value = VmafxJobStatus> {
    let phases = vec![Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed, Phase::Cancelled];
    let types = JobCondition::ALL.iter().map(|c| c.as_str()).collect();
    let words = (option::of(select(phases)), option::of(text()), option::of(text()), option::of(text()));
    let times = (option::of(time()), option::of(time()), option::of(any::<i64>()), conditions(types));
    let result = (option::of(number()), option::of(count()), option::of(0..i64::MAX), option::of(model()));
    let more = (option::of(scores()), option::of(any::<bool>()), option::of(percent()), option::of(text()));
    (words, times, result, more).prop_map(|(words, times, result, more)| {
        let (phase, assigned_node, controller_job_id, message) = words;
        let (started_at, finished_at, observed_generation, conditions) = times;
        let (score, attempts, frames, model) = result;
        let (scores, passed, ground_truth, report_uri) = more;
        VmafxJobStatus {
            phase,
            score,
            assigned_node,
            controller_job_id,
            started_at,
            finished_at,
            message,
            observed_generation,
            conditions,
            attempts,
            frames,
            model,
            scores,
            passed,
            ground_truth,
            report_uri,
        }
    })
}

fn model() -> impl Strategy<Value = ModelUsed> {
    (text(), option::of("sha256:[0-9a-f]{64}")).prop_map(|(name, digest)| ModelUsed { name, digest })
}

fn scores() -> impl Strategy<Value = PooledScores> {
    proptest::array::uniform9(number()).prop_map(
        |[mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50]| PooledScores {
            mean,
            harmonic_mean,
            min,
            max,
            stddev,
            p1,
            p5,
            p10,
            p50,
        },
    )
}
