//! How far a comparison is.

/// Is told how far a comparison is. Called for every frame, so it should be quick.
pub trait Progress: Sync {
    /// `done` frames of `total` were handed to the engine, over all distorted clips. The total is an estimate and can be
    /// passed.
    fn frames(&self, done: u64, total: Option<u64>);
}

/// Nobody wants to know.
impl Progress for () {
    fn frames(&self, _done: u64, _total: Option<u64>) {}
}

impl<F: Fn(u64, Option<u64>) + Sync> Progress for F {
    fn frames(&self, done: u64, total: Option<u64>) {
        self(done, total);
    }
}

/// Counts for a run.
pub(super) struct Counter<'a> {
    progress: &'a dyn Progress,
    done: u64,
    total: Option<u64>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(progress: &'a dyn Progress, total: Option<u64>) -> Self {
        progress.frames(0, total);
        Self { progress, done: 0, total }
    }

    pub(super) fn one_more(&mut self) {
        self.done += 1;
        self.progress.frames(self.done, self.total);
    }
}
