//! Motion, measured separately.

use crate::engine::EngineError;
use crate::engine::features::{FeatureOutput, RequiredExtractor};
use crate::engine::ffi::{Context, ContextConfig, LibvmafError, SharedPicture};
use crate::engine::native::NativeMotion;

/// The values of one motion feature, frame by frame.
pub(super) struct MotionSeries {
    pub(super) output: FeatureOutput,
    pub(super) values: Vec<f64>,
}

/// What reads every frame of the reference and measures motion only.
pub(super) enum MotionMeasurer {
    Libvmaf(MotionContext),
    Native(NativeMotion),
}

impl MotionMeasurer {
    /// Pictures that it keeps.
    pub(super) fn held_pictures(&self) -> u32 {
        match self {
            Self::Libvmaf(_) => KEPT_PER_CONTEXT,
            Self::Native(_) => 0,
        }
    }

    pub(super) fn fed(&self) -> u32 {
        match self {
            Self::Libvmaf(motion) => motion.fed(),
            Self::Native(motion) => motion.fed(),
        }
    }

    pub(super) fn read(&mut self, frame: u64, picture: &SharedPicture) -> Result<(), EngineError> {
        match self {
            Self::Libvmaf(motion) => {
                motion.read(picture).map_err(|source| EngineError::Frame { frame, source })
            }
            Self::Native(motion) => {
                motion.read(picture).map_err(|source| EngineError::NativeFrame { frame, source })
            }
        }
    }

    /// Motion of the first `length` frames, as if the clip ended there.
    pub(super) fn values(&mut self, length: u32) -> Result<Vec<MotionSeries>, EngineError> {
        match self {
            Self::Libvmaf(motion) => motion
                .values(length)
                .map_err(|source| EngineError::Finish { frames: u64::from(length), source }),
            Self::Native(motion) => {
                let all = motion.values(length).into_iter();
                Ok(all.map(|(output, values)| MotionSeries { output, values }).collect())
            }
        }
    }
}

/// Pictures that a context of libvmaf keeps for comparison.
pub(super) const KEPT_PER_CONTEXT: u32 = 2;

/// A context that reads every frame of the reference and measures motion only.
pub(super) struct MotionContext {
    context: Context,
    extractors: Vec<RequiredExtractor>,
    fed: u32,
    flushed: bool,
}

impl MotionContext {
    pub(super) fn new(
        extractors: &[&RequiredExtractor],
        config: ContextConfig,
    ) -> Result<Self, LibvmafError> {
        let context = context(extractors.iter().copied(), config)?;
        Ok(Self {
            context,
            extractors: extractors.iter().map(|extractor| (*extractor).clone()).collect(),
            fed: 0,
            flushed: false,
        })
    }

    pub(super) fn fed(&self) -> u32 {
        self.fed
    }

    pub(super) fn read(&mut self, picture: &SharedPicture) -> Result<(), LibvmafError> {
        self.context.read(picture.clone(), picture.clone(), self.fed)?;
        self.fed += 1;
        Ok(())
    }

    /// Motion of the first `length` frames, as if the clip ended there.
    pub(super) fn values(&mut self, length: u32) -> Result<Vec<MotionSeries>, LibvmafError> {
        if length == 0 {
            return Ok(Vec::new());
        }
        if !self.flushed {
            self.context.flush()?;
            self.flushed = true;
        }
        if length == self.fed {
            return read_out(&self.context, &self.extractors, length);
        }
        // libvmaf derives motion at the end, from sums of absolute differences between neighbours. These do not depend on where
        // the clip ends, so they are imported into a new context that ends earlier. It has a thread, because without one
        // libvmaf does not finish an extractor that has read no picture.
        let mut shorter = context(self.extractors.iter(), ContextConfig { threads: 1, cpu_mask: 0 })?;
        for name in self.extractors.iter().filter_map(RequiredExtractor::motion_sad) {
            for index in 0..length {
                shorter.import(&name, self.context.feature(&name, index)?, index)?;
            }
        }
        shorter.flush()?;
        read_out(&shorter, &self.extractors, length)
    }
}

fn context<'a>(
    extractors: impl Iterator<Item = &'a RequiredExtractor>,
    config: ContextConfig,
) -> Result<Context, LibvmafError> {
    let mut context = Context::new(config)?;
    for extractor in extractors {
        context.use_feature(extractor.name(), &extractor.options())?;
        if let Some(name) = extractor.motion_sad() {
            context.expect_import(&name)?;
        }
    }
    Ok(context)
}

fn read_out(
    context: &Context,
    extractors: &[RequiredExtractor],
    length: u32,
) -> Result<Vec<MotionSeries>, LibvmafError> {
    extractors
        .iter()
        .flat_map(RequiredExtractor::outputs)
        .map(|output| {
            let values = (0..length)
                .map(|index| context.feature(&output.stored_name, index))
                .collect::<Result<_, _>>()?;
            Ok(MotionSeries { output, values })
        })
        .collect()
}
