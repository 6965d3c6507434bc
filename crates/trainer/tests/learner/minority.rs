//! Labels of which a third is wrong, on real clips with real opinions.
//!
//! The stream is what a controller would send for four rounds over the clips. The stable model is the one that passed the gate
//! last, at one of the moments at which a trainer would push a checkpoint. It is judged by the correct labels of all clips.

use std::cmp::Ordering;

use rstest::rstest;
use vmafx_trainer::learner::{GateLimits, GateOutcome, Learner, LearnerOptions, Sample};

use crate::accuracy::table;
use crate::samples::{Rng, learner, sample, strict_samples};

const ROUNDS: usize = 4;
const SEEDS: u64 = 4;
const LABELLERS: usize = 9;
const CHECKPOINT_EVERY: usize = 62;

/// How wrong labels are made.
#[derive(Clone, Copy, Debug)]
enum Attack {
    None,
    Inverted,
    AllZero,
    AllBest,
    Random,
    /// 30 points too high.
    Raised,
    /// 30 points too low.
    Lowered,
}

/// Who gives the wrong labels.
#[derive(Clone, Copy, Debug)]
enum Given {
    /// A third of the labellers, all of whose labels are wrong.
    ByAThird,
    /// A labeller for each label.
    OneByOne,
    /// All labellers, of whose labels every third one is wrong.
    ByEverybody,
    /// The only labeller there is.
    ByOne,
}

struct Clip {
    features: [f64; 6],
    label: f64,
}

fn clips() -> Option<Vec<Clip>> {
    let text = std::fs::read_to_string(table()?).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let names = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
    let clip = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |name: &str| fields[column(name)].parse::<f64>().unwrap();
        Clip { features: names.map(number), label: (number("mos") - 1.0) * 25.0 }
    };
    Some(lines.map(clip).collect())
}

fn wrong(attack: Attack, label: f64, rng: &mut Rng) -> f64 {
    match attack {
        Attack::None => label,
        Attack::Inverted => 100.0 - label,
        Attack::AllZero => 0.0,
        Attack::AllBest => 100.0,
        Attack::Random => rng.next() * 100.0,
        Attack::Raised => (label + 30.0).min(100.0),
        Attack::Lowered => (label - 30.0).max(0.0),
    }
}

/// Exactly a third of the labels is wrong.
fn stream(clips: &[Clip], attack: Attack, given: Given, seed: u64) -> Vec<Sample> {
    let mut rng = Rng(seed * 7919 + 13);
    let mut samples = Vec::new();
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..clips.len()).collect();
        for end in (1..order.len()).rev() {
            order.swap(end, below(&mut rng, end + 1));
        }
        for index in order {
            let (clip, number) = (&clips[index], samples.len());
            let labeller = number % LABELLERS;
            let is_wrong = number % 3 == 0;
            let labelled_by = match given {
                // Numbers that are divisible by three are those of three of the nine labellers.
                Given::ByAThird => format!("labeller {labeller}"),
                Given::OneByOne => format!("labeller {number}"),
                Given::ByEverybody => format!("labeller {}", number / 3 % LABELLERS),
                Given::ByOne => "the labeller".to_owned(),
            };
            let label = if is_wrong { wrong(attack, clip.label, &mut rng) } else { clip.label };
            let job = u64::try_from(round * clips.len() + index).unwrap();
            samples.push(Sample { labelled_by, ..sample(job, clip.features, label) });
        }
    }
    samples
}

fn below(rng: &mut Rng, limit: usize) -> usize {
    let limit = f64::from(u32::try_from(limit).unwrap());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the limit")]
    let index = (rng.next() * limit) as usize;
    index
}

/// RMSE and SROCC of a learner on the correct labels.
fn judge(learner: &Learner, clips: &[Clip]) -> (f64, f64) {
    let predictions: Vec<f64> = clips.iter().map(|clip| learner.predict(&clip.features)).collect();
    let labels: Vec<f64> = clips.iter().map(|clip| clip.label).collect();
    let squares = predictions.iter().zip(&labels).map(|(prediction, label)| (prediction - label).powi(2));
    let count = f64::from(u32::try_from(clips.len()).unwrap());
    ((squares.sum::<f64>() / count).sqrt(), correlation(&ranks(&predictions), &ranks(&labels)))
}

/// Ranks, of which equal values have the same one.
fn ranks(values: &[f64]) -> Vec<f64> {
    let compare = |value: f64, other: f64| match other.total_cmp(&value) {
        Ordering::Less => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Greater => 0.0,
    };
    values.iter().map(|value| values.iter().map(|other| compare(*value, *other)).sum()).collect()
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
    let (mean_left, mean_right) = (mean(left), mean(right));
    let (mut both, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (a, b) in left.iter().zip(right) {
        both += (a - mean_left) * (b - mean_right);
        of_left += (a - mean_left).powi(2);
        of_right += (b - mean_right).powi(2);
    }
    both / (of_left * of_right).sqrt()
}

/// What became of a run.
struct Run {
    /// RMSE and SROCC of every model that passed, in relation to the base model's.
    passed: Vec<(f64, f64)>,
    checkpoints: usize,
    last: (f64, f64),
}

fn run(clips: &[Clip], samples: &[Sample], seed: u64) -> Run {
    let mut learner = learner(LearnerOptions { seed, ..LearnerOptions::default() });
    let base = judge(&learner, clips);
    let (mut passed, mut checkpoints) = (Vec::new(), 0);
    for (number, sample) in samples.iter().enumerate() {
        learner.learn(sample).unwrap();
        if (number + 1).is_multiple_of(CHECKPOINT_EVERY) {
            let verdict = learner.gate(&GateLimits::default());
            checkpoints += usize::from(verdict.outcome != GateOutcome::TooFewSamples);
            if verdict.passed() {
                let (rmse, srocc) = judge(&learner, clips);
                passed.push((rmse / base.0, base.1 - srocc));
            }
        }
    }
    let (rmse, srocc) = judge(&learner, clips);
    Run { passed, checkpoints, last: (rmse / base.0, base.1 - srocc) }
}

#[rstest]
fn a_third_of_wrong_labels_moves_no_worse_model_to_stable(
    #[values(
        Attack::Inverted,
        Attack::AllZero,
        Attack::AllBest,
        Attack::Random,
        Attack::Raised,
        Attack::Lowered
    )]
    attack: Attack,
    #[values(Given::ByAThird, Given::OneByOne, Given::ByEverybody, Given::ByOne)] given: Given,
) {
    let Some(clips) = clips() else { return };
    let limits = GateLimits::default();
    for seed in 0..SEEDS {
        let Run { passed, last, .. } = run(&clips, &stream(&clips, attack, given, seed), seed);
        let worst =
            passed.iter().fold((0.0_f64, -1.0_f64), |worst, it| (worst.0.max(it.0), worst.1.max(it.1)));
        // Labels that are wrong in the direction in which correct ones deviate from the base model are hard to tell from
        // correct ones: they may use up what the gate allows for the sampling error, and hold up a model that is hardly better.
        let is_hard = matches!(attack, Attack::Lowered);
        let allowance = if is_hard { 0.03 } else { 0.0 };
        assert!(worst.0 <= limits.max_rmse_ratio + allowance, "{attack:?} {given:?} {seed}: {passed:?}");
        assert!(worst.1 <= limits.max_srocc_drop, "{attack:?} {given:?} {seed}: {passed:?}");
        // The correct two thirds still make a better model, and it is promoted.
        assert!(last.0 < 1.0, "{attack:?} {given:?} {seed}: {last:?}");
        assert!(is_hard || !passed.is_empty(), "{attack:?} {given:?} {seed}: nothing was promoted");
    }
}

#[test]
fn correct_labels_of_several_labellers_are_learned_and_promoted_as_before() {
    let Some(clips) = clips() else { return };
    let (mut passed, mut checkpoints) = (0, 0);
    for given in [Given::ByAThird, Given::OneByOne, Given::ByOne] {
        for seed in 0..SEEDS {
            let run = run(&clips, &stream(&clips, Attack::None, given, seed), seed);
            assert!(run.last.0 < 0.75 && run.last.1 < 0.0, "{given:?} {seed}: {:?}", run.last);
            passed += run.passed.len();
            checkpoints += run.checkpoints;
        }
    }
    assert!(passed * 10 >= checkpoints * 9, "{passed} of {checkpoints}");
}

/// One labeller gives three labels in five, all of them wrong; six others give correct ones.
#[test]
fn a_labeller_with_most_labels_moves_the_model_less_if_it_is_known() {
    let clips_of = |seed| strict_samples(1500, seed);
    let error = |known: bool| {
        let mut learner = learner(LearnerOptions::default());
        for (number, mut sample) in clips_of(61).into_iter().enumerate() {
            let is_wrong = number % 5 < 3;
            if is_wrong {
                sample.ground_truth = (sample.ground_truth - 25.0).max(0.0);
            }
            if known {
                sample.labelled_by =
                    if is_wrong { "flood".to_owned() } else { format!("labeller {}", number / 5 % 6) };
            }
            learner.learn(&sample).unwrap();
        }
        if known {
            assert!(learner.labellers().capped && learner.labellers().labellers == 7);
        }
        let clean = clips_of(62);
        let squares = clean.iter().map(|sample| {
            let names = learner.base().features();
            let features: Vec<f64> = names.iter().map(|name| sample.features[name]).collect();
            (learner.predict(&features) - sample.ground_truth).powi(2)
        });
        (squares.sum::<f64>() / 1500.0).sqrt()
    };
    let (unknown, known) = (error(false), error(true));
    assert!(known < 0.9 * unknown, "{known} of {unknown}");
}
