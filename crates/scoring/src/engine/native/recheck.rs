//! Proof that kernels compute what their scalar specification says.
//!
//! A CPU that is damaged, overclocked or badly emulated computes wrong numbers and no error. A program that scores therefore
//! checks its kernels before it starts ([`check_kernels`]), and while it works it computes one pair in [`PAIRS_PER_CHECK`]
//! again with the scalar kernels. Motion, which needs every frame of the reference in order, is checked at the start only.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use vmafx_job::{BitDepth, PixelFormat};
use vmafx_kernels::InstructionSet;

use super::kernels::Kernels;
use super::{NativeError, NativeMotion};
use crate::engine::features::{FeatureOutput, RequiredExtractor, RequiredExtractors};
use crate::engine::ffi::{LibvmafError, PicturePool, SharedPicture};
use crate::picture::PictureFormat;

/// One pair in so many is computed twice.
const PAIRS_PER_CHECK: u64 = 10_000;

/// A kernel and its specification computed different values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "on {cpu}, the {set} kernels give {kernel:?} for {feature} and the scalar ones {scalar:?}; this CPU must not score"
)]
pub struct KernelMismatch {
    pub cpu: String,
    pub set: InstructionSet,
    /// Its name in libvmaf's logs.
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
            let feature = output.log_name.clone();
            return Err(KernelMismatch { cpu: cpu_name(), set, feature, kernel: *kernel, scalar: *scalar });
        }
    }
    Ok(())
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
    use super::*;

    #[test]
    fn one_pair_in_ten_thousand_is_due() {
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
}
