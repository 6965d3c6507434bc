//! What a session computes, and how.

use std::sync::Arc;

use vmafx_job::Feature;

use super::LoadedModel;
use crate::engine::EngineError;
use crate::engine::features::requested::{extractor_of, unmet_minimum};
use crate::engine::features::{ExtractorKind, RequiredExtractor, RequiredExtractors};
use crate::engine::ffi::{self, ContextConfig, LibvmafError};
use crate::engine::models::Model;
use crate::engine::native::{Engine, NativeExtractors, NativeMotion, overruns_libvmaf};
use crate::picture::PictureFormat;

/// Whether libvmaf's scores of pictures of this size are reproducible.
///
/// In smaller pictures its ADM reads samples that it has never written: with 32 lines or fewer, and in narrow pictures whose
/// width has a remainder of 1 to 4 after division by 16. The score then depends by tens of points on what was in memory
/// before; with 16 lines ADM also writes out of bounds. This was found by filling new memory with different bytes
/// (`MALLOC_PERTURB_`) and comparing the scores of all small sizes.
fn is_measurable(format: PictureFormat) -> bool {
    const SAFE_WIDTH: u32 = 97;
    const MINIMUM: u32 = 33;
    let (width, height) = (format.width, format.height);
    height >= MINIMUM && width >= MINIMUM && (width >= SAFE_WIDTH || !(1..=4).contains(&(width % 16)))
}

/// Up to this many threads, the feeding thread also measures motion; with more, the others would wait for it.
const MAX_THREADS_WITHOUT_MOTION_THREAD: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub struct SessionSetup<'a> {
    pub format: PictureFormat,
    pub models: &'a [Model],
    pub features: &'a [Feature],
    /// Number of distorted clips.
    pub clips: usize,
    /// Whether motion is measured in a context of its own. Required for several clips, a frame step, and a chunk with lead or
    /// tail.
    pub separate_motion: bool,
    /// Threads that measure. With one, the caller's thread measures.
    pub threads: u32,
    pub registration: Registration,
    pub engine: Engine,
    /// CPU features that libvmaf must not use, as its bits: 48 leaves AVX2, 63 leaves none. It applies to the whole process
    /// and does not change scores; for tests.
    pub cpu_mask: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    /// Only the extractors that the models use.
    #[default]
    Lean,
    /// As libvmaf registers them. For tests: both must agree in every bit.
    Plain,
}

impl SessionSetup<'_> {
    /// Refuses what can be refused before anything is allocated.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        if self.models.is_empty() && self.features.is_empty() {
            return Err(EngineError::Nothing);
        }
        if !is_measurable(self.format) {
            return Err(EngineError::TooSmall { format: self.format });
        }
        let refused =
            self.features.iter().find_map(|feature| Some((feature, unmet_minimum(*feature, self.format)?)));
        match refused {
            Some((feature, needs)) => {
                Err(EngineError::FeatureTooSmall { feature: feature.name(), needs, format: self.format })
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_extractors(&self, required: &RequiredExtractors) -> Result<(), EngineError> {
        if required.iter().any(|extractor| overruns_libvmaf(extractor, self.format)) {
            let (feature, needs) =
                (Feature::Cambi.name(), "a longer side of at most ten times the shorter one");
            return Err(EngineError::FeatureTooSmall { feature, needs, format: self.format });
        }
        Ok(())
    }

    pub(super) fn required_extractors(&self) -> Result<RequiredExtractors, EngineError> {
        let mut required = RequiredExtractors::default();
        for model in self.models {
            model.add_extractors(&mut required)?;
        }
        for feature in self.features {
            required
                .add_extractor(extractor_of(*feature))
                .map_err(|conflict| EngineError::Clash { extractor: conflict.extractor })?;
        }
        Ok(required)
    }

    /// Takes the extractors that our kernels compute out of `required`: those of pairs, and motion.
    pub(super) fn take_native(
        &self,
        required: &mut RequiredExtractors,
    ) -> Result<(Option<NativeExtractors>, Option<NativeMotion>), EngineError> {
        let (Engine::Native(set), Registration::Lean) = (self.engine, self.registration) else {
            return Ok((None, None));
        };
        let failed = |source| EngineError::NativeSetup { format: self.format, source };
        let of_pairs = NativeExtractors::take_from(required, self.format, self.threads, self.clips, set)
            .map_err(failed)?;
        let motion = required.take(|extractor| extractor.kind() == ExtractorKind::Motion);
        if motion.is_empty() {
            return Ok((of_pairs, None));
        }
        let motion = NativeMotion::new(&motion, self.format, set).map_err(failed)?;
        Ok((of_pairs, Some(motion)))
    }

    /// Whether a context of its own measures this extractor.
    pub(super) fn measures_separately(&self, extractor: &RequiredExtractor) -> bool {
        self.separate_motion && extractor.kind() == ExtractorKind::Motion
    }

    /// Loads the models under names that differ from those of all features.
    pub(super) fn load(&self) -> Result<Vec<LoadedModel>, EngineError> {
        let load = |(index, model): (usize, &Model)| {
            let name = format!("model_{index}");
            let (loaded, collection) = if model.has_interval() {
                let (loaded, collection) = ffi::CollectionHandle::load(model.json(), &name, model.members())?;
                (loaded, Some(collection))
            } else {
                (ffi::ModelHandle::load(model.json(), &name)?, None)
            };
            Ok(LoadedModel { name: model.name.clone(), model: Arc::new(loaded), collection })
        };
        self.models
            .iter()
            .enumerate()
            .map(load)
            .collect::<Result<_, _>>()
            .map_err(|source| self.failed(source))
    }

    pub(super) fn main_config(&self) -> ContextConfig {
        ContextConfig { threads: if self.threads > 1 { self.threads } else { 0 }, cpu_mask: self.cpu_mask }
    }

    pub(super) fn motion_config(&self) -> ContextConfig {
        ContextConfig {
            threads: u32::from(self.threads > MAX_THREADS_WITHOUT_MOTION_THREAD),
            cpu_mask: self.cpu_mask,
        }
    }

    pub(super) fn failed(&self, source: LibvmafError) -> EngineError {
        if source.is_full() {
            EngineError::TooMany { source }
        } else {
            EngineError::Setup { format: self.format, source }
        }
    }
}
