//! VIF of several distorted pictures in one pass, and by several threads.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use std::sync::Mutex;
use std::thread;

use rstest::rstest;
use support::picture::{Content, Level, StoredPlane, distort};
use vmafx_kernels::{InstructionSet, Plane, Sequential, Task, TaskRunner, Vif, VifConfig, VifSums};

const GAIN_LIMITS: [f64; 2] = [100.0, 1.0];

fn config(size: (usize, usize), depth: u32, limit: f64, instruction_set: InstructionSet) -> VifConfig {
    VifConfig { width: size.0, height: size.1, depth, enhancement_gain_limit: limit, instruction_set }
}

/// Runs tasks with so many threads.
struct Threads(usize);

impl TaskRunner for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn run(&mut self, tasks: Vec<Task<'_>>) {
        let tasks = Mutex::new(tasks.into_iter());
        let work = || {
            loop {
                let task = tasks.lock().unwrap().next();
                let Some(task) = task else { return };
                task();
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(work);
            }
        });
    }
}

/// The sums of each distorted picture, measured alone by the specification.
fn separately<T: Level>(
    size: (usize, usize),
    depth: u32,
    limit: f64,
    reference: &Plane<'_, T>,
    distorted: &[Plane<'_, T>],
) -> Vec<[VifSums; 4]> {
    let mut vif = Vif::new(&config(size, depth, limit, InstructionSet::Scalar)).unwrap();
    let alone = |distorted| {
        vif.measure(reference, distorted).unwrap();
        vif.sums()[0]
    };
    distorted.iter().map(alone).collect()
}

fn assert_equal<T: Level>(content: Content, size: (usize, usize), depth: u32) {
    let [picture, other] = [content, Content::Fractal].map(|content| content.draw(size.0, size.1, depth, 1));
    let pictures = [&picture, &distort(&picture, 0.8, 3, 1), &distort(&other, 1.9, 0, 1), &other];
    let stored = pictures.map(|picture| picture.planes[0].store::<T>(1 + size.0 % 7));
    let [reference, first, second, third] = stored.each_ref().map(StoredPlane::plane);
    let distorted = [first, second, reference, third, first];
    for limit in GAIN_LIMITS {
        let expected = separately(size, depth, limit, &reference, &distorted);
        for set in InstructionSet::available() {
            let mut vif = Vif::new(&config(size, depth, limit, set)).unwrap();
            // Buffers are left from more and from fewer pictures and threads.
            for (pictures, threads) in [(5, 1), (2, 3), (1, 2), (4, 2), (1, 1), (5, 4)] {
                let sums = match threads {
                    1 => vif.measure_all(&reference, &distorted[..pictures], &mut Sequential),
                    _ => vif.measure_all(&reference, &distorted[..pictures], &mut Threads(threads)),
                };
                assert_eq!(sums.unwrap().len(), pictures);
                let what =
                    format!("{set}, {content:?} {size:?} {depth} bit, limit {limit}, {pictures}, {threads}");
                assert_eq!(vif.sums(), &expected[..pictures], "{what}");
            }
        }
    }
}

#[rstest]
fn pictures_measured_together_have_the_sums_of_the_specification_alone(
    #[values((16, 16), (33, 47), (129, 99), (241, 130), (300, 161))] size: (usize, usize),
    #[values(Content::Natural, Content::Random, Content::Blocks)] content: Content,
) {
    assert_equal::<u8>(content, size, 8);
    assert_equal::<u16>(content, size, 10);
    assert_equal::<u16>(content, size, 16);
}

#[test]
fn no_distorted_picture_is_no_score() {
    let stored = Content::Natural.draw(32, 32, 8, 1).planes[0].store::<u8>(0);
    for set in InstructionSet::available() {
        let mut vif = Vif::new(&config((32, 32), 8, 100.0, set)).unwrap();
        assert_eq!(vif.measure_all(&stored.plane(), &[], &mut Sequential).unwrap(), []);
    }
}
