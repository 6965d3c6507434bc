//! What is to be compared, and how.

use std::thread;

use vmafx_job::ScoringOptions;

use crate::engine::Engine;
use crate::engine::models::ModelChoice;
use crate::engine::session::Registration;
use crate::input::{Clip, ReadActivity, ScaleFilter};

/// A comparison of one reference with one or several distorted clips. Start with [`Request::new`] and change what matters.
#[derive(Clone, Debug)]
pub struct Request {
    pub reference: Clip,
    /// The clips to be judged. Several share the reading of the reference.
    pub distorted: Vec<Clip>,
    /// `auto` when there is none.
    pub models: Vec<ModelChoice>,
    /// The frames between two scored ones still count for motion, so a frame has the same score with any frame step.
    pub options: ScoringOptions,
    /// Threads that measure, for all clips together; at most 256.
    pub threads: u32,
    /// Into how many chunks the clips are cut. The scores do not depend on it.
    pub chunks: u32,
    /// Frames to leave out at the start of the reference.
    pub reference_offset: u64,
    /// Frames to leave out at the start of the distorted clips.
    pub distorted_offset: u64,
    pub scale_filter: ScaleFilter,
    /// Whether pictures of the worst moments are made, for which parts of the clips are read a second time.
    pub pictures: bool,
    /// Does not change the scores.
    pub engine: Engine,
    /// Counts what is read of the clips, from another thread too.
    pub activity: ReadActivity,
    /// See [`crate::engine::session::SessionSetup::registration`].
    #[doc(hidden)]
    pub registration: Registration,
    /// See [`crate::engine::session::SessionSetup::cpu_mask`].
    #[doc(hidden)]
    pub cpu_mask: u64,
}

impl Request {
    /// Compares whole clips frame by frame with the model that fits, on all cores.
    pub fn new(reference: Clip, distorted: Vec<Clip>) -> Self {
        Self {
            reference,
            distorted,
            models: Vec::new(),
            options: ScoringOptions::default(),
            threads: thread::available_parallelism()
                .map_or(1, |cores| cores.get().try_into().unwrap_or(u32::MAX)),
            chunks: 1,
            reference_offset: 0,
            distorted_offset: 0,
            scale_filter: ScaleFilter::default(),
            pictures: false,
            engine: Engine::default(),
            activity: ReadActivity::default(),
            registration: Registration::default(),
            cpu_mask: 0,
        }
    }

    pub(super) fn measuring_threads(&self) -> u32 {
        self.threads.clamp(1, MAX_THREADS)
    }

    /// The distance between two scored frames.
    pub(super) fn step(&self) -> u64 {
        self.options.step().into()
    }
}

/// libvmaf does not notice a thread that could not be started and waits for it at the end, so the number is bounded.
const MAX_THREADS: u32 = 256;
