//! Progress of a comparison.

/// Called for every frame, so it should be quick.
pub trait ProgressObserver: Sync {
    /// `done` frames of `total` were passed to the engine, over all distorted clips. The total is an estimate and can be
    /// exceeded.
    fn frames(&self, done: u64, total: Option<u64>);
}

impl ProgressObserver for () {
    fn frames(&self, _done: u64, _total: Option<u64>) {}
}

impl<F: Fn(u64, Option<u64>) + Sync> ProgressObserver for F {
    fn frames(&self, done: u64, total: Option<u64>) {
        self(done, total);
    }
}

pub(super) struct Counter<'a> {
    progress: &'a dyn ProgressObserver,
    done: u64,
    total: Option<u64>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(progress: &'a dyn ProgressObserver, total: Option<u64>) -> Self {
        progress.frames(0, total);
        Self { progress, done: 0, total }
    }

    pub(super) fn increment(&mut self) {
        self.done += 1;
        self.progress.frames(self.done, self.total);
    }
}
