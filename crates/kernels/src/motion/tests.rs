//! Kernels of instruction sets against the specification: sums of all rows of pictures.

use super::*;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
}

/// Four frames of one kind, with random samples behind the ends of rows.
fn frames<T: PlaneSample + TryFrom<u64>>(kind: usize, stride: usize, height: usize, max: u64) -> Vec<Vec<T>> {
    let mut random = Random(kind as u64 + stride as u64 * 977 + 1);
    let mut frame = |index: usize| {
        let samples = (0..stride * height).map(|position| {
            let sample = match kind {
                0 => random.next() % (max + 1),
                1 => [0, max][(random.next() % 2) as usize],
                // Whole frames of black and white: blurred differences do not fit into 16 bits.
                2 => [0, max][index % 2],
                // Of which one is the largest that does.
                3 => [0, max / 2, max, max / 2 + 1][index % 4],
                _ => (position as u64 % (max / 2) + random.next() % 4 + index as u64).min(max),
            };
            T::try_from(sample).unwrap_or_default()
        });
        samples.collect()
    };
    (0..4).map(&mut frame).collect()
}

fn equal<T: PlaneSample + TryFrom<u64>>(depth: u32, sizes: impl Iterator<Item = (usize, usize)>) {
    for (width, height) in sizes {
        for kind in 0..5 {
            let stride = width + (width + kind) % 23;
            let frames = frames::<T>(kind, stride, height, (1 << depth) - 1);
            let sads = |instruction_set| {
                let options = MotionOptions::default();
                let config = MotionConfig { width, height, depth, options, instruction_set };
                let mut motion = Motion::new(&config).unwrap();
                for frame in &frames {
                    motion.push(&Plane::new(frame, stride, width, height).unwrap()).unwrap();
                }
                motion.series().sads().iter().map(|sad| sad.to_bits()).collect::<Vec<_>>()
            };
            for set in InstructionSet::available().skip(1) {
                let what = format!("{width}x{height} {depth} {kind} {set}");
                assert_eq!(sads(set), sads(InstructionSet::Scalar), "{what}");
            }
        }
    }
}

#[test]
fn pictures_of_all_sizes_equal_the_specification() {
    let sizes = || (3..300).map(|width| (width, 3 + width % 11)).chain((3..60).map(|height| (21, height)));
    equal::<u8>(8, sizes());
    for depth in [9, 10, 12, 13, 16] {
        equal::<u16>(depth, sizes().skip(depth as usize % 3).step_by(3));
    }
}
