//! The banding at each pixel: how often its sample, and samples a small step away, occur in the window around it.

use std::ops::Range;

use super::contrast::Contrast;
use super::pool::ResponseTotals;
use super::raster::Raster;

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;

/// For each sample and column, how often the sample occurs in the window whose centre moves down the column.
#[derive(Clone, Debug)]
pub(super) struct WindowCounts {
    counts: Vec<u16>,
    /// The samples that are counted: those with a visible step, and those a step away.
    samples: Range<u16>,
}

impl WindowCounts {
    pub(super) fn new(contrast: &Contrast, max_width: usize) -> Self {
        let visible = contrast.visible();
        let samples = visible.start.saturating_sub(contrast.steps())..visible.end + contrast.steps();
        Self { counts: vec![0; samples.len() * max_width], samples }
    }

    fn range(&mut self, sample: u16, columns: Range<usize>, width: usize) -> Option<&mut [u16]> {
        let index = usize::from(self.samples.contains(&sample).then(|| sample - self.samples.start)?);
        self.counts.get_mut(index * width..(index + 1) * width)?.get_mut(columns)
    }

    fn count(&self, sample: Option<u16>, x: usize, width: usize) -> u16 {
        let Some(sample) = sample.filter(|sample| self.samples.contains(sample)) else { return 0 };
        self.counts[usize::from(sample - self.samples.start) * width + x]
    }

    /// Adds a row of pixels to all windows, or removes it.
    fn update(&mut self, image: &[u16], mask: &[u8], half: usize, update: impl Fn(&mut u16)) {
        let width = image.len();
        for x in (0..width).filter(|&x| mask[x] != 0) {
            let columns = x.saturating_sub(half)..(x + half + 1).min(width);
            self.range(image[x], columns, width).into_iter().flatten().for_each(&update);
        }
    }
}

/// The specification of the responses. Pixels outside of the mask count for nothing and have a response of 0.
pub(super) fn respond(
    image: &Raster<u16>,
    mask: &Raster<u8>,
    contrast: &Contrast,
    window: usize,
    counts: &mut WindowCounts,
    responses: &mut Raster<f32>,
) -> ResponseTotals {
    let mut totals = ResponseTotals::default();
    let (width, height) = (image.width(), image.height());
    responses.resize(width, height);
    counts.counts.fill(0);
    let half = window / 2;
    for y in 0..half.min(height) {
        counts.update(image.row(y), mask.row(y), half, |count| *count += 1);
    }
    for y in 0..height {
        if y + half < height {
            counts.update(image.row(y + half), mask.row(y + half), half, |count| *count += 1);
        }
        if let Some(above) = y.checked_sub(half + 1) {
            counts.update(image.row(above), mask.row(above), half, |count| *count -= 1);
        }
        for (x, response) in responses.row_mut(y).iter_mut().enumerate() {
            let sample = image.row(y)[x];
            *response = 0.0;
            if mask.row(y)[x] == 0 || !contrast.visible().contains(&sample) {
                continue;
            }
            let same = counts.count(Some(sample), x, width);
            for (step, &weight) in (1..).zip(contrast.weights(sample)) {
                let above = counts.count(sample.checked_add(step), x, width);
                let below = counts.count(sample.checked_sub(step), x, width);
                *response = response.max(contrast.response(weight, same, above.max(below)));
            }
            totals.add(*response);
        }
    }
    totals
}
