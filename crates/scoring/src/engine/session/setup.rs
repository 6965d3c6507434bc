//! What a session is to compute, and how.

use std::sync::Arc;

use vmafx_job::Feature;

use super::Loaded;
use crate::engine::EngineError;
use crate::engine::features::Needs;
use crate::engine::features::extra::{extractor, unmet_minimum};
use crate::engine::ffi::{self, Config, Failure};
use crate::engine::models::Model;
use crate::picture::Format;

/// Whether libvmaf measures pictures of this size the same way every time.
///
/// In smaller ones its ADM takes samples into account that it has never written: with 32 lines or less, and in narrow
/// pictures whose width leaves 1 to 4 over when halved four times. The score then depends on what was in memory before,
/// by tens of points; with 16 lines it also writes where it should not. Found by filling fresh memory with different
/// bytes (`MALLOC_PERTURB_`) and comparing scores over all small sizes.
fn is_measurable(format: Format) -> bool {
    const SURE_WIDTH: u32 = 97;
    const MINIMUM: u32 = 33;
    let (width, height) = (format.width, format.height);
    height >= MINIMUM && width >= MINIMUM && (width >= SURE_WIDTH || !(1..=4).contains(&(width % 16)))
}

/// Up to this many threads, feeding also measures motion; with more the feeder would be what others wait for.
const FEEDER_KEEPS_UP: u32 = 4;

/// What a session is to compute, and how.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The shape of the pictures.
    pub format: Format,
    /// The models.
    pub models: &'a [Model],
    /// Measures beside them.
    pub extras: &'a [Feature],
    /// How many distorted clips are compared with the reference.
    pub clips: usize,
    /// Whether motion is measured apart: needed with several clips, a step, or frames that are only context.
    pub motion_apart: bool,
    /// Threads that measure. With one, the caller's own is used.
    pub threads: u32,
    /// How extractors are registered.
    pub registration: Registration,
    /// Features of the CPU that are not to be used, by libvmaf's bits: 48 leaves AVX2, 63 leaves nothing. Counts for
    /// the whole process and changes no score; for tests.
    pub cpu_mask: u64,
}

/// How extractors are registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    /// Only what the models use.
    #[default]
    Lean,
    /// As libvmaf does it by itself. For tests: the two must agree in every bit.
    Plain,
}

impl Setup<'_> {
    /// What can be refused before anything is made.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        if self.models.is_empty() && self.extras.is_empty() {
            return Err(EngineError::Nothing);
        }
        if !is_measurable(self.format) {
            return Err(EngineError::TooSmall { format: self.format });
        }
        let refused = self.extras.iter().find_map(|extra| Some((extra, unmet_minimum(*extra, self.format)?)));
        match refused {
            Some((extra, needs)) => {
                Err(EngineError::FeatureTooSmall { feature: extra.name(), needs, format: self.format })
            }
            None => Ok(()),
        }
    }

    /// The extractors that are needed, each once.
    pub(super) fn needs(&self) -> Result<Needs, EngineError> {
        let mut needs = Needs::default();
        for model in self.models {
            model.add_needs(&mut needs)?;
        }
        for extra in self.extras {
            needs
                .add_extractor(extractor(*extra))
                .map_err(|clash| EngineError::Clash { extractor: clash.extractor })?;
        }
        Ok(needs)
    }

    /// Loads the models under names that cannot meet those of features.
    pub(super) fn load(&self) -> Result<Vec<Loaded>, EngineError> {
        let load = |(index, model): (usize, &Model)| {
            let name = format!("model_{index}");
            let (loaded, collection) = if model.has_interval() {
                let (loaded, collection) = ffi::Collection::load(model.json(), &name, model.members())?;
                (loaded, Some(collection))
            } else {
                (ffi::Model::load(model.json(), &name)?, None)
            };
            Ok(Loaded { name: model.name.clone(), model: Arc::new(loaded), collection })
        };
        self.models
            .iter()
            .enumerate()
            .map(load)
            .collect::<Result<_, _>>()
            .map_err(|source| self.failed(source))
    }

    pub(super) fn main_config(&self) -> Config {
        Config { threads: if self.threads > 1 { self.threads } else { 0 }, cpu_mask: self.cpu_mask }
    }

    pub(super) fn motion_config(&self) -> Config {
        Config { threads: u32::from(self.threads > FEEDER_KEEPS_UP), cpu_mask: self.cpu_mask }
    }

    pub(super) fn failed(&self, source: Failure) -> EngineError {
        if source.is_full() {
            EngineError::TooMany { source }
        } else {
            EngineError::Setup { format: self.format, source }
        }
    }
}
