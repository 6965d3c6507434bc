//! The samples that a learner keeps: the replay buffer and the held-out set.
//!
//! A new label of a job that is kept replaces the old one of the same labeller. Nobody replaces the label of another one.

mod held_out;

use std::collections::HashMap;

use super::expansion::{DesignRow, KernelExpansion};
use super::random::{self, SplitMix64};
use super::sample::validate_row;
use super::state::{StateReader, StateWriter, damaged};
use super::{LearnerError, LearnerOptions};

pub(super) use self::held_out::HeldOutSet;

/// Identifies a labeller within one run.
pub(super) fn labeller_hash(options: &LearnerOptions, name: &str) -> u64 {
    random::hash(options.seed, name)
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Example {
    /// Hash of the job's id.
    pub(super) job: u64,
    /// Hash of the name of who gave the label.
    pub(super) labeller: u64,
    pub(super) features: Vec<f64>,
    pub(super) label: f64,
    /// Derived from the features, so it is not saved.
    pub(super) row: DesignRow,
}

/// Job and labeller.
type ExampleKey = (u64, u64);

/// Examples with an index by job and labeller.
#[derive(Clone, Debug, Default, PartialEq)]
struct ExampleStore {
    examples: Vec<Example>,
    index_by_key: HashMap<ExampleKey, usize>,
}

impl ExampleStore {
    fn put(&mut self, index: usize, example: Example) {
        self.index_by_key.insert(example.key(), index);
        if index < self.examples.len() {
            let old = std::mem::replace(&mut self.examples[index], example);
            // If the example replaced itself, its index entry is the one that was just inserted.
            if self.index_by_key.get(&old.key()) == Some(&index) && self.examples[index].key() != old.key() {
                self.index_by_key.remove(&old.key());
            }
        } else {
            self.examples.push(example);
        }
    }

    /// Replaces the example of the same job and labeller; returns the new example if there is none.
    fn replace(&mut self, example: Example) -> Option<Example> {
        match self.index_by_key.get(&example.key()) {
            Some(&index) => {
                self.examples[index] = example;
                None
            }
            None => Some(example),
        }
    }

    fn from_list(examples: Vec<Example>) -> Self {
        let index_by_key =
            examples.iter().enumerate().map(|(index, example)| (example.key(), index)).collect();
        Self { examples, index_by_key }
    }
}

/// A ring buffer of the most recent samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplayBuffer {
    store: ExampleStore,
    /// Index of the oldest example once the buffer is full.
    oldest: usize,
    capacity: usize,
}

impl ReplayBuffer {
    pub(super) fn new(options: &LearnerOptions) -> Self {
        Self { store: ExampleStore::default(), oldest: 0, capacity: options.replay_capacity }
    }

    pub(super) fn len(&self) -> usize {
        self.store.examples.len()
    }

    pub(super) fn push(&mut self, example: Example) {
        let Some(example) = self.store.replace(example) else { return };
        let length = self.len();
        if length < self.capacity {
            self.store.put(length, example);
        } else {
            self.store.put(self.oldest, example);
            self.oldest = (self.oldest + 1) % length;
        }
    }

    /// A uniformly random example. The drawn index counts from the oldest example, so that a restored buffer, which
    /// starts at another index, draws the same one.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> Option<&Example> {
        let length = self.len();
        let index = usize::try_from(random.below(length as u64)).ok()?;
        self.store.examples.get((self.oldest + index) % length.max(1))
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        let (newer, older) = self.store.examples.split_at(self.oldest);
        writer.count(self.len());
        older.iter().chain(newer).for_each(|example| example.write(writer));
    }

    pub(super) fn read(
        options: &LearnerOptions,
        expansion: &KernelExpansion,
        reader: &mut StateReader<'_>,
    ) -> Result<Self, LearnerError> {
        let mut examples = Example::list(options, expansion, reader)?;
        examples.drain(..examples.len().saturating_sub(options.replay_capacity));
        Ok(Self { store: ExampleStore::from_list(examples), ..Self::new(options) })
    }
}

impl Example {
    fn key(&self) -> ExampleKey {
        (self.job, self.labeller)
    }

    fn write(&self, writer: &mut StateWriter) {
        writer.unsigned(self.job);
        writer.unsigned(self.labeller);
        writer.numbers(&self.features);
        writer.number(self.label);
    }

    fn list(
        options: &LearnerOptions,
        expansion: &KernelExpansion,
        reader: &mut StateReader<'_>,
    ) -> Result<Vec<Self>, LearnerError> {
        let names = expansion.base().features();
        let has_labellers = reader.has_labellers();
        reader.list(names.len() + 2 + usize::from(has_labellers), |reader| {
            let job = reader.unsigned()?;
            let labeller = if has_labellers { reader.unsigned()? } else { labeller_hash(options, "") };
            let (features, label) = (reader.numbers(names.len())?, reader.number()?);
            validate_row(names, &features, label).map_err(|refusal| damaged(refusal.to_string()))?;
            let row = expansion.row(&features);
            Ok(Self { job, labeller, features, label, row })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(job: u64, label: f64) -> Example {
        Example {
            job,
            labeller: 0,
            features: vec![0.5],
            label,
            row: DesignRow { base_points: 1.0, coordinates: vec![1.0] },
        }
    }

    fn labels(replay: &ReplayBuffer) -> Vec<f64> {
        let (newer, older) = replay.store.examples.split_at(replay.oldest);
        older.iter().chain(newer).map(|example| example.label).collect()
    }

    #[test]
    fn a_full_buffer_drops_its_oldest() {
        let mut replay =
            ReplayBuffer::new(&LearnerOptions { replay_capacity: 3, ..LearnerOptions::default() });
        (0..5_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        assert_eq!(labels(&replay), [2.0, 3.0, 4.0]);
        assert_eq!(replay.store.index_by_key.len(), 3);
    }

    #[test]
    fn a_job_that_is_labelled_again_replaces_its_label() {
        let mut replay =
            ReplayBuffer::new(&LearnerOptions { replay_capacity: 3, ..LearnerOptions::default() });
        (0..4_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        replay.push(example(2, 99.0));
        assert_eq!(labels(&replay), [1.0, 99.0, 3.0]);
        // Job 0 left the buffer, so it enters as a new one.
        replay.push(example(0, 50.0));
        assert_eq!(labels(&replay), [99.0, 3.0, 50.0]);
    }

    #[test]
    fn nobody_replaces_the_label_of_another_labeller() {
        let mut replay =
            ReplayBuffer::new(&LearnerOptions { replay_capacity: 3, ..LearnerOptions::default() });
        replay.push(example(1, 10.0));
        replay.push(Example { labeller: 7, ..example(1, 90.0) });
        replay.push(Example { labeller: 7, ..example(1, 80.0) });
        assert_eq!(labels(&replay), [10.0, 80.0]);
    }

    #[test]
    fn every_kept_sample_is_drawn() {
        let mut replay =
            ReplayBuffer::new(&LearnerOptions { replay_capacity: 5, ..LearnerOptions::default() });
        assert_eq!(replay.draw(&mut SplitMix64::new(0)), None);
        (0..8_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        let mut random = SplitMix64::new(1);
        let drawn: std::collections::BTreeSet<u64> =
            (0..200).map(|_| replay.draw(&mut random).unwrap().job).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }
}
