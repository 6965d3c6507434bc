//! Motion of the reference, frame by frame.

use vmafx_kernels::{InstructionSet, Motion, Plane, PlaneSample};

use super::NativeError;
use super::config;
use super::kernels::KernelError;
use super::recheck::MotionCheck;
use crate::engine::features::{FeatureOutput, RequiredExtractor};
use crate::engine::ffi::{PicturePlanes, SharedPicture};
use crate::picture::PictureFormat;

/// Measures the frames of one reference.
pub(in crate::engine) struct NativeMotion {
    extractors: Vec<MotionExtractor>,
    fed: u32,
}

struct MotionExtractor {
    /// Of `motion2` and `motion3`.
    outputs: Vec<FeatureOutput>,
    motion: Motion,
    check: MotionCheck,
}

impl NativeMotion {
    pub(in crate::engine) fn new(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, NativeError> {
        let extractors = extractors
            .iter()
            .map(|extractor| {
                let config = config::motion(extractor, format, set);
                let motion = Motion::new(&config).map_err(KernelError::from)?;
                let check = MotionCheck::new(config, extractor.motion_sad().unwrap_or_default());
                Ok(MotionExtractor { outputs: extractor.outputs().collect(), motion, check })
            })
            .collect::<Result<_, NativeError>>()?;
        Ok(Self { extractors, fed: 0 })
    }

    pub(in crate::engine) fn outputs(&self) -> impl Iterator<Item = &FeatureOutput> {
        self.extractors.iter().flat_map(|extractor| &extractor.outputs)
    }

    pub(in crate::engine) fn fed(&self) -> u32 {
        self.fed
    }

    pub(in crate::engine) fn read(&mut self, picture: &SharedPicture) -> Result<(), NativeError> {
        for extractor in &mut self.extractors {
            match picture.planes().map_err(KernelError::from)? {
                PicturePlanes::Bytes([luma, ..]) => extractor.read(&luma),
                PicturePlanes::Words([luma, ..]) => extractor.read(&luma),
            }?;
        }
        self.fed += 1;
        Ok(())
    }

    /// Each output with its values for the first `length` frames, as if the clip ended there.
    pub(in crate::engine) fn values(&self, length: u32) -> Vec<(FeatureOutput, Vec<f64>)> {
        self.extractors
            .iter()
            .flat_map(|extractor| {
                let scores = extractor.motion.series().scores(length as usize);
                let [motion2, motion3] = [
                    scores.iter().map(|score| score.motion2).collect(),
                    scores.iter().map(|score| score.motion3).collect(),
                ];
                extractor.outputs.iter().cloned().zip([motion2, motion3])
            })
            .collect()
    }
}

impl MotionExtractor {
    fn read<T: PlaneSample>(&mut self, luma: &Plane<'_, T>) -> Result<(), NativeError> {
        self.motion.push(luma).map_err(KernelError::from)?;
        self.check.frame(luma)
    }
}
