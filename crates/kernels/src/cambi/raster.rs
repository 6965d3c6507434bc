//! Intermediate pictures, whose size changes with the scale while their buffer stays.

/// Samples behind the end of each row, which vectors may read and write.
pub(super) const ROW_PADDING: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Raster<T> {
    samples: Vec<T>,
    stride: usize,
    width: usize,
    height: usize,
}

impl<T: Copy + Default> Raster<T> {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let stride = width + ROW_PADDING;
        Self { samples: vec![T::default(); stride * height], stride, width, height }
    }

    /// With this value in all samples, padding among them.
    #[cfg(test)]
    pub(super) fn poisoned(width: usize, height: usize, value: T) -> Self {
        let mut raster = Self::new(width, height);
        raster.samples.fill(value);
        raster
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Must not be larger than at first.
    pub(super) fn resize(&mut self, width: usize, height: usize) {
        debug_assert!(width + ROW_PADDING <= self.stride && height * self.stride <= self.samples.len());
        (self.width, self.height) = (width, height);
    }

    pub(super) fn row(&self, y: usize) -> &[T] {
        &self.samples[y * self.stride..][..self.width]
    }

    pub(super) fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.samples[y * self.stride..][..self.width]
    }

    pub(super) fn padded_row(&self, y: usize) -> &[T] {
        &self.samples[y * self.stride..][..self.width + ROW_PADDING]
    }

    pub(super) fn padded_row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.samples[y * self.stride..][..self.width + ROW_PADDING]
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[T]> {
        self.samples.chunks_exact(self.stride).take(self.height).map(|row| &row[..self.width])
    }
}

/// `from` has at least twice as many samples, counting padding.
#[inline(always)]
pub(super) fn keep_every_second<T: Copy>(from: &[T], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from.chunks_exact(2)) {
        *to = from[0];
    }
}
