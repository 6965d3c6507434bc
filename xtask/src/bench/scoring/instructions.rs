//! Instructions per frame by callgrind, which no load on the machine disturbs: of both sides, and of each kernel.
//!
//! A run of three frames minus a run of one frame are two frames without the start of the program. Both sides use AVX2, because
//! valgrind knows no AVX-512. The figures have no limit: they explain the CPU time, and show a change that its spread hides.

mod profile;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use self::profile::{FeatureKind, instructions};
use super::clips::{Clips, Content, HD, HD_10_BIT, RawPair, RawShape};
use super::programs::{Programs, bare_command};
use super::{ScoringSetup, V0_AVX2, V1, Vectors};
use crate::bench::figure::Figure;
use crate::bench::measure::run;
use crate::workspace;

const LONG: u32 = 3;
const SHORT: u32 = 1;

struct Case {
    name: &'static str,
    shape: RawShape,
    setup: ScoringSetup,
}

const CASES: [Case; 3] = [
    Case { name: "v0.6.1", shape: HD, setup: V0_AVX2 },
    Case { name: "10-bit", shape: HD_10_BIT, setup: V0_AVX2 },
    Case { name: "v1", shape: HD, setup: ScoringSetup { vectors: Vectors::Avx2, ..V1 } },
];

/// Millions of instructions per frame.
type Millions = BTreeMap<FeatureKind, f64>;

pub(super) fn measure(programs: &Programs, clips: &Clips, report: &mut dyn FnMut(Figure)) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped scoring.instructions-over-libvmaf: there is no valgrind in PATH");
        return Ok(());
    }
    for Case { name, shape, setup } in CASES {
        let pair = clips.raw(Content::Mandelbrot, shape)?;
        let (long, short) = (clips.first(&pair, LONG)?, clips.first(&pair, SHORT)?);
        let theirs = per_frame(&long, &short, |pair| bare_command(pair, setup))?;
        let ours = per_frame(&long, &short, |pair| programs.native_command(pair, setup))?;
        let (our_sum, their_sum): (f64, f64) = (ours.values().sum(), theirs.values().sum());
        let note = format!("{our_sum:.0} and {their_sum:.0} million per frame");
        let figure = format!("scoring.instructions-over-libvmaf.{name}");
        report(Figure::without_limit(figure.clone(), "ratio", vec![our_sum / their_sum]).with_note(note));
        for (kind, theirs) in &theirs {
            let ours = ours.get(kind).copied().unwrap_or_default();
            let note = format!(
                "{ours:.1} and {theirs:.1} million per frame, {:.0} % and {:.0} % of all",
                100.0 * ours / our_sum,
                100.0 * theirs / their_sum
            );
            let figure = format!("{figure}.{}", kind.name());
            report(Figure::without_limit(figure, "ratio", vec![ours / theirs]).with_note(note));
        }
    }
    Ok(())
}

fn per_frame(long: &RawPair, short: &RawPair, command: impl Fn(&RawPair) -> Command) -> Result<Millions> {
    let (mut frames, start) = (callgrind(&command(long))?, callgrind(&command(short))?);
    for (kind, count) in &mut frames {
        let start = start.get(kind).copied().unwrap_or_default();
        *count = (*count - start) / f64::from(LONG - SHORT);
    }
    // A few instructions whose name sounds like that of a feature are none of it.
    frames.retain(|_, millions| *millions > 0.5);
    Ok(frames)
}

/// Runs a program under callgrind.
fn callgrind(program: &Command) -> Result<Millions> {
    let path = workspace::root().join("target/bench/callgrind.out");
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", path.display()));
    command.arg(program.get_program()).args(program.get_args());
    run(&mut command)?;
    let profile = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let by_kind = instructions(&profile).into_iter();
    #[expect(clippy::cast_precision_loss, reason = "a run has less than 2^53 instructions")]
    Ok(by_kind.map(|(kind, count)| (kind, count as f64 / 1e6)).collect())
}
