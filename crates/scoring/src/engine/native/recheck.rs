//! Proof that kernels compute what their scalar specification says.
//!
//! A CPU that is damaged, overclocked or badly emulated computes wrong numbers and no error. A program that scores therefore
//! checks its kernels before it starts ([`check_kernels`]), and while it works it computes one pair in [`PAIRS_PER_CHECK`]
//! again with the scalar kernels, and motion from one frame in as many to the next ([`MotionCheck`]).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use vmafx_job::{BitDepth, PixelFormat};
use vmafx_kernels::{InstructionSet, Motion, MotionConfig, Plane, PlaneSample};

use super::kernels::{KernelError, Kernels};
use super::{NativeError, NativeMotion};
use crate::engine::features::{FeatureOutput, RequiredExtractor, RequiredExtractors};
use crate::engine::ffi::{LibvmafError, PicturePool, SharedPicture};
use crate::picture::PictureFormat;

/// One pair in so many is computed twice, so that this costs less than a thousandth of the work (`what_the_checks_cost`).
const PAIRS_PER_CHECK: u64 = 40_000;

/// A kernel and its specification computed different values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "on {cpu}, the {set} kernels give {kernel:?} for {feature} and the scalar ones {scalar:?}; this CPU must not score"
)]
pub struct KernelMismatch {
    pub cpu: String,
    pub set: InstructionSet,
    /// Its name in libvmaf.
    pub feature: String,
    pub kernel: f64,
    pub scalar: f64,
}

/// Selects the pairs that are computed twice, from a random one on, so that short clips are checked as often as long ones.
#[derive(Debug)]
pub(super) struct CheckSchedule {
    pairs_until_check: u64,
}

impl CheckSchedule {
    pub(super) fn random() -> Self {
        // The hasher's keys are random.
        Self { pairs_until_check: RandomState::new().hash_one(()) % PAIRS_PER_CHECK }
    }

    /// Whether the next pair is to be checked.
    pub(super) fn is_due(&mut self) -> bool {
        let left = self.pairs_until_check.checked_sub(1);
        self.pairs_until_check = left.unwrap_or(PAIRS_PER_CHECK - 1);
        left.is_none()
    }
}

/// Compares the values of two kernels for the same outputs, bit by bit.
pub(super) fn compare<'a>(
    outputs: impl Iterator<Item = &'a FeatureOutput>,
    set: InstructionSet,
    kernel: &[f64],
    scalar: &[f64],
) -> Result<(), KernelMismatch> {
    for (output, (kernel, scalar)) in outputs.zip(kernel.iter().zip(scalar)) {
        if kernel.to_bits() != scalar.to_bits() {
            return Err(KernelMismatch::new(set, &output.log_name, *kernel, *scalar));
        }
    }
    Ok(())
}

impl KernelMismatch {
    fn new(set: InstructionSet, feature: &str, kernel: f64, scalar: f64) -> Self {
        Self { cpu: cpu_name(), set, feature: feature.to_owned(), kernel, scalar }
    }
}

/// Compares the difference of two frames, of as few as [`CheckSchedule`] selects, with that of the scalar kernels. These read
/// the frames from the first of the two on, so that frames are kept only while a comparison waits for its last one.
#[derive(Debug)]
pub(super) struct MotionCheck {
    /// The stored name of the differences.
    feature: String,
    schedule: CheckSchedule,
    scalar: Option<Motion>,
}

impl MotionCheck {
    pub(super) fn new(feature: String) -> Self {
        Self { feature, schedule: CheckSchedule::random(), scalar: None }
    }

    /// Takes every frame, with the difference that the kernels of `config` measured.
    pub(super) fn frame<T: PlaneSample>(
        &mut self,
        config: &MotionConfig,
        luma: &Plane<'_, T>,
        difference: f64,
    ) -> Result<(), NativeError> {
        let set = config.instruction_set;
        if set == InstructionSet::Scalar || (self.scalar.is_none() && !self.schedule.is_due()) {
            return Ok(());
        }
        let mut scalar = match self.scalar.take() {
            Some(scalar) => scalar,
            None => Motion::new(&MotionConfig { instruction_set: InstructionSet::Scalar, ..*config })
                .map_err(KernelError::from)?,
        };
        let expected = scalar.push(luma).map_err(KernelError::from)?;
        // Frames without an earlier one to be compared with have no difference.
        let frames_before = if config.options.five_frame_window { 2 } else { 1 };
        if scalar.series().len() <= frames_before {
            self.scalar = Some(scalar);
        } else if difference.to_bits() != expected.to_bits() {
            return Err(KernelMismatch::new(set, &self.feature, difference, expected).into());
        }
        Ok(())
    }
}

/// Compares the kernels that this CPU uses with the scalar ones, on generated pictures of 8 and 10 bits. Takes a tenth of a
/// second.
pub fn check_kernels() -> Result<(), NativeError> {
    check(InstructionSet::best())
}

fn check(set: InstructionSet) -> Result<(), NativeError> {
    let mut required = RequiredExtractors::default();
    for extractor in ["adm", "cambi", "speed_chroma", "vif"] {
        // Extractors without options do not contradict each other.
        let _ = required.add_extractor(extractor);
    }
    let extractors: Vec<RequiredExtractor> = required.iter().cloned().collect();
    let outputs: Vec<FeatureOutput> = extractors.iter().flat_map(RequiredExtractor::outputs).collect();
    for depth in [BitDepth::Eight, BitDepth::Ten] {
        let format = PictureFormat { width: 448, height: 270, chroma: PixelFormat::Yuv420p, depth };
        let pool = PicturePool::new(format, 2).map_err(NativeError::Pictures)?;
        let [reference, distorted] = [0, 9].map(|noise| picture(&pool, noise));
        let (reference, distorted) =
            (reference.map_err(NativeError::Pictures)?, distorted.map_err(NativeError::Pictures)?);
        let measure = |set| Kernels::new(&extractors, format, set)?.measure(&reference, &distorted);
        compare(outputs.iter(), set, &measure(set)?, &measure(InstructionSet::Scalar)?)?;
        check_motion(&[reference, distorted], format, set)?;
    }
    Ok(())
}

/// Takes the pictures for two frames of a clip.
fn check_motion(
    frames: &[SharedPicture; 2],
    format: PictureFormat,
    set: InstructionSet,
) -> Result<(), NativeError> {
    let mut required = RequiredExtractors::default();
    let _ = required.add_extractor("motion");
    let extractors = required.take(|_| true);
    let measure = |set| -> Result<Vec<f64>, NativeError> {
        let mut motion = NativeMotion::new(&extractors, format, set)?;
        frames.iter().try_for_each(|frame| motion.read(frame))?;
        Ok(motion.values(motion.fed()).into_iter().flat_map(|(_, values)| values).collect())
    };
    let outputs = extractors.iter().flat_map(RequiredExtractor::outputs);
    let outputs: Vec<FeatureOutput> = outputs.flat_map(|output| vec![output; frames.len()]).collect();
    Ok(compare(outputs.iter(), set, &measure(set)?, &measure(InstructionSet::Scalar)?)?)
}

/// Waves with noise.
fn picture(pool: &std::sync::Arc<PicturePool>, noise: u32) -> Result<SharedPicture, LibvmafError> {
    let depth = pool.format().depth;
    let mut picture = pool.fetch()?;
    let mut state = 1_u32;
    for plane in &mut picture.planes() {
        for (y, row) in (0_u32..).zip(plane.rows_mut()) {
            for (x, sample) in (0_u32..).zip(row.chunks_exact_mut(depth.bytes())) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let wave = (x * x / 61 + y * 3 + x * y / 97) % 200;
                let value = (wave + (state >> 24) % (noise + 8)) << (depth.bits() - 8);
                sample.copy_from_slice(&value.to_le_bytes()[..depth.bytes()]);
            }
        }
    }
    Ok(picture.share())
}

/// As the kernel of the system names it, or unknown.
fn cpu_name() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "an unknown CPU".to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use vmafx_kernels::MotionOptions;

    use super::*;
    use crate::engine::features::ExtractorKind;
    use crate::engine::models::Model;

    #[test]
    fn pairs_are_due_at_equal_distances() {
        let mut schedule = CheckSchedule::random();
        let due: Vec<u64> = (0..3 * PAIRS_PER_CHECK).filter(|_| schedule.is_due()).collect();
        assert_eq!(due.len(), 3);
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == PAIRS_PER_CHECK), "{due:?}");
    }

    #[test]
    fn the_first_checked_pair_of_a_session_is_a_random_one() {
        let first = || CheckSchedule::random().pairs_until_check;
        assert!((0..20).any(|_| first() != first()));
    }

    #[test]
    fn every_instruction_set_of_this_cpu_passes() {
        for set in InstructionSet::available() {
            check(set).unwrap();
        }
    }

    #[test]
    fn a_difference_of_one_bit_names_the_cpu_the_kernel_and_both_values() {
        let output = |name: &str| FeatureOutput { stored_name: name.to_owned(), log_name: name.to_owned() };
        let outputs = [output("integer_adm2"), output("integer_vif_scale0")];
        let (kernel, scalar) = (0.5_f64, 0.5_f64.next_up());
        let error =
            compare(outputs.iter(), InstructionSet::Avx2, &[1.0, kernel], &[1.0, scalar]).unwrap_err();
        let expected = KernelMismatch {
            cpu: cpu_name(),
            set: InstructionSet::Avx2,
            feature: "integer_vif_scale0".to_owned(),
            kernel,
            scalar,
        };
        assert_eq!(error, expected);
        assert!(error.to_string().contains("avx2 kernels give 0.5 for integer_vif_scale0"), "{error}");
    }

    const MOTION: MotionConfig = MotionConfig {
        width: 17,
        height: 9,
        depth: 8,
        options: MotionOptions {
            force_zero: false,
            blend_factor: 1.0,
            blend_offset: 40.0,
            fps_weight: 1.0,
            max_value: 18.0,
            five_frame_window: false,
            moving_average: false,
        },
        instruction_set: InstructionSet::Avx2,
    };

    /// The differences of frames as `measured` changes them, each with the number of frames that the check keeps, until the
    /// check fails.
    fn check_motion_of(
        config: MotionConfig,
        measured: impl Fn(f64) -> f64,
    ) -> (Vec<bool>, Option<KernelMismatch>) {
        let mut check = MotionCheck::new("motion".to_owned());
        check.schedule.pairs_until_check = 2;
        let mut scalar =
            Motion::new(&MotionConfig { instruction_set: InstructionSet::Scalar, ..config }).unwrap();
        let mut keeps = Vec::new();
        for frame in 0..8_u8 {
            let samples: Vec<u8> = (0..17 * 9).map(|index: u8| index.wrapping_mul(frame)).collect();
            let luma = Plane::new(&samples, 17, 17, 9).unwrap();
            let difference = measured(scalar.push(&luma).unwrap());
            match check.frame(&config, &luma, difference) {
                Ok(()) => keeps.push(check.scalar.is_some()),
                Err(NativeError::Mismatch(mismatch)) => return (keeps, Some(mismatch)),
                Err(error) => panic!("{error}"),
            }
        }
        (keeps, None)
    }

    #[test]
    fn motion_keeps_frames_only_while_a_check_waits_for_its_last_one() {
        let keeps = |five_frame_window| {
            let options = MotionOptions { five_frame_window, ..MOTION.options };
            let (keeps, mismatch) =
                check_motion_of(MotionConfig { options, ..MOTION }, |difference| difference);
            assert_eq!(mismatch, None);
            keeps.iter().map(|keeps| u8::from(*keeps)).collect::<Vec<_>>()
        };
        assert_eq!(keeps(false), [0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(keeps(true), [0, 0, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_difference_of_motion_is_found_while_a_clip_is_read() {
        let (keeps, mismatch) = check_motion_of(MOTION, f64::next_up);
        let mismatch = mismatch.unwrap();
        assert_eq!(keeps.len(), 3);
        assert_eq!((mismatch.set, mismatch.feature.as_str()), (InstructionSet::Avx2, "motion"));
        assert_eq!(mismatch.kernel.to_bits(), mismatch.scalar.next_up().to_bits());
    }

    #[test]
    fn scalar_kernels_are_not_checked() {
        let scalar = MotionConfig { instruction_set: InstructionSet::Scalar, ..MOTION };
        assert_eq!(check_motion_of(scalar, f64::next_up).1, None);
    }

    /// Prints what `docs/engine.md` says of the cost.
    #[test]
    #[ignore = "a measurement: make test ONLY=check-cost runs it"]
    fn what_the_checks_cost() {
        for model in ["vmaf_v0.6.1", "vmaf_v1.0.16_3d0h"] {
            let format = PictureFormat {
                width: 1920,
                height: 1080,
                chroma: PixelFormat::Yuv420p,
                depth: BitDepth::Eight,
            };
            let mut required = RequiredExtractors::default();
            Model::named(model).unwrap().add_extractors(&mut required).unwrap();
            let of_motion = required.take(|extractor| extractor.kind() == ExtractorKind::Motion);
            let of_pairs = required.take(|_| true);
            let pool = PicturePool::new(format, 2).unwrap();
            let frames = [0, 9].map(|noise| picture(&pool, noise).unwrap());
            let read = |motion: &mut NativeMotion| {
                for frame in &frames {
                    motion.read(frame).unwrap();
                }
            };
            let cpu_ms = |work: &mut dyn FnMut()| {
                let now = || {
                    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                    f64::from(i32::try_from(time.tv_sec).unwrap()) * 1e3
                        + f64::from(i32::try_from(time.tv_nsec).unwrap()) / 1e6
                };
                let once = |()| {
                    let start = now();
                    work();
                    now() - start
                };
                [(); 5].map(once).into_iter().fold(f64::INFINITY, f64::min)
            };
            for set in InstructionSet::available().skip(1) {
                let mut kernels = Kernels::new(&of_pairs, format, set).unwrap();
                let pair = cpu_ms(&mut || drop(kernels.measure(&frames[0], &frames[1]).unwrap()));
                let check = cpu_ms(&mut || {
                    let mut scalar = Kernels::new(&of_pairs, format, InstructionSet::Scalar).unwrap();
                    scalar.measure(&frames[0], &frames[1]).unwrap();
                });
                let mut motion = NativeMotion::new(&of_motion, format, set).unwrap();
                let frame = cpu_ms(&mut || read(&mut motion)) / 2.0;
                let check_of_motion = cpu_ms(&mut || {
                    let mut motion = NativeMotion::new(&of_motion, format, InstructionSet::Scalar).unwrap();
                    read(&mut motion);
                });
                let mut schedule = CheckSchedule::random();
                let selection = cpu_ms(&mut || {
                    assert_eq!((0..PAIRS_PER_CHECK).filter(|_| schedule.is_due()).count(), 1);
                });
                #[allow(clippy::cast_precision_loss)] // A small constant.
                let pairs = PAIRS_PER_CHECK as f64;
                let all = (pair + frame) * pairs;
                let checks = check + check_of_motion + 2.0 * selection;
                println!(
                    "{model}, {set}: a pair {pair:.2} ms, its check {check:.1} ms; motion {frame:.2} ms, its check \
                     {check_of_motion:.1} ms; selection {:.2} ns; in all {:.4} %",
                    selection / pairs * 1e6,
                    checks / all * 100.0
                );
            }
        }
    }
}
