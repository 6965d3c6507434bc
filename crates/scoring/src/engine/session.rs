//! Measures pairs of frames and takes the scores.
//!
//! One context measures everything that looks at one pair only. For such features neither order nor index matters, so
//! the pairs of several distorted clips go through the same context, interleaved, and share its threads and buffers:
//! pair `j` of clip `k` of `n` has the index `j * n + k`.
//!
//! Motion looks at the reference alone, and at its neighbours. Where a session sees every frame of one clip it is
//! measured along with the rest. Where it does not (several clips, a step, a chunk with overlap) it is measured **apart**
//! in a context that sees every frame of the reference, and imported. Either way the bits are the same.

mod motion;
mod read_out;
mod scores;
mod setup;

use std::sync::Arc;

use self::motion::Motion;
use super::EngineError;
use super::features::extra::extractor;
use super::features::{Kind, Need, Needs, Output};
use super::ffi::{self, Context, Failure, SharedPicture};

pub use scores::{ModelSeries, Scores};
pub use setup::{Registration, Setup};

/// A model that libvmaf has loaded.
struct Loaded {
    name: String,
    model: Arc<ffi::Model>,
    collection: Option<ffi::Collection>,
}

/// A pass over frames.
pub struct Session {
    main: Context,
    motion: Option<Motion>,
    models: Vec<Loaded>,
    /// What `main` writes.
    outputs: Vec<Output>,
    clips: Vec<Fed>,
}

/// What a distorted clip was fed.
#[derive(Default)]
struct Fed {
    /// The number of each pair, for the result.
    frames: Vec<u64>,
    /// Where each pair is in the pass over the reference.
    places: Vec<u32>,
}

impl Session {
    /// Prepares a pass.
    pub fn new(setup: &Setup<'_>) -> Result<Self, EngineError> {
        setup.check()?;
        let needs = setup.needs()?;
        let models = setup.load()?;
        let failed = |source: Failure| setup.failed(source);
        let mut main = Context::new(setup.main_config()).map_err(failed)?;
        register(&mut main, setup, &needs, &models).map_err(failed)?;
        let apart: Vec<&Need> =
            if setup.motion_apart { needs.of(Kind::Motion).collect() } else { Vec::new() };
        for output in apart.iter().flat_map(|need| need.outputs()) {
            main.expect_import(&output.kept).map_err(failed)?;
        }
        for loaded in &models {
            main.expect_scores(&loaded.model, loaded.collection.as_ref()).map_err(failed)?;
        }
        let motion = if apart.is_empty() {
            None
        } else {
            Some(Motion::new(&apart, setup.motion_config()).map_err(failed)?)
        };
        let measured = needs.iter().filter(|need| !(setup.motion_apart && need.kind() == Kind::Motion));
        let outputs = measured.flat_map(Need::outputs).collect();
        let clips = (0..setup.clips).map(|_| Fed::default()).collect();
        Ok(Self { main, motion, models, outputs, clips })
    }

    /// Whether the frames of the reference matter that have no pair to be scored.
    pub fn wants_every_reference(&self) -> bool {
        self.motion.is_some()
    }

    /// Goes one frame further in the reference. Called for every frame, in order, before the pairs of that frame.
    pub fn reference(&mut self, frame: u64, picture: &SharedPicture) -> Result<(), EngineError> {
        match &mut self.motion {
            Some(motion) => motion.read(picture).map_err(|source| EngineError::Frame { frame, source }),
            None => Ok(()),
        }
    }

    /// Measures a pair of distorted clip `clip`. `frame` is its number in the result.
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
        let place = match &self.motion {
            Some(motion) => motion.fed().saturating_sub(1),
            None => index,
        };
        fed.frames.push(frame);
        fed.places.push(place);
        self.main.read(reference, distorted, index).map_err(|source| EngineError::Frame { frame, source })
    }

    /// Ends the pass and gives the scores of each distorted clip. `lengths` says how many frames of the reference each
    /// clip has a partner for: at its end motion is another than in the middle.
    pub fn finish(mut self, lengths: &[u32]) -> Result<Vec<Scores>, EngineError> {
        let fed = self.clips.iter().map(|clip| clip.frames.len() as u64).sum();
        if fed > 0 {
            self.main.flush().map_err(|source| EngineError::Finish { frames: fed, source })?;
        }
        let clips = std::mem::take(&mut self.clips);
        let count = clips.len();
        let mut all = Vec::with_capacity(count);
        for (clip, fed) in clips.into_iter().enumerate() {
            let motion = match &mut self.motion {
                Some(motion) if !fed.frames.is_empty() => {
                    let length = lengths.get(clip).copied().unwrap_or(u32::MAX).min(motion.fed());
                    motion
                        .values(length)
                        .map_err(|source| EngineError::Finish { frames: u64::from(length), source })?
                }
                _ => Vec::new(),
            };
            all.push(self.read_out(&fed, (clip, count), &motion)?);
        }
        Ok(all)
    }
}

/// Where pair `pair` of clip `clip` is kept.
fn index(pair: usize, clip: usize, clips: usize) -> Option<u32> {
    pair.checked_mul(clips)?.checked_add(clip)?.try_into().ok()
}

fn register(
    context: &mut Context,
    setup: &Setup<'_>,
    needs: &Needs,
    models: &[Loaded],
) -> Result<(), Failure> {
    match setup.registration {
        Registration::Lean => {
            for need in needs.iter().filter(|need| !(setup.motion_apart && need.kind() == Kind::Motion)) {
                context.use_feature(need.extractor(), &need.options())?;
            }
        }
        Registration::Plain => {
            let extractors: Vec<_> = needs.iter().map(Need::extractor).collect();
            for loaded in models {
                context.use_model(&loaded.model, &extractors)?;
            }
            for extra in setup.extras {
                context.use_feature(extractor(*extra), &[])?;
            }
        }
    }
    Ok(())
}
