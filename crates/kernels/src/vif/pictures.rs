//! Pictures at one scale.

use crate::{InvalidPlane, Plane, PlaneSample};

/// A reference and distorted versions of it. Samples are shifted left by `shift` to 16 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ladder<'a, T> {
    pub reference: Plane<'a, T>,
    pub distorted: &'a [Plane<'a, T>],
    pub shift: u32,
}

impl<T: PlaneSample> Ladder<'_, T> {
    pub(super) fn width(&self) -> usize {
        self.reference.width()
    }

    pub(super) fn height(&self) -> usize {
        self.reference.height()
    }
}

/// A picture of half the size of another one, with samples of 16 bits and without padding.
#[derive(Debug)]
pub(super) struct Halved {
    samples: Vec<u16>,
    pub width: usize,
    pub height: usize,
}

impl Halved {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { samples: vec![0; width * height], width, height }
    }

    pub(super) fn plane(&self) -> Result<Plane<'_, u16>, InvalidPlane> {
        Plane::new(&self.samples, self.width, self.width, self.height)
    }

    pub(super) fn row_mut(&mut self, y: usize) -> &mut [u16] {
        &mut self.samples[y * self.width..][..self.width]
    }

    /// All rows.
    pub(super) fn samples_mut(&mut self) -> &mut [u16] {
        &mut self.samples
    }
}
