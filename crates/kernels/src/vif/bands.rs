//! Threads share a scale in bands of rows.

use std::mem;
use std::ops::Range;
use std::sync::Mutex;

use super::dispatch::StripKernel;
use super::filter::SCALES;
use super::pictures::{Halved, Ladder};
use super::statistic::Scorer;
use super::{VifError, VifSums};
use crate::tasks::lock;
use crate::{Plane, PlaneSample, Task, TaskRunner};

/// Neighbouring rows of a halved picture.
#[derive(Debug)]
pub(super) struct HalvedRows<'a> {
    samples: &'a mut [u16],
    width: usize,
    first: usize,
}

impl<'a> HalvedRows<'a> {
    fn all(halved: &'a mut Halved) -> Self {
        let width = halved.width;
        Self { samples: halved.samples_mut(), width, first: 0 }
    }

    /// `None` below the last row: a last single row of the larger picture is in no row of the halved one.
    pub(super) fn row_mut(&mut self, y: usize) -> Option<&mut [u16]> {
        let start = y.checked_sub(self.first)? * self.width;
        self.samples.get_mut(start..start + self.width)
    }
}

/// Pairs of rows of one scale, from which the same rows of the next scale are made.
#[derive(Debug)]
pub(super) struct Band<'a> {
    pub pairs: Range<usize>,
    /// Of the reference, then of the distorted pictures. Empty at the last scale.
    pub halved: Vec<HalvedRows<'a>>,
}

/// Hands out the pairs of rows of one scale in bands to several threads.
#[derive(Debug)]
pub(super) struct BandQueue<'a> {
    rest: Band<'a>,
    threads: usize,
}

impl<'a> BandQueue<'a> {
    /// Pairs of rows that are worth reading the rows above and below them again.
    const MIN_PAIRS: usize = 16;

    pub(super) fn new(height: usize, halved: &'a mut [Halved], threads: usize) -> Self {
        let halved = halved.iter_mut().map(HalvedRows::all).collect();
        Self { rest: Band { pairs: 0..height.div_ceil(2), halved }, threads }
    }

    /// The next band. Bands become smaller, so that threads finish at the same time; a single thread gets all.
    pub(super) fn next(&mut self) -> Option<Band<'a>> {
        let Range { start, end } = self.rest.pairs;
        let shared = if self.threads > 1 { (end - start).div_ceil(2 * self.threads) } else { end - start };
        let middle = end.min(start + shared.max(Self::MIN_PAIRS));
        self.rest.pairs = middle..end;
        let split = |rows: &mut HalvedRows<'a>| {
            let samples = mem::take(&mut rows.samples);
            let (above, below) = samples.split_at_mut(samples.len().min((middle - start) * rows.width));
            rows.samples = below;
            HalvedRows { samples: above, width: rows.width, first: mem::replace(&mut rows.first, middle) }
        };
        let halved = self.rest.halved.iter_mut().map(split).collect();
        (start < middle).then_some(Band { pairs: start..middle, halved })
    }
}

/// Measures the scales of a reference and its distorted pictures, one after the other.
pub(super) struct BandedPass<'a, R> {
    /// One for each thread.
    pub kernels: &'a mut [Box<dyn StripKernel>],
    pub runner: &'a mut R,
    pub scorer: &'a Scorer,
    /// Of each distorted picture.
    pub sums: &'a mut [[VifSums; SCALES]],
}

impl<R: TaskRunner> BandedPass<'_, R> {
    /// Measures a scale that was filled from the one before it, and fills the next one.
    pub(super) fn measure_halved(
        &mut self,
        scale: usize,
        pictures: &[Halved],
        next: &mut [Halved],
    ) -> Result<(), VifError> {
        let planes = pictures.iter().map(Halved::plane).collect::<Result<Vec<_>, _>>()?;
        if let Some((reference, distorted)) = planes.split_first() {
            self.measure_words(scale, *reference, distorted, 0, next);
        }
        Ok(())
    }

    pub(super) fn measure_words(
        &mut self,
        scale: usize,
        reference: Plane<'_, u16>,
        distorted: &[Plane<'_, u16>],
        shift: u32,
        next: &mut [Halved],
    ) {
        let (scorer, ladder) = (self.scorer, Ladder { reference, distorted, shift });
        self.measure(scale, &ladder, next, |kernel, band, sums| {
            kernel.measure_words(scale, &ladder, band, scorer, sums);
        });
    }

    pub(super) fn measure_bytes(
        &mut self,
        reference: Plane<'_, u8>,
        distorted: &[Plane<'_, u8>],
        next: &mut [Halved],
    ) {
        let (scorer, ladder) = (self.scorer, Ladder { reference, distorted, shift: 8 });
        self.measure(0, &ladder, next, |kernel, band, sums| {
            kernel.measure_bytes(&ladder, band, scorer, sums);
        });
    }

    fn measure<T: PlaneSample>(
        &mut self,
        scale: usize,
        ladder: &Ladder<'_, T>,
        next: &mut [Halved],
        measure: impl Fn(&mut dyn StripKernel, &mut Band<'_>, &mut [VifSums]) + Sync,
    ) {
        let queue = Mutex::new(BandQueue::new(ladder.height(), next, self.kernels.len()));
        let mut of_threads = vec![vec![VifSums::default(); self.sums.len()]; self.kernels.len()];
        let (queue, measure) = (&queue, &measure);
        let threads = self.kernels.iter_mut().zip(&mut of_threads);
        let tasks = threads.map(|(kernel, sums)| -> Task<'_> {
            Box::new(move || {
                loop {
                    let band = lock(queue).next();
                    let Some(mut band) = band else { return };
                    measure(kernel.as_mut(), &mut band, sums);
                }
            })
        });
        self.runner.run(tasks.collect());
        for of_thread in &of_threads {
            for (sums, of_thread) in self.sums.iter_mut().zip(of_thread) {
                sums[scale] += *of_thread;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BandQueue, Halved};

    #[test]
    fn bands_have_every_pair_of_rows_once_with_its_halved_row() {
        for (height, threads) in [(16, 1), (33, 2), (270, 2), (1081, 3), (2160, 16)] {
            let mut halved = [Halved::new(5, height / 2), Halved::new(5, height / 2)];
            let mut queue = BandQueue::new(height, &mut halved, threads);
            let mut next = 0;
            while let Some(mut band) = queue.next() {
                assert_eq!(band.pairs.start, next, "{height} {threads}");
                next = band.pairs.end;
                for pair in band.pairs {
                    for rows in &mut band.halved {
                        assert_eq!(rows.row_mut(pair).is_some(), pair < height / 2, "{height} {threads}");
                        rows.row_mut(pair).into_iter().flatten().for_each(|sample| *sample += 1);
                    }
                }
                assert!(band.halved[0].row_mut(next).is_none());
            }
            assert_eq!(next, height.div_ceil(2));
            assert!(halved.iter_mut().all(|halved| halved.samples_mut().iter().all(|sample| *sample == 1)));
        }
    }
}
