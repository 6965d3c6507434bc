//! The held-out set.

use std::collections::BTreeMap;

use super::super::labellers::bounded_count;
use super::super::random::SplitMix64;
use super::super::state::{StateReader, StateWriter};
use super::super::{LearnerError, LearnerOptions};
use super::{Example, ExampleStore, KernelExpansion};

/// A reservoir: a uniform random sample of all held-out samples that were offered. What is offered of one labeller is bounded
/// by [`RecentLabellers::holds_out`](super::super::labellers::RecentLabellers::holds_out).
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct HeldOutSet {
    store: ExampleStore,
    /// Number of samples that were offered to the reservoir.
    count: u64,
    capacity: usize,
}

impl HeldOutSet {
    pub(in super::super) fn new(options: &LearnerOptions) -> Self {
        Self { store: ExampleStore::default(), count: 0, capacity: options.held_out_capacity }
    }

    pub(in super::super) fn add(&mut self, example: Example, random: &mut SplitMix64) {
        let Some(example) = self.store.replace(example) else { return };
        self.count += 1;
        if let Some(index) = random.reservoir_index(self.count, self.capacity) {
            self.store.put(index, example);
        }
    }

    pub(in super::super) fn examples(&self) -> &[Example] {
        &self.store.examples
    }

    /// The weight of each labeller in a comparison of labellers.
    pub(in super::super) fn weights(&self) -> BTreeMap<u64, u64> {
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for example in &self.store.examples {
            *held.entry(example.labeller).or_default() += 1;
        }
        let (total, labellers) = (self.store.examples.len() as u64, held.len());
        held.into_iter().map(|(labeller, count)| (labeller, bounded_count(count, total, labellers))).collect()
    }

    pub(in super::super) fn write(&self, writer: &mut StateWriter) {
        writer.unsigned(self.count);
        writer.count(self.store.examples.len());
        self.store.examples.iter().for_each(|example| example.write(writer));
    }

    pub(in super::super) fn read(
        options: &LearnerOptions,
        expansion: &KernelExpansion,
        reader: &mut StateReader<'_>,
    ) -> Result<Self, LearnerError> {
        let count = reader.counter()?;
        let mut examples = Example::list(options, expansion, reader)?;
        examples.truncate(options.held_out_capacity);
        Ok(Self { store: ExampleStore::from_list(examples), count, ..Self::new(options) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::expansion::DesignRow;
    use super::*;

    fn example(job: u64, labeller: u64, label: f64) -> Example {
        let row = DesignRow { base_points: 1.0, coordinates: vec![1.0] };
        Example { job, labeller, features: vec![0.5], label, row }
    }

    #[test]
    fn the_set_is_bounded_and_a_job_can_be_labelled_again() {
        let options = LearnerOptions { held_out_capacity: 10, ..LearnerOptions::default() };
        let (mut held_out, mut random) = (HeldOutSet::new(&options), SplitMix64::new(3));
        (0..1000).for_each(|job| held_out.add(example(job, 1, 1.0), &mut random));
        assert_eq!((held_out.examples().len(), held_out.store.index_by_key.len()), (10, 10));
        assert_eq!(held_out.count, 1000);
        let kept = held_out.examples()[4].job;
        held_out.add(example(kept, 1, 77.0), &mut random);
        assert_eq!((held_out.examples()[4].label, held_out.count), (77.0, 1000));
        assert!(held_out.examples().iter().any(|example| example.job > 500), "only early jobs were kept");
    }

    #[test]
    fn the_weight_of_a_labeller_is_bounded() {
        let (mut held_out, mut random) = (HeldOutSet::new(&LearnerOptions::default()), SplitMix64::new(3));
        for job in 0..100 {
            held_out.add(example(job, if job < 80 { 1 } else { 2 + job % 2 }, 1.0), &mut random);
        }
        assert_eq!(held_out.weights(), [(1, 100), (2, 30), (3, 30)].into());
    }
}
