//! Proof that kernels compute what their scalar specification says.
//!
//! A CPU that is damaged, overclocked or badly emulated computes wrong numbers and no error. A program that scores therefore
//! checks its kernels before it starts ([`check_kernels`]). While it works it computes a part of one pair in [`PAIRS_PER_CHECK`]
//! with both ([`PairCheck`]), and motion in a part from one frame in as many to the next ([`MotionCheck`]).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use vmafx_job::{BitDepth, PixelFormat};
use vmafx_kernels::{InstructionSet, Motion, MotionConfig, MotionError, Plane, PlaneSample};

use super::kernels::{KernelError, Kernels, is_native};
use super::part::{PicturePart, half};
use super::{NativeError, NativeMotion, NativeSetup};
use crate::engine::features::{FeatureOutput, RequiredExtractor, RequiredExtractors};
use crate::engine::ffi::{LibvmafError, PicturePool, SharedPicture};
use crate::picture::PictureFormat;

/// One pair in so many is checked.
const PAIRS_PER_CHECK: u64 = 10_000;
/// Scalar kernels take some thirty times as long as the others: only of a part of a pair does a check cost less than a thousandth
/// of the work (`what_the_checks_cost`). A picture is so many times as large as its part.
const PICTURES_PER_PART: u64 = 4;

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
struct CheckSchedule {
    pairs_per_check: u64,
    pairs_until_check: u64,
}

impl CheckSchedule {
    /// Whole pictures are checked as many times less often as they are larger than their parts.
    fn of_parts(has_parts: bool) -> Self {
        let pairs_per_check = if has_parts { PAIRS_PER_CHECK } else { PAIRS_PER_CHECK * PICTURES_PER_PART };
        Self { pairs_per_check, pairs_until_check: random() % pairs_per_check }
    }

    /// Whether the next pair is to be checked.
    fn is_due(&mut self) -> bool {
        let left = self.pairs_until_check.checked_sub(1);
        self.pairs_until_check = left.unwrap_or(self.pairs_per_check - 1);
        left.is_none()
    }
}

fn random() -> u64 {
    // The hasher's keys are random.
    RandomState::new().hash_one(())
}

/// Computes a random part of a few pairs with the kernels of a session and with the scalar ones.
#[derive(Debug)]
pub(super) struct PairCheck {
    setup: Arc<NativeSetup>,
    /// Size of the part: half the width and height, or all of a picture whose part is too small for a kernel.
    part: PictureFormat,
    schedule: CheckSchedule,
}

impl PairCheck {
    pub(super) fn new(setup: &Arc<NativeSetup>) -> Self {
        let whole = setup.format;
        let (width, height) = half(whole.plane(0));
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let part = PictureFormat { width: side(width), height: side(height), ..whole };
        let has_kernels = setup.extractors.iter().all(|extractor| is_native(extractor, part));
        Self {
            setup: Arc::clone(setup),
            part: if has_kernels { part } else { whole },
            schedule: CheckSchedule::of_parts(has_kernels),
        }
    }

    /// Takes every pair.
    pub(super) fn pair(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<(), NativeError> {
        if self.setup.set == InstructionSet::Scalar || !self.schedule.is_due() {
            return Ok(());
        }
        self.check(reference, distorted, random())
    }

    fn check(
        &self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
        random: u64,
    ) -> Result<(), NativeError> {
        let NativeSetup { extractors, outputs, format, set } = &*self.setup;
        let part = PicturePart::random(format.plane(0), self.part.plane(0), random);
        let measure =
            |set| Kernels::new(extractors, self.part, set)?.measure_part(reference, distorted, part);
        Ok(compare(outputs.iter(), *set, &measure(*set)?, &measure(InstructionSet::Scalar)?)?)
    }
}

/// Compares the values of two kernels for the same outputs, bit by bit.
fn compare<'a>(
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

/// Computes motion in a random part of a few frames with the kernels of a session and with the scalar ones. Both read the frames
/// from the first of those on, so that frames are kept only while a check waits for its last one.
#[derive(Debug)]
pub(super) struct MotionCheck {
    config: MotionConfig,
    /// The stored name of the differences.
    feature: String,
    /// Width and height of the part: half of the frame's, or all of a small frame.
    part: (usize, usize),
    schedule: CheckSchedule,
    started: Option<StartedMotionCheck>,
}

#[derive(Debug)]
struct StartedMotionCheck {
    part: PicturePart,
    kernels: Motion,
    scalar: Motion,
}

impl MotionCheck {
    pub(super) fn new(config: MotionConfig, feature: String) -> Self {
        let whole = (config.width, config.height);
        let (width, height) = half(whole);
        let has_parts = Motion::new(&MotionConfig { width, height, ..config }).is_ok();
        Self {
            config,
            feature,
            part: if has_parts { (width, height) } else { whole },
            schedule: CheckSchedule::of_parts(has_parts),
            started: None,
        }
    }

    /// Takes every frame.
    pub(super) fn frame<T: PlaneSample>(&mut self, luma: &Plane<'_, T>) -> Result<(), NativeError> {
        let set = self.config.instruction_set;
        if set == InstructionSet::Scalar || (self.started.is_none() && !self.schedule.is_due()) {
            return Ok(());
        }
        let mut started = match self.started.take() {
            Some(started) => started,
            None => self.start(random()).map_err(KernelError::from)?,
        };
        let part = started.part.of_luma(luma).map_err(KernelError::from)?;
        let kernel = started.kernels.push(&part).map_err(KernelError::from)?;
        let expected = started.scalar.push(&part).map_err(KernelError::from)?;
        // Frames without an earlier one to be compared with have no difference.
        let frames_before = if self.config.options.five_frame_window { 2 } else { 1 };
        if started.scalar.series().len() <= frames_before {
            self.started = Some(started);
        } else if kernel.to_bits() != expected.to_bits() {
            return Err(KernelMismatch::new(set, &self.feature, kernel, expected).into());
        }
        Ok(())
    }

    fn start(&self, random: u64) -> Result<StartedMotionCheck, MotionError> {
        let (width, height) = self.part;
        let motion =
            |instruction_set| Motion::new(&MotionConfig { width, height, instruction_set, ..self.config });
        Ok(StartedMotionCheck {
            part: PicturePart::random((self.config.width, self.config.height), self.part, random),
            kernels: motion(self.config.instruction_set)?,
            scalar: motion(InstructionSet::Scalar)?,
        })
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
pub(super) fn picture(pool: &Arc<PicturePool>, noise: u32) -> Result<SharedPicture, LibvmafError> {
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
    use crate::engine::ffi::PicturePlanes;
    use crate::engine::models::Model;

    #[test]
    fn pairs_are_due_at_equal_distances() {
        let mut schedule = CheckSchedule::of_parts(true);
        let due: Vec<u64> = (0..3 * PAIRS_PER_CHECK).filter(|_| schedule.is_due()).collect();
        assert_eq!(due.len(), 3);
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == PAIRS_PER_CHECK), "{due:?}");
    }

    #[test]
    fn the_first_checked_pair_of_a_session_is_a_random_one() {
        let first = || CheckSchedule::of_parts(true).pairs_until_check;
        assert!((0..20).any(|_| first() != first()));
    }

    fn check_of(width: u32, height: u32, extractor: &str) -> PairCheck {
        let mut required = RequiredExtractors::default();
        let _ = required.add_extractor(extractor);
        let extractors = required.take(|_| true);
        let format = PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
        PairCheck::new(&Arc::new(NativeSetup {
            outputs: extractors.iter().flat_map(RequiredExtractor::outputs).collect(),
            extractors,
            format,
            set: InstructionSet::best(),
        }))
    }

    #[test]
    fn a_quarter_of_a_picture_is_checked_or_a_quarter_as_many_small_pictures() {
        for (width, height, part, pairs) in [
            (1920, 1080, (960, 540), PAIRS_PER_CHECK),
            (999, 701, (500, 352), PAIRS_PER_CHECK),
            (16, 16, (16, 16), 4 * PAIRS_PER_CHECK),
        ] {
            let check = check_of(width, height, "vif");
            assert_eq!((check.part.width, check.part.height), part);
            assert_eq!(check.schedule.pairs_per_check, pairs);
        }
    }

    #[test]
    fn the_kernels_agree_on_every_part() {
        for extractor in ["adm", "cambi", "speed_chroma", "vif"] {
            let check = check_of(998, 702, extractor);
            let pool = PicturePool::new(check.setup.format, 2).unwrap();
            let [reference, distorted] = [0, 9].map(|noise| picture(&pool, noise).unwrap());
            for random in [0, 0x0123_4567_89ab_cdef, u64::MAX] {
                check.check(&reference, &distorted, random).unwrap();
            }
        }
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

    fn frame(number: u8) -> Vec<u8> {
        (0..17 * 9).map(|index: u8| index / 8 * number).collect()
    }

    fn due_after(frames: u64, config: MotionConfig) -> MotionCheck {
        let mut check = MotionCheck::new(config, "motion".to_owned());
        check.schedule.pairs_until_check = frames;
        check
    }

    /// Whether a check waits for further frames after each of eight.
    fn waits(config: MotionConfig) -> Vec<u8> {
        let mut check = due_after(2, config);
        let wait = |number| {
            check.frame(&Plane::new(&frame(number), 17, 17, 9).unwrap()).unwrap();
            u8::from(check.started.is_some())
        };
        (0..8).map(wait).collect()
    }

    #[test]
    fn motion_keeps_frames_only_while_a_check_waits_for_its_last_one() {
        assert_eq!(waits(MOTION), [0, 0, 1, 0, 0, 0, 0, 0]);
        let options = MotionOptions { five_frame_window: true, ..MOTION.options };
        assert_eq!(waits(MotionConfig { options, ..MOTION }), [0, 0, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_difference_of_motion_is_found_while_a_clip_is_read() {
        let mut check = due_after(0, MOTION);
        let [first, second, wrong] = [1, 2, 7].map(frame);
        let plane = |samples| Plane::new(samples, 17, 17, 9).unwrap();
        check.frame(&plane(&first)).unwrap();
        // Kernels that read another frame than they were given.
        let mut started = check.start(0).unwrap();
        started.kernels.push(&started.part.of_luma(&plane(&wrong)).unwrap()).unwrap();
        started.scalar.push(&started.part.of_luma(&plane(&first)).unwrap()).unwrap();
        check.started = Some(started);
        let Err(NativeError::Mismatch(mismatch)) = check.frame(&plane(&second)) else {
            panic!("the difference was not found");
        };
        assert_eq!((mismatch.set, mismatch.feature.as_str()), (InstructionSet::Avx2, "motion"));
        assert_ne!(mismatch.kernel.to_bits(), mismatch.scalar.to_bits());
    }

    #[test]
    fn scalar_kernels_are_not_checked() {
        let scalar = MotionConfig { instruction_set: InstructionSet::Scalar, ..MOTION };
        assert_eq!(waits(scalar), [0; 8]);
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
                let outputs = of_pairs.iter().flat_map(RequiredExtractor::outputs).collect();
                let setup = Arc::new(NativeSetup { extractors: of_pairs.clone(), outputs, format, set });
                let mut kernels = Kernels::new(&of_pairs, format, set).unwrap();
                let pair = cpu_ms(&mut || drop(kernels.measure(&frames[0], &frames[1]).unwrap()));
                let checks = PairCheck::new(&setup);
                let check = cpu_ms(&mut || checks.check(&frames[0], &frames[1], 1).unwrap());
                let mut motion = NativeMotion::new(&of_motion, format, set).unwrap();
                let frame = cpu_ms(&mut || read(&mut motion)) / 2.0;
                let config = super::super::config::motion(&of_motion[0], format, set);
                let check_of_motion = cpu_ms(&mut || {
                    let mut check = due_after(0, config);
                    for picture in &frames {
                        let PicturePlanes::Bytes([luma, ..]) = picture.planes().unwrap() else { panic!() };
                        check.frame(&luma).unwrap();
                    }
                });
                let mut schedule = CheckSchedule::of_parts(true);
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
