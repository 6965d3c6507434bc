//! Samples that are kept: for replay the newest, for the gate a fair draw of those that were held out.
//!
//! A job that is labelled again replaces what is kept of it: the later label is the right one.

use std::collections::HashMap;

use super::expansion::{Expansion, Row};
use super::random::Random;
use super::sample::admit_row;
use super::state::{Reader, Writer, damaged};
use super::{LearnerError, Options};

/// A sample that is kept, ready to be looked at again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Example {
    /// Hash of the job.
    pub(super) job: u64,
    pub(super) features: Vec<f64>,
    pub(super) label: f64,
    /// Not saved, but computed again.
    pub(super) row: Row,
}

/// Examples, and where each job's is.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shelf {
    examples: Vec<Example>,
    places: HashMap<u64, usize>,
}

impl Shelf {
    fn put(&mut self, place: usize, example: Example) {
        self.places.insert(example.job, place);
        if place < self.examples.len() {
            let old = std::mem::replace(&mut self.examples[place], example);
            // A job that replaces itself stays where it is.
            if self.places.get(&old.job) == Some(&place) && self.examples[place].job != old.job {
                self.places.remove(&old.job);
            }
        } else {
            self.examples.push(example);
        }
    }

    /// Replaces what is kept of the same job; gives the example back if nothing is.
    fn replace(&mut self, example: Example) -> Option<Example> {
        match self.places.get(&example.job) {
            Some(&place) => {
                self.examples[place] = example;
                None
            }
            None => Some(example),
        }
    }

    fn from_list(examples: Vec<Example>) -> Self {
        let places = examples.iter().enumerate().map(|(place, example)| (example.job, place)).collect();
        Self { examples, places }
    }
}

/// The newest samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Replay {
    shelf: Shelf,
    oldest: usize,
    capacity: usize,
}

impl Replay {
    pub(super) fn new(options: &Options) -> Self {
        Self { shelf: Shelf::default(), oldest: 0, capacity: options.replay_capacity }
    }

    pub(super) fn len(&self) -> usize {
        self.shelf.examples.len()
    }

    pub(super) fn push(&mut self, example: Example) {
        let Some(example) = self.shelf.replace(example) else { return };
        let length = self.len();
        if length < self.capacity {
            self.shelf.put(length, example);
        } else {
            self.shelf.put(self.oldest, example);
            self.oldest = (self.oldest + 1) % length;
        }
    }

    /// One of them. Counted from the oldest: where the ring begins must not matter.
    pub(super) fn draw(&self, random: &mut Random) -> Option<&Example> {
        let length = self.len();
        let place = usize::try_from(random.below(length as u64)).ok()?;
        self.shelf.examples.get((self.oldest + place) % length.max(1))
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        let (newer, older) = self.shelf.examples.split_at(self.oldest);
        writer.count(self.len());
        older.iter().chain(newer).for_each(|example| example.write(writer));
    }

    pub(super) fn read(
        options: &Options,
        expansion: &Expansion,
        reader: &mut Reader<'_>,
    ) -> Result<Self, LearnerError> {
        let mut examples = Example::list(expansion, reader)?;
        examples.drain(..examples.len().saturating_sub(options.replay_capacity));
        Ok(Self { shelf: Shelf::from_list(examples), ..Self::new(options) })
    }
}

/// A fair draw of the held-out samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldOut {
    shelf: Shelf,
    seen: u64,
    capacity: usize,
}

impl HeldOut {
    pub(super) fn new(options: &Options) -> Self {
        Self { shelf: Shelf::default(), seen: 0, capacity: options.held_out_capacity }
    }

    pub(super) fn add(&mut self, example: Example, random: &mut Random) {
        let Some(example) = self.shelf.replace(example) else { return };
        self.seen += 1;
        if let Some(place) = random.place(self.seen, self.capacity) {
            self.shelf.put(place, example);
        }
    }

    pub(super) fn examples(&self) -> &[Example] {
        &self.shelf.examples
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.unsigned(self.seen);
        writer.count(self.shelf.examples.len());
        self.shelf.examples.iter().for_each(|example| example.write(writer));
    }

    pub(super) fn read(
        options: &Options,
        expansion: &Expansion,
        reader: &mut Reader<'_>,
    ) -> Result<Self, LearnerError> {
        let seen = reader.tally()?;
        let mut examples = Example::list(expansion, reader)?;
        examples.truncate(options.held_out_capacity);
        Ok(Self { shelf: Shelf::from_list(examples), seen, ..Self::new(options) })
    }
}

impl Example {
    fn write(&self, writer: &mut Writer) {
        writer.unsigned(self.job);
        writer.numbers(&self.features);
        writer.number(self.label);
    }

    fn list(expansion: &Expansion, reader: &mut Reader<'_>) -> Result<Vec<Self>, LearnerError> {
        let names = expansion.base().features();
        reader.list(names.len() + 2, |reader| {
            let (job, features, label) = (reader.unsigned()?, reader.numbers(names.len())?, reader.number()?);
            admit_row(names, &features, label).map_err(|refusal| damaged(refusal.to_string()))?;
            let row = expansion.row(&features);
            Ok(Self { job, features, label, row })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(job: u64, label: f64) -> Example {
        Example { job, features: vec![0.5], label, row: Row { points: 1.0, along: vec![1.0] } }
    }

    fn labels(replay: &Replay) -> Vec<f64> {
        let (newer, older) = replay.shelf.examples.split_at(replay.oldest);
        older.iter().chain(newer).map(|example| example.label).collect()
    }

    #[test]
    fn a_full_buffer_drops_its_oldest() {
        let mut replay = Replay::new(&Options { replay_capacity: 3, ..Options::default() });
        (0..5_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        assert_eq!(labels(&replay), [2.0, 3.0, 4.0]);
        assert_eq!(replay.shelf.places.len(), 3);
    }

    #[test]
    fn a_job_that_is_labelled_again_replaces_its_label() {
        let mut replay = Replay::new(&Options { replay_capacity: 3, ..Options::default() });
        (0..4_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        replay.push(example(2, 99.0));
        assert_eq!(labels(&replay), [1.0, 99.0, 3.0]);
        // Dropped long ago, so it is new.
        replay.push(example(0, 50.0));
        assert_eq!(labels(&replay), [99.0, 3.0, 50.0]);
    }

    #[test]
    fn held_out_samples_are_bounded_and_relabelled_too() {
        let mut held_out = HeldOut::new(&Options { held_out_capacity: 10, ..Options::default() });
        let mut random = Random::new(3);
        (0..1000_u32).for_each(|job| held_out.add(example(job.into(), 1.0), &mut random));
        assert_eq!((held_out.examples().len(), held_out.shelf.places.len(), held_out.seen), (10, 10, 1000));
        let kept = held_out.examples()[4].job;
        held_out.add(example(kept, 77.0), &mut random);
        assert_eq!((held_out.examples()[4].label, held_out.seen), (77.0, 1000));
        assert!(held_out.examples().iter().any(|example| example.job > 500), "not only the first");
    }

    #[test]
    fn every_kept_sample_is_drawn() {
        let mut replay = Replay::new(&Options { replay_capacity: 5, ..Options::default() });
        assert_eq!(replay.draw(&mut Random::new(0)), None);
        (0..8_u32).for_each(|job| replay.push(example(job.into(), job.into())));
        let mut random = Random::new(1);
        let drawn: std::collections::BTreeSet<u64> =
            (0..200).map(|_| replay.draw(&mut random).unwrap().job).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }
}
