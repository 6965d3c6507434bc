//! Threads that measure frames.
//!
//! Each thread measures whole frames with kernels of its own, while there are enough of them: this needs no synchronisation. A
//! thread that begins a frame while others wait for one starts helpers for their number, which end with the frame ([`Team`]).
//! So all threads work on a clip with a single frame, and on the last frames of every clip.
//!
//! The caller's thread, which reads the frames, is one of a few threads: it measures a frame when enough of them wait for the
//! others. A further thread for reading would interrupt those that measure and empty their caches.
//!
//! With several distorted clips, a frame is one of the reference and those of all clips, which share what depends on the reference
//! alone. The threads are then fewer by the number of clips, and each has helpers from the start: frames in flight need memory
//! for the pictures of all clips. The caller's thread only reads.
//!
//! [`Team`]: super::team::Team

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::kernels::Kernels;
use super::recheck::PairCheck;
use super::{NativeError, NativeSetup};
use crate::engine::ffi::SharedPicture;
use crate::engine::session::{HeldCount, HeldPictures};
use crate::picture::PictureFormat;

/// Distorted pictures that are measured with one reference at most, which bounds memory.
const MAX_PICTURES_PER_FRAME: usize = 8;

/// Samples of luma that are worth a thread for one frame: some 3 ms of work.
const SAMPLES_PER_THREAD: usize = 1 << 19;

/// Reading a frame takes a fifth of the time of measuring it: for more threads, the caller's only reads.
const MAX_THREADS_WITH_CALLER: usize = 4;

/// The values of pairs, by their index.
pub(super) type MeasuredPairs = BTreeMap<u32, Vec<f64>>;

/// A frame of the reference and those of distorted clips, each with the index of the pair.
struct Frame {
    number: u64,
    reference: SharedPicture,
    distorted: Vec<(u32, SharedPicture)>,
}

/// What one thread measures with.
struct FrameMeasurer {
    kernels: Kernels,
    /// Threads that work on each frame, even if none is idle.
    threads: usize,
    check: PairCheck,
}

impl FrameMeasurer {
    fn new(setup: &Arc<NativeSetup>, threads: usize) -> Result<Self, NativeError> {
        let kernels = Kernels::for_threads(&setup.extractors, setup.format, setup.set, threads)?;
        Ok(Self { kernels, threads, check: PairCheck::new(setup) })
    }

    /// The values of each pair. So many more threads help.
    fn measure(&mut self, frame: &Frame, helpers: usize) -> Result<Vec<(u32, Vec<f64>)>, NativeError> {
        let Frame { reference, distorted, .. } = frame;
        let pictures: Vec<_> = distorted.iter().map(|(_, picture)| picture).collect();
        let all = self.kernels.measure_all(reference, &pictures, self.threads + helpers)?;
        for picture in pictures {
            self.check.pair(reference, picture)?;
        }
        Ok(distorted.iter().map(|(index, _)| *index).zip(all).collect())
    }
}

/// How the threads of a session are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadPlan {
    /// Threads that measure different frames.
    measurers: usize,
    /// All threads, those that help included.
    threads: usize,
    /// Distorted pictures of a frame.
    pictures: usize,
    /// Threads that the work on a frame is worth.
    per_frame: usize,
}

impl ThreadPlan {
    fn new(threads: u32, clips: usize, format: PictureFormat) -> Self {
        let threads = usize::try_from(threads).unwrap_or(1).max(1);
        let pictures = clips.clamp(1, MAX_PICTURES_PER_FRAME);
        let samples = format.width as usize * format.height as usize * pictures;
        let per_frame = (samples / SAMPLES_PER_THREAD).max(1);
        let measurers = threads.div_ceil(pictures.min(per_frame));
        Self { measurers, threads, pictures, per_frame }
    }

    /// The number of threads of each measurer.
    fn shares(self) -> impl Iterator<Item = usize> {
        let Self { measurers, threads, .. } = self;
        (0..measurers).map(move |index| threads / measurers + usize::from(index < threads % measurers))
    }

    /// Whether the caller's thread is one of several that measure.
    fn caller_measures(self) -> bool {
        self.pictures == 1 && (2..=MAX_THREADS_WITH_CALLER).contains(&self.measurers)
    }

    /// Threads that only measure.
    fn started(self) -> usize {
        self.measurers - usize::from(self.caller_measures())
    }

    /// Frames that wait while every thread measures one: as many as the other threads need while the caller's measures one, or
    /// none where the pictures of all clips would have to wait.
    fn queued(self) -> usize {
        if self.caller_measures() { self.started() } else { usize::from(self.pictures == 1) }
    }

    /// Frames that other threads measure or have queued.
    fn held_frames(self) -> usize {
        if self.threads == 1 { 0 } else { self.started() + self.queued() }
    }
}

/// Collects the pairs of each frame, and measures them in the caller's thread or in others.
pub(super) struct Measurer {
    plan: ThreadPlan,
    collected: Option<Frame>,
    mode: MeasuringMode,
}

enum MeasuringMode {
    Here { measurer: FrameMeasurer, measured: MeasuredPairs },
    Threads(Box<MeasuringThreads>),
}

struct MeasuringThreads {
    frames: Option<SyncSender<Frame>>,
    threads: Vec<JoinHandle<()>>,
    values: Receiver<MeasuredFrame>,
    /// Of the caller's thread, with the frame that it keeps until the next is there: it measures the last one itself, with the help of
    /// those that have none.
    own: Option<(MeasuringThread, Option<Frame>)>,
}

/// One of several threads.
struct MeasuringThread {
    measurer: FrameMeasurer,
    plan: ThreadPlan,
    frames: Arc<Mutex<Receiver<Frame>>>,
    /// Counts the threads of measurers that have no frame. Two that begin at the same time may both count a third: more threads
    /// than wanted then run until the end of a frame.
    idle: Arc<AtomicUsize>,
    done: Sender<MeasuredFrame>,
}

type MeasuredFrame = Result<Vec<(u32, Vec<f64>)>, NativeError>;

impl Measurer {
    /// A single thread is the caller's.
    pub(super) fn start(setup: &Arc<NativeSetup>, threads: u32, clips: usize) -> Result<Self, NativeError> {
        let plan = ThreadPlan::new(threads, clips, setup.format);
        let mode = if plan.threads == 1 {
            MeasuringMode::Here { measurer: FrameMeasurer::new(setup, 1)?, measured: MeasuredPairs::new() }
        } else {
            let measurers = plan.shares().map(|threads| FrameMeasurer::new(setup, threads));
            let measurers = measurers.collect::<Result<Vec<_>, _>>()?;
            MeasuringMode::Threads(Box::new(MeasuringThreads::start(measurers, plan)?))
        };
        Ok(Self { plan, collected: None, mode })
    }

    /// Pictures that are held at most beside the pair being fed.
    pub(super) fn held_pictures(&self) -> HeldPictures {
        let ThreadPlan { pictures, .. } = self.plan;
        let count = |pictures: usize| u32::try_from(pictures).unwrap_or(u32::MAX);
        let measured = self.plan.held_frames();
        // The caller's thread measures a frame, or gives it to another one, when the next is there.
        let last = usize::from(self.plan.caller_measures());
        HeldPictures {
            // A frame that lacks clips, because they ended, is measured when the next frame begins.
            reference: HeldCount { kept: count(pictures.min(2) - 1 + last), measured: count(measured) },
            distorted: HeldCount { kept: count(pictures - 1 + last), measured: count(measured * pictures) },
        }
    }

    /// Takes a pair of frame `number`. Pairs of one frame follow each other and have the same reference. Blocks while all threads
    /// are busy.
    pub(super) fn measure(
        &mut self,
        number: u64,
        index: u32,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<(), NativeError> {
        if self.collected.as_ref().is_some_and(|frame| frame.number != number) {
            self.measure_collected()?;
        }
        let frame = self.collected.get_or_insert_with(|| Frame {
            number,
            reference: reference.clone(),
            distorted: Vec::new(),
        });
        frame.distorted.push((index, distorted.clone()));
        if frame.distorted.len() < self.plan.pictures { Ok(()) } else { self.measure_collected() }
    }

    fn measure_collected(&mut self) -> Result<(), NativeError> {
        let Some(frame) = self.collected.take() else { return Ok(()) };
        match &mut self.mode {
            MeasuringMode::Here { measurer, measured } => {
                measured.extend(measurer.measure(&frame, 0)?);
                Ok(())
            }
            MeasuringMode::Threads(threads) => threads.measure(frame),
        }
    }

    /// Waits for the threads.
    pub(super) fn finish(mut self) -> Result<MeasuredPairs, NativeError> {
        self.measure_collected()?;
        match self.mode {
            MeasuringMode::Here { measured, .. } => Ok(measured),
            MeasuringMode::Threads(threads) => threads.finish(),
        }
    }
}

impl MeasuringThreads {
    fn start(measurers: Vec<FrameMeasurer>, plan: ThreadPlan) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(plan.queued());
        let receiver = Arc::new(Mutex::new(receiver));
        let of_caller =
            if plan.caller_measures() { measurers.last().map_or(0, |last| last.threads) } else { 0 };
        let idle = Arc::new(AtomicUsize::new(plan.threads - of_caller));
        let (done, values) = channel();
        let mut measuring = measurers.into_iter().map(|measurer| MeasuringThread {
            measurer,
            plan,
            frames: Arc::clone(&receiver),
            idle: Arc::clone(&idle),
            done: done.clone(),
        });
        let mut started = Self { frames: Some(sender), threads: Vec::new(), values, own: None };
        for mut thread in measuring.by_ref().take(plan.started()) {
            let run = move || thread.measure_all();
            started.threads.push(thread::Builder::new().name("measure".to_owned()).spawn(run)?);
        }
        started.own = measuring.next().map(|own| (own, None));
        Ok(started)
    }

    /// Takes the next frame.
    fn measure(&mut self, frame: Frame) -> Result<(), NativeError> {
        let Some(frames) = &self.frames else { return Err(NativeError::ThreadGone) };
        let Some((own, last)) = &mut self.own else {
            return frames.send(frame).map_err(|_| NativeError::ThreadGone);
        };
        let Some(before) = last.replace(frame) else { return Ok(()) };
        match frames.try_send(before) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(before)) => own.measure_of_caller(&before),
            Err(TrySendError::Disconnected(_)) => Err(NativeError::ThreadGone),
        }
    }

    fn finish(mut self) -> Result<MeasuredPairs, NativeError> {
        self.frames = None;
        if let Some((mut own, last)) = self.own.take() {
            last.map_or(Ok(()), |last| own.measure_of_caller(&last))?;
            own.idle.fetch_add(own.measurer.threads, Ordering::Relaxed);
            own.measure_all();
        }
        if !self.stop() {
            return Err(NativeError::ThreadGone);
        }
        let mut measured = MeasuredPairs::new();
        for values in self.values.try_iter() {
            measured.extend(values?);
        }
        Ok(measured)
    }

    /// Ends the threads after the frames that they were given. Whether all of them measured to the end.
    fn stop(&mut self) -> bool {
        self.frames = None;
        // A thread that panicked has printed why.
        self.threads.drain(..).filter_map(|thread| thread.join().err()).count() == 0
    }
}

impl Drop for MeasuringThreads {
    fn drop(&mut self) {
        self.stop();
    }
}

impl MeasuringThread {
    /// Measures frames until there are no more.
    fn measure_all(&mut self) {
        loop {
            // Only the receiver is behind the lock, which is as it was if a thread panicked.
            let next = self.frames.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(frame) = next else { return };
            let others =
                self.idle.fetch_sub(self.measurer.threads, Ordering::Relaxed) - self.measurer.threads;
            let measured = self.measure(&frame, others);
            self.idle.fetch_add(self.measurer.threads, Ordering::Relaxed);
            if self.done.send(measured).is_err() {
                return;
            }
        }
    }

    /// In the caller's thread, which is not idle between frames.
    fn measure_of_caller(&mut self, frame: &Frame) -> Result<(), NativeError> {
        let measured = self.measure(frame, self.idle.load(Ordering::Relaxed));
        self.done.send(measured).map_err(|_| NativeError::ThreadGone)
    }

    fn measure(&mut self, frame: &Frame, idle: usize) -> MeasuredFrame {
        let helpers = idle.min(self.plan.per_frame.saturating_sub(self.measurer.threads));
        self.measurer.measure(frame, helpers)
    }
}

#[cfg(test)]
mod tests {
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    fn plan(threads: u32, clips: usize, width: u32, height: u32) -> ThreadPlan {
        let format = PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
        ThreadPlan::new(threads, clips, format)
    }

    #[test]
    fn all_threads_are_used_for_any_number_of_clips() {
        for (threads, clips, shares) in [
            (1, 1, vec![1]),
            (4, 1, vec![1, 1, 1, 1]),
            (2, 5, vec![2]),
            (3, 2, vec![2, 1]),
            (8, 5, vec![4, 4]),
            (16, 5, vec![4, 4, 4, 4]),
            (1, 40, vec![1]),
        ] {
            let plan = plan(threads, clips, 1920, 1080);
            assert_eq!(plan.shares().collect::<Vec<_>>(), shares, "{threads} {clips}");
        }
    }

    #[test]
    fn threads_share_no_frame_that_is_small() {
        assert_eq!(plan(4, 5, 320, 180).shares().collect::<Vec<_>>(), [1, 1, 1, 1]);
        let per_frame = [(640, 480), (1920, 1080), (3840, 2160)].map(|(width, height)| {
            let ThreadPlan { per_frame, .. } = plan(64, 1, width, height);
            per_frame
        });
        assert_eq!(per_frame, [1, 3, 15]);
    }
}
