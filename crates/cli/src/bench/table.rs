//! The results as a table, and as one sentence. Pure.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::result::{BenchResult, BenchSize, EngineSpeed, Machine};
use crate::terminal::Look;

/// The size that the sentence is about, if it was measured.
const USUAL_SIZE: BenchSize = BenchSize { width: 1920, height: 1080 };

pub(super) fn render(machine: &Machine, results: &[BenchResult], look: Look, wide: bool) -> String {
    let Machine { cpu, cores, native, vmafx, libvmaf, threads, pixel_format } = machine;
    let cores = plural(*cores, "core");
    let threads = plural(*threads as usize, "thread");
    let mut text = format!(
        "Machine  {cpu}, {cores}\n\
         Engines  {native} of vmafx {vmafx}, and libvmaf {libvmaf}, with {threads}\n\
         Frames   generated, {pixel_format}, in memory; both engines gave the same scores\n\n"
    );
    let _ = writeln!(text, "{}", speeds(machine, results, look, wide));
    let usual = results.iter().find(|result| result.size == USUAL_SIZE).or(results.first());
    if let Some(result) = usual {
        let _ = write!(text, "\n{}\n", sentence(native, result));
    }
    text
}

fn speeds(machine: &Machine, results: &[BenchResult], look: Look, wide: bool) -> String {
    let mut header = vec!["Model", "Size", "native fps/core", "libvmaf fps/core", "Speed-up"];
    let with_wall = wide || machine.threads > 1;
    if with_wall {
        header.extend(["native fps", "libvmaf fps"]);
    }
    if wide {
        header.extend(["native ms/frame", "libvmaf ms/frame", "Mean score"]);
    }
    let mut table = look.table(&header, 2);
    for result in results {
        let BenchResult { model, size, native, libvmaf, speedup, mean_score } = result;
        let engines = [native, libvmaf];
        let mut cells = vec![Cell::new(model), Cell::new(format!("{}x{}", size.width, size.height))];
        cells.extend(engines.map(|engine| Cell::new(number(engine.frames_per_cpu_second))));
        cells.push(look.bold(Cell::new(format!("{speedup:.2}x"))));
        if with_wall {
            cells.extend(engines.map(|engine| Cell::new(number(engine.frames_per_second))));
        }
        if wide {
            cells.extend(engines.map(|engine| Cell::new(format!("{:.1}", milliseconds(engine)))));
            cells.push(Cell::new(format!("{mean_score:.2}")));
        }
        table.add_row(cells);
    }
    table.trim_fmt()
}

/// `native-avx512: 41 frames/s per core, libvmaf: 19, 2.1 times as fast (vmaf_v0.6.1 at 1920x1080)`.
fn sentence(engine: &str, result: &BenchResult) -> String {
    let BenchResult { model, size, native, libvmaf, speedup, .. } = result;
    format!(
        "{engine}: {} frames/s per core, libvmaf: {}, {speedup:.1} times as fast ({model} at {}x{})",
        number(native.frames_per_cpu_second),
        number(libvmaf.frames_per_cpu_second),
        size.width,
        size.height
    )
}

/// CPU time.
fn milliseconds(engine: &EngineSpeed) -> f64 {
    1000.0 / engine.frames_per_cpu_second
}

/// With three digits: `3.52`, `19.4`, `412`.
fn number(value: f64) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$}")
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("{count} {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::bench::measure::Round;

    fn machine(threads: u32) -> Machine {
        Machine {
            cpu: "EPYC".to_owned(),
            cores: 2,
            native: "native-avx512".to_owned(),
            vmafx: "0.1.0",
            libvmaf: "3.2.0".to_owned(),
            threads,
            pixel_format: "yuv420p".to_owned(),
        }
    }

    fn result(model: &str, (width, height): (u32, u32), native: f64, libvmaf: f64) -> BenchResult {
        let speed = |engine: &str, fps| EngineSpeed {
            engine: engine.to_owned(),
            frames_per_cpu_second: fps,
            frames_per_second: 2.0 * fps,
            rounds: vec![Round { frames: 4, cpu_seconds: 4.0 / fps, wall_seconds: 2.0 / fps }],
        };
        BenchResult {
            model: model.to_owned(),
            size: BenchSize { width, height },
            native: speed("native-avx512", native),
            libvmaf: speed("libvmaf", libvmaf),
            speedup: native / libvmaf,
            mean_score: 80.0,
        }
    }

    #[test]
    fn the_last_line_tells_the_result_at_1080p() {
        let results = [result("a", (1280, 720), 90.0, 40.0), result("a", (1920, 1080), 41.04, 19.02)];
        let text = render(&machine(1), &results, Look::PLAIN, false);
        let last = text.lines().last().unwrap();
        let expected =
            "native-avx512: 41.0 frames/s per core, libvmaf: 19.0, 2.2 times as fast (a at 1920x1080)";
        assert_eq!(last, expected);
        assert!(!text.contains("native fps "), "one thread has no column of wall-clock time: {text}");
        assert!(!text.contains('\u{1b}'), "no colour without a terminal");
    }

    #[test]
    fn the_sentence_is_about_the_first_row_if_1080p_was_not_measured() {
        let results = [result("a", (1280, 720), 90.0, 40.0)];
        assert!(render(&machine(1), &results, Look::PLAIN, false).ends_with("(a at 1280x720)\n"));
    }

    #[rstest]
    #[case::threads(2, false)]
    #[case::wide(1, true)]
    fn several_threads_and_wide_output_show_wall_clock_time(#[case] threads: u32, #[case] wide: bool) {
        let results = [result("a", (1920, 1080), 41.0, 20.0)];
        let text = render(&machine(threads), &results, Look::PLAIN, wide);
        assert!(text.contains("82.0") && text.contains("40.0"), "{text}");
        assert_eq!(text.contains("24.4") && text.contains("ms/frame"), wide, "{text}");
    }

    #[rstest]
    #[case(3.521, "3.52")]
    #[case(19.44, "19.4")]
    #[case(411.6, "412")]
    fn numbers_have_three_digits(#[case] value: f64, #[case] expected: &str) {
        assert_eq!(number(value), expected);
    }
}
