//! The results as a table. Pure.

use std::fmt::Write as _;

use comfy_table::Cell;
use vmafx_job::Feature;
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::report::pooling::Pooled;
use vmafx_scoring::report::{ScoreSummary, shots, wording};

use crate::terminal::Look;

struct Column {
    name: &'static str,
    value: fn(&Pooled) -> f64,
    /// Whether the column is also shown on a narrow terminal.
    narrow: bool,
}

const COLUMNS: [Column; 9] = [
    Column { name: "Mean", value: |pooled| pooled.mean, narrow: true },
    Column { name: "Harmonic", value: |pooled| pooled.harmonic_mean, narrow: false },
    Column { name: "Std dev", value: |pooled| pooled.stddev, narrow: false },
    Column { name: "Min", value: |pooled| pooled.min.value, narrow: true },
    Column { name: "p1", value: |pooled| pooled.p1.value, narrow: true },
    Column { name: "p5", value: |pooled| pooled.p5.value, narrow: true },
    Column { name: "p10", value: |pooled| pooled.p10.value, narrow: false },
    Column { name: "p50", value: |pooled| pooled.p50.value, narrow: true },
    Column { name: "Max", value: |pooled| pooled.max.value, narrow: false },
];

/// The clip, the name of the model or feature, and its pooled values.
type PooledRow<'a> = (&'a str, &'a str, &'a Pooled);

/// The inputs, the scores, and the features that were requested.
pub(super) fn render(
    results: &[(&ScoringOutcome, ScoreSummary)],
    requested: &[Feature],
    look: Look,
) -> String {
    let mut text = inputs(results);
    text.push('\n');
    let clips = wording::clip_names(results.iter().map(|(outcome, _)| *outcome));
    text.push_str(&scores(&clips, results, look));
    let features = features(&clips, results, requested, look);
    if !features.is_empty() {
        let _ = write!(text, "\n{features}");
    }
    for reason in selection_reasons(results) {
        let _ = write!(text, "\n{reason}\n");
    }
    text
}

/// The inputs and their alignment, which is shown once if it is the same for all clips.
fn inputs(results: &[(&ScoringOutcome, ScoreSummary)]) -> String {
    let mut text = String::new();
    let Some((first, _)) = results.first() else { return text };
    let _ = writeln!(
        text,
        "Reference  {} ({})",
        first.reference.path.display(),
        wording::input(&first.reference)
    );
    let alignments: Vec<String> =
        results.iter().map(|(outcome, _)| wording::alignment(&outcome.alignment)).collect();
    let same = alignments.iter().all(|alignment| *alignment == alignments[0]);
    for ((outcome, _), alignment) in results.iter().zip(&alignments) {
        let distorted = &outcome.distorted;
        let _ = writeln!(text, "Distorted  {} ({})", distorted.path.display(), wording::input(distorted));
        if !same {
            let _ = writeln!(text, "Compared   {alignment}");
        }
    }
    if same {
        let _ = writeln!(text, "Compared   {}", alignments[0]);
    }
    text
}

fn scores(clips: &[String], results: &[(&ScoringOutcome, ScoreSummary)], look: Look) -> String {
    let rows: Vec<PooledRow<'_>> = clips
        .iter()
        .zip(results)
        .flat_map(|(clip, (_, summary))| {
            summary.models.iter().map(|model| (clip.as_str(), model.name.as_str(), &model.pooled))
        })
        .collect();
    let ladder = results.len() > 1;
    let mut text = draw("Model", &rows, ladder, 2, look);
    for (clip, (_, summary)) in clips.iter().zip(results) {
        for (model, interval) in summary.models.iter().filter_map(|model| Some((model, model.ci95?))) {
            let prefix = if ladder { format!("{clip}: ") } else { String::new() };
            let _ = writeln!(
                text,
                "{prefix}{} is between {:.2} and {:.2} with 95 % confidence",
                model.name, interval.low, interval.high
            );
        }
    }
    for (clip, (outcome, _)) in clips.iter().zip(results) {
        if let Some(shots) = wording::shots(&shots::of(outcome)) {
            let prefix = if ladder { format!("{clip}: ") } else { String::new() };
            let _ = writeln!(text, "{prefix}{shots}");
        }
    }
    text
}

fn features(
    clips: &[String],
    results: &[(&ScoringOutcome, ScoreSummary)],
    requested: &[Feature],
    look: Look,
) -> String {
    let rows: Vec<PooledRow<'_>> = clips
        .iter()
        .zip(results)
        .flat_map(|(clip, (_, summary))| {
            summary.features.iter().map(|(name, pooled)| (clip.as_str(), name.as_str(), pooled))
        })
        .filter(|(_, name, _)| requested.iter().any(|feature| is_part_of(*feature, name)))
        .collect();
    if rows.is_empty() { String::new() } else { draw("Feature", &rows, results.len() > 1, 4, look) }
}

/// Draws all columns if they fit, otherwise the most important ones.
fn draw(subject: &str, rows: &[PooledRow<'_>], ladder: bool, decimals: usize, look: Look) -> String {
    let table = |narrow: bool| {
        let columns = || COLUMNS.iter().filter(move |column| column.narrow || !narrow);
        let texts: Vec<&str> = ladder.then_some("Clip").into_iter().chain([subject]).collect();
        let header: Vec<&str> =
            texts.iter().copied().chain(columns().map(|column| column.name)).chain(["Worst frame"]).collect();
        let mut table = look.table(&header, texts.len());
        for (clip, name, pooled) in rows {
            let number = |column: &Column| {
                let cell = Cell::new(format!("{:.decimals$}", (column.value)(pooled)));
                if column.name == "Mean" { look.bold(cell) } else { cell }
            };
            let clip = ladder.then(|| Cell::new(clip));
            let cells = clip.into_iter().chain([Cell::new(name)]).chain(columns().map(number));
            table.add_row(cells.chain([Cell::new(pooled.min.frame)]));
        }
        table
    };
    let wide = table(false);
    let table = if look.fits(&wide) { wide } else { table(true) };
    format!("{}\n", table.trim_fmt())
}

/// Whether libvmaf's metric `name` is computed for `feature`.
fn is_part_of(feature: Feature, name: &str) -> bool {
    match feature {
        Feature::Psnr => matches!(name, "psnr_y" | "psnr_cb" | "psnr_cr"),
        Feature::Ssim => name == "float_ssim",
        Feature::MsSsim => name == "float_ms_ssim",
        Feature::Cambi => name == "cambi",
        Feature::Ciede => name == "ciede2000",
        Feature::PsnrHvs => name.starts_with("psnr_hvs"),
    }
}

/// Why `auto` selected a model, each reason once.
fn selection_reasons(results: &[(&ScoringOutcome, ScoreSummary)]) -> Vec<String> {
    let mut reasons: Vec<String> = vec![];
    for model in results.iter().flat_map(|(_, summary)| &summary.models) {
        let Some(because) = &model.picked_because else { continue };
        let sentence = format!("{} was picked because {because}", model.name);
        if !reasons.contains(&sentence) {
            reasons.push(sentence);
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use vmafx_scoring::shots::Shot;

    use super::*;
    use crate::score::example::outcome;

    fn text(outcomes: &[ScoringOutcome], requested: &[Feature]) -> String {
        let results: Vec<_> =
            outcomes.iter().map(|outcome| (outcome, ScoreSummary::of(outcome).unwrap())).collect();
        render(&results, requested, Look::PLAIN)
    }

    #[test]
    fn one_clip_has_a_row_for_each_model_below_the_inputs() {
        let text = text(&[outcome("encodes/dis.mp4", &[90.0, 70.0, 80.0])], &[]);
        let expected = "\
Reference  ref.mp4 (h264, 1920x1080 yuv420p 8 bit, 25 fps, 3 frames)
Distorted  encodes/dis.mp4 (h264, 1920x1080 yuv420p 8 bit, 25 fps, 3 frames)
Compared   1920x1080 yuv420p 8 bit, every frame

 Model         Mean   Harmonic   Std dev     Min      p1      p5     p10     p50     Max   Worst frame
────────────────────────────────────────────────────────────────────────────────────────────────────────
 vmaf_v0.6.1  80.00      79.17        8.16   70.00   70.20   71.00   72.00   80.00   90.00             1

vmaf_v0.6.1 was picked because it fits
";
        assert_eq!(squeezed(&text), squeezed(expected), "{text}");
    }

    /// The lines without rulers and with single spaces: this test checks the content, not the layout.
    fn squeezed(text: &str) -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).filter(|line| !line.starts_with('─')).collect()
    }

    #[test]
    fn a_ladder_names_the_clip_in_every_row() {
        let text = text(&[outcome("a/x.mp4", &[90.0]), outcome("a/y.mp4", &[80.0])], &[]);
        let rows: Vec<_> = squeezed(&text);
        assert!(rows.iter().any(|row| row.starts_with("x.mp4 vmaf_v0.6.1 90.00 ")), "{text}");
        assert!(rows.iter().any(|row| row.starts_with("y.mp4 vmaf_v0.6.1 80.00 ")), "{text}");
        assert_eq!(text.matches("was picked").count(), 1);
    }

    #[test]
    fn a_narrow_terminal_shows_the_most_important_columns_unwrapped() {
        let outcome = outcome("x.mp4", &[90.0]);
        let results = [(&outcome, ScoreSummary::of(&outcome).unwrap())];
        let text = scores(&["x.mp4".to_owned()], &results, Look { styled: false, width: Some(70) });
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("p1") && !text.contains("Harmonic"), "{text}");
    }

    #[test]
    fn a_clip_with_cuts_names_its_worst_shot() {
        let mut cut = outcome("x.mp4", &[90.0, 80.0]);
        cut.shots = vec![Shot { first_frame: 0, frames: 1 }, Shot { first_frame: 1, frames: 1 }];
        let text = text(&[cut, outcome("y.mp4", &[80.0])], &[]);
        assert!(text.lines().any(|line| line == "x.mp4: 2 shots, worst 0.0 s to 0.1 s: 80.00"), "{text}");
        assert_eq!(text.matches("shots").count(), 1, "{text}");
    }

    #[test]
    fn only_requested_features_are_shown() {
        let outcomes = [outcome("x.mp4", &[90.0])];
        assert!(!text(&outcomes, &[]).contains("psnr_y"));
        let with = text(&outcomes, &[Feature::Psnr]);
        assert!(with.contains("psnr_y") && !with.contains("adm2"), "{with}");
    }
}
