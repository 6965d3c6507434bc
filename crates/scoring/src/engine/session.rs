//! Measures pairs of frames and reads their scores.
//!
//! One context measures all features that depend on one pair only. Their order and index do not matter, so the pairs of
//! several distorted clips go through the same context, interleaved, and share its threads and buffers: pair `j` of clip `k`
//! of `n` has the index `j * n + k`.
//!
//! Motion depends on neighbouring frames of the reference. If a session measures every frame of one clip, motion is measured
//! in the same context. Otherwise (several clips, a frame step, a chunk with overlap) it is measured **separately**, in a
//! context that reads every frame of the reference, and imported. Both ways give the same bits. Our kernels always measure it
//! separately.

mod motion;
mod read_out;
mod scores;
mod setup;

use std::sync::Arc;

use self::motion::{KEPT_PER_CONTEXT, MotionContext, MotionMeasurer};
use super::EngineError;
use super::features::requested::extractor_of;
use super::features::{ExtractorKind, FeatureOutput, RequiredExtractor, RequiredExtractors};
use super::ffi::{self, Context, ContextConfig, LibvmafError, SharedPicture};
use super::native::{NativeExtractors, NativeMotion};

pub use scores::{FrameScores, ModelSeries};
pub use setup::{Registration, SessionSetup};

struct LoadedModel {
    name: String,
    model: Arc<ffi::ModelHandle>,
    collection: Option<ffi::CollectionHandle>,
}

pub struct EngineSession {
    main: Context,
    /// Whether libvmaf computes features of pairs.
    main_measures: bool,
    native: Option<NativeExtractors>,
    motion: Option<MotionMeasurer>,
    models: Vec<LoadedModel>,
    /// The outputs of `main`.
    outputs: Vec<FeatureOutput>,
    clips: Vec<FedPairs>,
    threads: u32,
}

/// Numbers of pictures that a session holds at most.
#[derive(Clone, Copy, Debug)]
pub struct HeldPictures {
    pub reference: HeldCount,
    /// Of all distorted clips together.
    pub distorted: HeldCount,
}

#[derive(Clone, Copy, Debug)]
pub struct HeldCount {
    /// Pictures that are held until later ones come.
    pub kept: u32,
    /// Pictures that are measured, or wait to be, and are then returned.
    pub measured: u32,
}

/// The pairs of a distorted clip that were fed.
#[derive(Default)]
struct FedPairs {
    /// The number of each pair in the result.
    frames: Vec<u64>,
    /// The index of the reference frame of each pair in the motion context.
    positions: Vec<u32>,
}

impl EngineSession {
    pub fn new(setup: &SessionSetup<'_>) -> Result<Self, EngineError> {
        setup.check()?;
        let mut required = setup.required_extractors()?;
        setup.check_extractors(&required)?;
        let (native, native_motion) = setup.take_native(&mut required)?;
        let models = setup.load()?;
        let failed = |source: LibvmafError| setup.failed(source);
        let main_measures = required.iter().any(|extractor| !setup.measures_separately(extractor));
        let config = if main_measures { setup.main_config() } else { ContextConfig::default() };
        let mut main = Context::new(config).map_err(failed)?;
        register(&mut main, setup, &required, &models).map_err(failed)?;
        let separate: Vec<&RequiredExtractor> =
            if setup.separate_motion { required.of(ExtractorKind::Motion).collect() } else { Vec::new() };
        let native_outputs = native.iter().flat_map(NativeExtractors::outputs);
        let native_outputs =
            native_outputs.chain(native_motion.iter().flat_map(NativeMotion::outputs)).cloned();
        for output in separate.iter().flat_map(|extractor| extractor.outputs()).chain(native_outputs) {
            main.expect_import(&output.stored_name).map_err(failed)?;
        }
        for loaded in &models {
            main.expect_scores(&loaded.model, loaded.collection.as_ref()).map_err(failed)?;
        }
        let motion = match native_motion {
            Some(motion) => Some(MotionMeasurer::Native(motion)),
            None if separate.is_empty() => None,
            None => {
                let context = MotionContext::new(&separate, setup.motion_config()).map_err(failed)?;
                Some(MotionMeasurer::Libvmaf(context))
            }
        };
        let measured = required.iter().filter(|extractor| !setup.measures_separately(extractor));
        let outputs = measured.flat_map(RequiredExtractor::outputs).collect();
        let clips = (0..setup.clips).map(|_| FedPairs::default()).collect();
        Ok(Self { main, main_measures, native, motion, models, outputs, clips, threads: setup.threads })
    }

    /// How many pictures the session holds at most while it measures.
    pub fn held_pictures(&self) -> HeldPictures {
        let by_context = if self.main_measures { KEPT_PER_CONTEXT } else { 0 };
        let kept = by_context + self.motion.as_ref().map_or(0, MotionMeasurer::held_pictures);
        let by_threads = if self.main_measures && self.threads > 1 { self.threads + 2 } else { 0 };
        let native = self.native.as_ref().map(NativeExtractors::held_pictures);
        let held = |kept: u32, native: Option<HeldCount>| HeldCount {
            kept: kept + native.map_or(0, |native| native.kept),
            measured: by_threads + native.map_or(0, |native| native.measured),
        };
        HeldPictures {
            reference: held(kept, native.map(|native| native.reference)),
            distorted: held(0, native.map(|native| native.distorted)),
        }
    }

    /// Feeds the next frame of the reference. Must be called for every frame, in order, before the pairs of that frame.
    pub fn reference(&mut self, frame: u64, picture: &SharedPicture) -> Result<(), EngineError> {
        match &mut self.motion {
            Some(motion) => motion.read(frame, picture),
            None => Ok(()),
        }
    }

    /// Measures a pair of the distorted clip with index `clip`. `frame` is its number in the result. Pairs of one frame follow each
    /// other.
    pub fn pair(
        &mut self,
        clip: usize,
        frame: u64,
        reference: SharedPicture,
        distorted: SharedPicture,
    ) -> Result<(), EngineError> {
        let clips = self.clips.len();
        let fed = &mut self.clips[clip];
        let index = index(fed.frames.len(), clip, clips).ok_or(EngineError::TooLong { frame })?;
        let position = match &self.motion {
            Some(motion) => motion.fed().saturating_sub(1),
            None => index,
        };
        fed.frames.push(frame);
        fed.positions.push(position);
        if let Some(native) = &mut self.native {
            native
                .measure(frame, index, &reference, &distorted)
                .map_err(|source| EngineError::NativeFrame { frame, source })?;
        }
        if self.main_measures {
            self.main
                .read(reference, distorted, index)
                .map_err(|source| EngineError::Frame { frame, source })?;
        }
        Ok(())
    }

    /// Ends the pass and returns the scores of each distorted clip. `lengths` has the number of paired frames of each clip,
    /// because motion is computed differently at the end of a clip.
    pub fn finish(mut self, lengths: &[u32]) -> Result<Vec<FrameScores>, EngineError> {
        let fed = self.clips.iter().map(|clip| clip.frames.len() as u64).sum();
        let native = self.native.take().map(NativeExtractors::finish).transpose();
        let native =
            native.map_err(|source| EngineError::NativeFinish { frames: fed, source })?.unwrap_or_default();
        if fed > 0 && self.main_measures {
            self.main.flush().map_err(|source| EngineError::Finish { frames: fed, source })?;
        }
        let clips = std::mem::take(&mut self.clips);
        let count = clips.len();
        let mut all = Vec::with_capacity(count);
        for (clip, fed) in clips.into_iter().enumerate() {
            let motion = match &mut self.motion {
                Some(motion) if !fed.frames.is_empty() => {
                    let length = lengths.get(clip).copied().unwrap_or(u32::MAX).min(motion.fed());
                    motion.values(length)?
                }
                _ => Vec::new(),
            };
            all.push(self.read_out(&fed, (clip, count), &motion, &native)?);
        }
        Ok(all)
    }
}

/// The index of a pair in the context.
fn index(pair: usize, clip: usize, clips: usize) -> Option<u32> {
    pair.checked_mul(clips)?.checked_add(clip)?.try_into().ok()
}

fn register(
    context: &mut Context,
    setup: &SessionSetup<'_>,
    required: &RequiredExtractors,
    models: &[LoadedModel],
) -> Result<(), LibvmafError> {
    match setup.registration {
        Registration::Lean => {
            for extractor in required.iter().filter(|extractor| !setup.measures_separately(extractor)) {
                context.use_feature(extractor.name(), &extractor.options())?;
            }
        }
        Registration::Plain => {
            let extractors: Vec<_> = required.iter().map(RequiredExtractor::name).collect();
            for loaded in models {
                context.use_model(&loaded.model, &extractors)?;
            }
            for feature in setup.features {
                context.use_feature(extractor_of(*feature), &[])?;
            }
        }
    }
    Ok(())
}
