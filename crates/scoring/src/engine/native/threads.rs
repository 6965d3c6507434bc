//! Threads that measure pairs of frames, each with kernels of its own.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use vmafx_kernels::InstructionSet;

use super::kernels::Kernels;
use super::recheck::{CheckSchedule, compare};
use super::{NativeError, NativeSetup};
use crate::engine::ffi::SharedPicture;

/// Pairs that wait while every thread measures one.
const QUEUED_PAIRS: usize = 1;

/// The values of pairs, by their index.
pub(super) type MeasuredPairs = BTreeMap<u32, Vec<f64>>;

struct Pair {
    index: u32,
    reference: SharedPicture,
    distorted: SharedPicture,
}

/// What one thread measures with.
pub(super) struct PairMeasurer {
    setup: Arc<NativeSetup>,
    kernels: Kernels,
    schedule: CheckSchedule,
}

impl PairMeasurer {
    pub(super) fn new(setup: &Arc<NativeSetup>) -> Result<Self, NativeError> {
        let kernels = Kernels::new(&setup.extractors, setup.format, setup.set)?;
        Ok(Self { setup: Arc::clone(setup), kernels, schedule: CheckSchedule::random() })
    }

    fn measure(
        &mut self,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<Vec<f64>, NativeError> {
        let values = self.kernels.measure(reference, distorted)?;
        let NativeSetup { extractors, outputs, format, set } = &*self.setup;
        if *set != InstructionSet::Scalar && self.schedule.is_due() {
            let scalar =
                Kernels::new(extractors, *format, InstructionSet::Scalar)?.measure(reference, distorted)?;
            compare(outputs.iter(), *set, &values, &scalar)?;
        }
        Ok(values)
    }
}

/// Measures in the caller's thread, or in others.
pub(super) enum Measurer {
    Here { measurer: PairMeasurer, measured: MeasuredPairs },
    Threads(MeasuringThreads),
}

pub(super) struct MeasuringThreads {
    pairs: Option<SyncSender<Pair>>,
    threads: Vec<JoinHandle<()>>,
    values: Receiver<MeasuredPair>,
}

type MeasuredPair = (u32, Result<Vec<f64>, NativeError>);

impl Measurer {
    /// One for each thread. A single one measures in the caller's thread.
    pub(super) fn start(mut threads: Vec<PairMeasurer>) -> std::io::Result<Self> {
        match threads.pop() {
            Some(measurer) if threads.is_empty() => {
                Ok(Self::Here { measurer, measured: MeasuredPairs::new() })
            }
            last => MeasuringThreads::start(threads.into_iter().chain(last)).map(Self::Threads),
        }
    }

    /// Pictures of the reference, and as many distorted ones, that are held at most beside the pair being fed.
    pub(super) fn held_pairs(&self) -> u32 {
        match self {
            Self::Here { .. } => 0,
            Self::Threads(threads) => u32::try_from(threads.threads.len() + QUEUED_PAIRS).unwrap_or(u32::MAX),
        }
    }

    /// Blocks while all threads are busy.
    pub(super) fn measure(
        &mut self,
        index: u32,
        reference: &SharedPicture,
        distorted: &SharedPicture,
    ) -> Result<(), NativeError> {
        match self {
            Self::Here { measurer, measured } => {
                measured.insert(index, measurer.measure(reference, distorted)?);
                Ok(())
            }
            Self::Threads(threads) => {
                let pair = Pair { index, reference: reference.clone(), distorted: distorted.clone() };
                let is_sent = threads.pairs.as_ref().is_some_and(|pairs| pairs.send(pair).is_ok());
                if is_sent { Ok(()) } else { Err(NativeError::ThreadGone) }
            }
        }
    }

    /// Waits for the threads.
    pub(super) fn finish(self) -> Result<MeasuredPairs, NativeError> {
        match self {
            Self::Here { measured, .. } => Ok(measured),
            Self::Threads(mut threads) => {
                if !threads.stop() {
                    return Err(NativeError::ThreadGone);
                }
                threads.values.try_iter().map(|(index, values)| Ok((index, values?))).collect()
            }
        }
    }
}

impl MeasuringThreads {
    fn start(measurers: impl Iterator<Item = PairMeasurer>) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUED_PAIRS);
        let receiver = Arc::new(Mutex::new(receiver));
        let (done, values) = channel();
        let mut started = Self { pairs: Some(sender), threads: Vec::new(), values };
        for mut measurer in measurers {
            let (receiver, done) = (Arc::clone(&receiver), done.clone());
            let run = move || measure_all(&mut measurer, &receiver, &done);
            started.threads.push(thread::Builder::new().name("measure".to_owned()).spawn(run)?);
        }
        Ok(started)
    }

    /// Ends the threads after the pairs that they were given. Whether all of them measured to the end.
    fn stop(&mut self) -> bool {
        self.pairs = None;
        // A thread that panicked has printed why.
        self.threads.drain(..).filter_map(|thread| thread.join().err()).count() == 0
    }
}

impl Drop for MeasuringThreads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn measure_all(measurer: &mut PairMeasurer, pairs: &Mutex<Receiver<Pair>>, done: &Sender<MeasuredPair>) {
    loop {
        // Only the receiver is behind the lock, which is as it was if a thread panicked.
        let next = pairs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(pair) = next else { return };
        let values = measurer.measure(&pair.reference, &pair.distorted);
        if done.send((pair.index, values)).is_err() {
            return;
        }
    }
}
