//! What somebody wants to know.

use std::thread;

use crate::engine::ExtraFeature;
use crate::engine::models::ModelChoice;
use crate::engine::session::Registration;
use crate::input::{Clip, ScaleFilter};

/// A comparison: one reference, one or several distorted clips. Start with [`Request::new`] and change what matters.
#[derive(Clone, Debug)]
pub struct Request {
    /// The clip as it should be.
    pub reference: Clip,
    /// The clips to be judged. Several share the reading of the reference.
    pub distorted: Vec<Clip>,
    /// The models; `auto` when there is none.
    pub models: Vec<ModelChoice>,
    /// Measures beside the models.
    pub features: Vec<ExtraFeature>,
    /// Threads that measure, for all clips together; 256 at most.
    pub threads: u32,
    /// Pieces the clips are cut into. The scores are the same; a piece can be scored elsewhere, or again.
    pub chunks: u32,
    /// Every how many frames one is scored, beginning with the first. The frames between still count for motion, so a
    /// frame has the same score as without a step.
    pub step: u64,
    /// Whether clips of different length are compared as far as the shorter goes, instead of refused.
    pub shortest: bool,
    /// Frames to leave out at the start of the reference.
    pub reference_offset: u64,
    /// Frames to leave out at the start of the distorted clips.
    pub distorted_offset: u64,
    /// The size in which clips of different size are compared.
    pub scale: ScaleTo,
    /// How pictures are scaled.
    pub scale_filter: ScaleFilter,
    /// See [`crate::engine::session::Setup::registration`].
    #[doc(hidden)]
    pub registration: Registration,
    /// See [`crate::engine::session::Setup::cpu_mask`].
    #[doc(hidden)]
    pub cpu_mask: u64,
}

impl Request {
    /// Compares whole clips frame by frame by the model that fits, with all cores.
    pub fn new(reference: Clip, distorted: Vec<Clip>) -> Self {
        Self {
            reference,
            distorted,
            models: Vec::new(),
            features: Vec::new(),
            threads: thread::available_parallelism()
                .map_or(1, |cores| cores.get().try_into().unwrap_or(u32::MAX)),
            chunks: 1,
            step: 1,
            shortest: false,
            reference_offset: 0,
            distorted_offset: 0,
            scale: ScaleTo::default(),
            scale_filter: ScaleFilter::default(),
            registration: Registration::default(),
            cpu_mask: 0,
        }
    }
}

/// libvmaf does not notice a thread that could not be started, and waits for it at the end.
const MOST_THREADS: u32 = 256;

impl Request {
    /// Threads that really measure.
    pub(super) fn measuring_threads(&self) -> u32 {
        self.threads.clamp(1, MOST_THREADS)
    }
}

/// The size in which clips of different size are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleTo {
    /// That of the reference: what a viewer sees.
    #[default]
    Reference,
    /// That of the distorted clip.
    Distorted,
    /// This size.
    Size {
        /// Luma samples per row.
        width: u32,
        /// Rows of luma.
        height: u32,
    },
    /// None: clips of different size are refused.
    Never,
}
