//! Our kernels against libvmaf, value by value and bit by bit, on clips of every kind.
//!
//! A case is determined by its seed: the content, the size, the depth and chroma format, the models, and how the clips are
//! scored (threads, chunks, frame step, ladder). The values of libvmaf are those of each pair of whole clips, scored alone and
//! by one thread. A case of [`planes`] gives the kernels planes that no clip has: luma only, and rows with padding.
//!
//! `make test` runs a fixed set of cases. The long run draws cases until its time is over:
//!
//! ```sh
//! make test ONLY=differential
//! ```

mod case;
mod planes;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vmafx_job::{BitDepth, PixelFormat};

use self::case::{Case, Source};
use crate::support::picture::Random;

/// The seed of the first case. That of a case reproduces it.
const SEED: &str = "VMAFX_DIFFERENTIAL_SEED";
/// The time after which no further case starts. At least one case runs.
const SECONDS: &str = "VMAFX_DIFFERENTIAL_SECONDS";
const DEFAULT_SECONDS: u64 = 3600;

/// The values of one clip by name, as bits.
pub(crate) type Values = Vec<(String, Vec<u64>)>;

/// What the comparisons found.
#[derive(Default)]
pub(crate) struct Tally {
    cases: u64,
    comparisons: u64,
    differences: u64,
    refusals: u64,
    /// Cases that stopped with a panic, or that only one engine refused.
    failures: u64,
    names: BTreeSet<String>,
}

/// Written past the capture of the test harness.
fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

impl Tally {
    /// Counts the values of a clip, and prints the first difference of each.
    pub(crate) fn compare(&mut self, what: &str, frames: &[u64], theirs: &Values, ours: &Values) {
        let names = |values: &Values| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if names(theirs) != names(ours) {
            self.fail(what, &format!("libvmaf has {:?}, the kernels {:?}", names(theirs), names(ours)));
            return;
        }
        for ((name, theirs), (_, ours)) in theirs.iter().zip(ours) {
            if theirs.len() != ours.len() {
                self.fail(what, &format!("{} values of {name} instead of {}", ours.len(), theirs.len()));
                continue;
            }
            self.comparisons += theirs.len() as u64;
            let differing: Vec<_> =
                (0..theirs.len()).filter(|index| theirs[*index] != ours[*index]).collect();
            self.differences += differing.len() as u64;
            if let Some(&first) = differing.first() {
                self.names.insert(name.clone());
                let value = |bits: u64| format!("{} ({bits:#018x})", f64::from_bits(bits));
                // A confidence interval is two values per frame.
                let frame = frames[first * frames.len() / theirs.len()];
                print(&format!(
                    "DIFFERENCE in {name} of frame {frame}, {} of {} values: libvmaf {}, kernels {}; {what}",
                    differing.len(),
                    theirs.len(),
                    value(theirs[first]),
                    value(ours[first]),
                ));
            }
        }
    }

    pub(crate) fn refused(&mut self) {
        self.refusals += 1;
    }

    pub(crate) fn fail(&mut self, what: &str, problem: &str) {
        self.failures += 1;
        print(&format!("FAILURE: {problem}; {what}"));
    }

    fn run(&mut self, what: &str, run: impl FnOnce(&mut Self)) {
        self.cases += 1;
        if catch_unwind(AssertUnwindSafe(|| run(self))).is_err() {
            self.fail(what, "it panicked");
        }
    }

    fn summary(&self) -> String {
        let Self { cases, comparisons, differences, refusals, failures, names } = self;
        format!(
            "{comparisons} comparisons in {cases} cases, {refusals} refusals by both engines, {failures} failures, \
             {differences} differences{}",
            if names.is_empty() { String::new() } else { format!(" in {names:?}") }
        )
    }

    fn assert_equal(&self) {
        assert!(self.differences + self.failures == 0, "{}", self.summary());
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    Some(parsed.unwrap_or_else(|_| panic!("{variable} is {text:?}, not a number")))
}

#[test]
#[ignore = "takes an hour: make test ONLY=differential runs it"]
fn random_clips_have_the_bits_of_libvmaf() {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut seed = number(SEED).unwrap_or_else(|| Random::new(clock()).next());
    let time = Duration::from_secs(number(SECONDS).unwrap_or(DEFAULT_SECONDS));
    print(&format!("{SEED}={seed:#x}, {SECONDS}={}", time.as_secs()));
    let (start, mut tally, mut minutes) = (Instant::now(), Tally::default(), 0);
    loop {
        // One in four.
        if seed >> 62 == 0 {
            let case = planes::Case::random(seed);
            tally.run(&case.to_string(), |tally| case.run(tally));
        } else {
            let case = Case::random(seed);
            tally.run(&case.to_string(), |tally| case.run(tally));
        }
        seed = Random::new(seed).next();
        if start.elapsed() >= time {
            break;
        }
        if start.elapsed().as_secs() / 60 > minutes {
            minutes = start.elapsed().as_secs() / 60;
            print(&format!("after {minutes} minutes: {}", tally.summary()));
        }
    }
    print(&tally.summary());
    tally.assert_equal();
}

/// All built-in models on every source, depth and chroma format, with threads, chunks, frame steps and ladders in turn.
#[test]
fn a_fixed_set_of_clips_has_the_bits_of_libvmaf() {
    let mut tally = Tally::default();
    let chroma = [PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p];
    let depths = [BitDepth::Eight, BitDepth::Ten, BitDepth::Twelve, BitDepth::Sixteen];
    let formats: Vec<_> = depths.into_iter().flat_map(|depth| chroma.map(|chroma| (depth, chroma))).collect();
    let clips = Source::all().flat_map(|source| formats.iter().map(move |format| (source, *format)));
    for (seed, (source, (depth, chroma))) in (0..).zip(clips) {
        let case = Case::fixed(seed, source, depth, chroma);
        tally.run(&case.to_string(), |tally| case.run(tally));
        let case = planes::Case::random(seed);
        tally.run(&case.to_string(), |tally| case.run(tally));
    }
    print(&tally.summary());
    tally.assert_equal();
}
