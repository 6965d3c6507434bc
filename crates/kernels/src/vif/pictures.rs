//! Pairs of pictures at one scale.

use crate::{InvalidPlane, Plane, PlaneSample};

/// A reference and its distorted version. Samples are shifted left by `shift` to 16 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a, T> {
    pub reference: Plane<'a, T>,
    pub distorted: Plane<'a, T>,
    pub shift: u32,
}

impl<T: PlaneSample> Pair<'_, T> {
    pub(super) fn width(&self) -> usize {
        self.reference.width()
    }

    pub(super) fn height(&self) -> usize {
        self.reference.height()
    }
}

/// A pair of half the size of another one, with samples of 16 bits and without padding.
#[derive(Debug)]
pub(super) struct Halved {
    pub reference: Vec<u16>,
    pub distorted: Vec<u16>,
    pub width: usize,
    pub height: usize,
}

impl Halved {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let samples = vec![0; width * height];
        Self { reference: samples.clone(), distorted: samples, width, height }
    }

    pub(super) fn pair(&self) -> Result<Pair<'_, u16>, InvalidPlane> {
        let plane = |samples| Plane::new(samples, self.width, self.width, self.height);
        Ok(Pair { reference: plane(&self.reference)?, distorted: plane(&self.distorted)?, shift: 0 })
    }
}
