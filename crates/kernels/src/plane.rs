//! One plane of a picture.

/// Rows of samples, `stride` samples apart.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a, T> {
    samples: &'a [T],
    stride: usize,
    width: usize,
    height: usize,
}

/// A buffer does not hold the plane that was described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a plane of {width}x{height} with a stride of {stride} does not fit into {length} samples")]
pub struct InvalidPlane {
    pub width: usize,
    pub height: usize,
    pub stride: usize,
    pub length: usize,
}

impl<'a, T> Plane<'a, T> {
    /// Padding at the end of the last row is not needed.
    pub fn new(samples: &'a [T], stride: usize, width: usize, height: usize) -> Result<Self, InvalidPlane> {
        let invalid = InvalidPlane { width, height, stride, length: samples.len() };
        let last_row = height.checked_sub(1).and_then(|rows| rows.checked_mul(stride)).ok_or(invalid)?;
        let end = last_row.checked_add(width).ok_or(invalid)?;
        if width == 0 || stride < width || end > samples.len() {
            return Err(invalid);
        }
        Ok(Self { samples, stride, width, height })
    }

    /// A rectangle of the plane, which must be inside it.
    pub fn part(
        &self,
        (x, y): (usize, usize),
        (width, height): (usize, usize),
    ) -> Result<Self, InvalidPlane> {
        let invalid = InvalidPlane { width, height, stride: self.stride, length: self.samples.len() };
        let ends_inside =
            |from: usize, length: usize, all: usize| from.checked_add(length).is_some_and(|end| end <= all);
        if !ends_inside(x, width, self.width) || !ends_inside(y, height, self.height) {
            return Err(invalid);
        }
        Self::new(&self.samples[y * self.stride + x..], self.stride, width, height)
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// The samples of row `y`, without padding.
    pub fn row(&self, y: usize) -> &'a [T] {
        &self.samples[y * self.stride..][..self.width]
    }
}
