//! The kernels that measure a frame.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec;

use vmafx_kernels::{
    Adm, AdmError, AdmScores, Cambi, CambiError, InstructionSet, InvalidPlane, MotionError, Plane,
    PlaneSample, Speed, SpeedError, Task, TaskRunner as _, Vif, VifError, VifScale,
};

use super::config::KernelConfig;
use super::part::PicturePart;
use super::team::Team;
use crate::engine::features::RequiredExtractor;
use crate::engine::ffi::{PicturePlanes, SharedPicture};
use crate::picture::PictureFormat;

/// A kernel refused a picture, or options that were checked before.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Adm(#[from] AdmError),
    #[error(transparent)]
    Cambi(#[from] CambiError),
    #[error(transparent)]
    Motion(#[from] MotionError),
    #[error(transparent)]
    Speed(#[from] SpeedError),
    #[error(transparent)]
    Vif(#[from] VifError),
    #[error(transparent)]
    Plane(#[from] InvalidPlane),
    #[error("the pictures of a pair have samples of different sizes")]
    Mixed,
}

/// What is needed to measure a frame of a reference and of its distorted clips, with all buffers.
pub(super) struct Kernels(Vec<Kernel>);

enum Kernel {
    /// Measured by one thread for each copy, which takes one distorted picture after the other.
    Copies(Vec<PairKernel>),
    /// Measures all distorted pictures at once, in as many threads as there are.
    Vif(Box<Vif>),
}

/// Measures one distorted picture after the other in one thread.
enum PairKernel {
    Adm(Box<Adm>),
    Cambi(Box<Cambi>),
    Speed(Box<Speed>),
}

/// Whether there is a kernel for this extractor with its options at this size.
pub(super) fn is_native(extractor: &RequiredExtractor, format: PictureFormat) -> bool {
    let config = KernelConfig::new(extractor, format, InstructionSet::Scalar);
    config.is_some_and(|config| Kernel::new(&config, 1).is_ok())
}

/// Whether libvmaf's extractor would read and write behind its pictures at this size.
pub(in crate::engine) fn overruns_libvmaf(extractor: &RequiredExtractor, format: PictureFormat) -> bool {
    let config = KernelConfig::new(extractor, format, InstructionSet::Scalar);
    let kernel = config.map(|config| Kernel::new(&config, 1));
    matches!(kernel, Some(Err(KernelError::Cambi(CambiError::TooNarrow { .. }))))
}

impl Kernels {
    /// For extractors that [`is_native`] accepts; others have no values.
    pub(super) fn new(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
    ) -> Result<Self, KernelError> {
        Self::for_threads(extractors, format, set, 1)
    }

    /// Kernels with which so many threads measure several distorted pictures at the same time.
    pub(super) fn for_threads(
        extractors: &[RequiredExtractor],
        format: PictureFormat,
        set: InstructionSet,
        threads: usize,
    ) -> Result<Self, KernelError> {
        let configs = extractors.iter().filter_map(|extractor| KernelConfig::new(extractor, format, set));
        configs.map(|config| Kernel::new(&config, threads)).collect::<Result<_, _>>().map(Self)
    }

    /// The values of all outputs of the extractors, in their order.
    pub(super) fn measure(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<Vec<f64>, KernelError> {
        Ok(self.measure_all(reference, &[distorted], 1)?.concat())
    }

    /// The values of a part of the pictures, which has the size that the kernels are for.
    pub(super) fn measure_part(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
        part: PicturePart,
    ) -> Result<Vec<f64>, KernelError> {
        let values = match (reference.planes()?, distorted.planes()?) {
            (PicturePlanes::Bytes(reference), PicturePlanes::Bytes(distorted)) => {
                self.measure_planes(&part.of(&reference)?, &[part.of(&distorted)?], 1)?
            }
            (PicturePlanes::Words(reference), PicturePlanes::Words(distorted)) => {
                self.measure_planes(&part.of(&reference)?, &[part.of(&distorted)?], 1)?
            }
            _ => return Err(KernelError::Mixed),
        };
        Ok(values.concat())
    }

    /// The same for each distorted picture. Up to so many threads work at the same time.
    pub(super) fn measure_all(
        &mut self,
        reference: &SharedPicture,
        distorted: &[&SharedPicture],
        threads: usize,
    ) -> Result<Vec<Vec<f64>>, KernelError> {
        let distorted = distorted.iter().map(|picture| picture.planes()).collect::<Result<Vec<_>, _>>()?;
        match reference.planes()? {
            PicturePlanes::Bytes(reference) => {
                let distorted = distorted.into_iter().map(|planes| match planes {
                    PicturePlanes::Bytes(planes) => Ok(planes),
                    PicturePlanes::Words(_) => Err(KernelError::Mixed),
                });
                self.measure_planes(&reference, &distorted.collect::<Result<Vec<_>, _>>()?, threads)
            }
            PicturePlanes::Words(reference) => {
                let distorted = distorted.into_iter().map(|planes| match planes {
                    PicturePlanes::Bytes(_) => Err(KernelError::Mixed),
                    PicturePlanes::Words(planes) => Ok(planes),
                });
                self.measure_planes(&reference, &distorted.collect::<Result<Vec<_>, _>>()?, threads)
            }
        }
    }

    fn measure_planes<T: PlaneSample>(
        &mut self,
        reference: &[Plane<'_, T>; 3],
        distorted: &[[Plane<'_, T>; 3]],
        threads: usize,
    ) -> Result<Vec<Vec<f64>>, KernelError> {
        // Of each kernel, for each distorted picture.
        let mut values: Vec<Vec<Measured>> =
            self.0.iter().map(|_| distorted.iter().map(|_| Ok(Vec::new())).collect()).collect();
        let mut whole_frames = Vec::new();
        let mut pairs = Vec::new();
        for (kernel, values) in self.0.iter_mut().zip(&mut values) {
            match kernel {
                Kernel::Vif(vif) => whole_frames.push((vif, values)),
                Kernel::Copies(copies) => {
                    let queue: Vec<_> = distorted.iter().zip(values).collect();
                    pairs.push((copies, Mutex::new(queue.into_iter())));
                }
            }
        }
        let tasks = pairs.iter_mut().flat_map(|(copies, queue)| {
            let queue = &*queue;
            copies.iter_mut().map(move |copy| -> Task<'_> { Box::new(|| copy.measure(reference, queue)) })
        });
        let mut team = Team::new(threads, tasks.collect());
        let luma: Vec<_> = distorted.iter().map(|[luma, ..]| *luma).collect();
        for (vif, values) in whole_frames {
            let scores = vif.measure_all(&reference[0], &luma, &mut team)?;
            for (values, scores) in values.iter_mut().zip(scores) {
                *values = Ok(scores.scales.iter().map(VifScale::score).collect());
            }
        }
        // If there is no VIF to run them beside.
        team.run(Vec::new());
        drop(team);
        drop(pairs);
        let mut of_pictures = vec![Vec::new(); distorted.len()];
        for values in values {
            for (of_picture, values) in of_pictures.iter_mut().zip(values) {
                of_picture.append(&mut values?);
            }
        }
        Ok(of_pictures)
    }
}

type Measured = Result<Vec<f64>, KernelError>;

/// The planes of distorted pictures, each with the place for its values.
type PairQueue<'a, T> = Mutex<vec::IntoIter<(&'a [Plane<'a, T>; 3], &'a mut Measured)>>;

impl Kernel {
    fn new(config: &KernelConfig, threads: usize) -> Result<Self, KernelError> {
        let copies = |new: &dyn Fn() -> Result<PairKernel, KernelError>| {
            (0..threads.max(1)).map(|_| new()).collect::<Result<_, _>>().map(Self::Copies)
        };
        match config {
            KernelConfig::Adm(config) => copies(&|| Ok(PairKernel::Adm(Box::new(Adm::new(config)?)))),
            KernelConfig::Cambi(config) => copies(&|| Ok(PairKernel::Cambi(Box::new(Cambi::new(config)?)))),
            KernelConfig::Speed(config) => copies(&|| Ok(PairKernel::Speed(Box::new(Speed::new(config)?)))),
            KernelConfig::Vif(config) => Ok(Self::Vif(Box::new(Vif::new(config)?))),
        }
    }
}

impl PairKernel {
    /// Measures pictures until there is none left.
    fn measure<T: PlaneSample>(&mut self, reference: &[Plane<'_, T>; 3], queue: &PairQueue<'_, T>) {
        let next = || {
            let mut queue: MutexGuard<'_, _> = queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.next()
        };
        let [luma, chroma @ ..] = reference.each_ref();
        // The reference is the same for all pictures.
        let mut is_reference_set = false;
        while let Some((distorted, values)) = next() {
            let [distorted_luma, distorted_chroma @ ..] = distorted.each_ref();
            *values = match self {
                Self::Adm(adm) => {
                    adm.measure(luma, distorted_luma).map(adm_values).map_err(KernelError::from)
                }
                Self::Cambi(cambi) => {
                    cambi.measure(distorted_luma).map(|scores| vec![scores.cambi]).map_err(KernelError::from)
                }
                Self::Speed(speed) => {
                    let set = if is_reference_set { Ok(()) } else { speed.set_reference(chroma) };
                    is_reference_set = set.is_ok();
                    let scores = set.and_then(|()| speed.compare(distorted_chroma));
                    scores.map(|scores| vec![scores.u, scores.v, scores.uv]).map_err(KernelError::from)
                }
            };
        }
    }
}

/// The values in the order of the extractor's outputs.
fn adm_values(scores: AdmScores) -> Vec<f64> {
    let mut values = vec![scores.adm2];
    values.extend(scores.aim.into_iter().chain(scores.adm3));
    values.extend(scores.scales.map(|scale| scale.score()));
    values
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;
    use crate::engine::features::RequiredExtractors;
    use crate::engine::ffi::PicturePool;
    use crate::engine::models::Model;

    /// Prints what `docs/engine.md` says of one large frame.
    #[test]
    #[ignore = "a measurement: make test ONLY=frame-threads runs it"]
    fn how_fast_threads_measure_one_frame() {
        let (chroma, depth) = (PixelFormat::Yuv420p, BitDepth::Eight);
        let format = PictureFormat { width: 3840, height: 2160, chroma, depth };
        let mut required = RequiredExtractors::default();
        Model::named("vmaf_4k_v0.6.1").unwrap().add_extractors(&mut required).unwrap();
        let extractors = required.take(|extractor| extractor.name() != "motion");
        let pool = PicturePool::new(format, 2).unwrap();
        let frames = [0, 9].map(|noise| crate::engine::native::recheck::picture(&pool, noise).unwrap());
        for set in InstructionSet::available().skip(1) {
            let [one, two] = [1, 2].map(|threads| {
                let mut kernels = Kernels::for_threads(&extractors, format, set, 1).unwrap();
                let mut frame = || {
                    let start = Instant::now();
                    kernels.measure_all(&frames[0], &[&frames[1]], threads).unwrap();
                    start.elapsed().as_secs_f64() * 1e3
                };
                (0..9).map(|_| frame()).fold(f64::INFINITY, f64::min)
            });
            println!("{set}: one thread {one:.1} ms, two {two:.1} ms, ratio {:.2}", one / two);
        }
    }
}
