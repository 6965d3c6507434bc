//! The results as a table for people. Pure: outcomes in, text out.

use std::fmt::Write as _;

use comfy_table::Cell;
use vmafx_job::Feature;
use vmafx_scoring::outcome::Outcome;
use vmafx_scoring::report::pooling::Pooled;
use vmafx_scoring::report::{Summary, wording};

use crate::terminal::Look;

/// A column of pooled numbers.
struct Column {
    name: &'static str,
    value: fn(&Pooled) -> f64,
    /// Whether a narrow terminal shows it as well.
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

/// A row: the clip it is about, the model or feature, and its numbers.
type Row<'a> = (&'a str, &'a str, &'a Pooled);

/// The facts, the scores, and the features that were asked for.
pub(super) fn render(results: &[(&Outcome, Summary)], asked: &[Feature], look: Look) -> String {
    let mut text = facts(results);
    text.push('\n');
    let clips = wording::clip_names(results.iter().map(|(outcome, _)| *outcome));
    text.push_str(&scores(&clips, results, look));
    let features = features(&clips, results, asked, look);
    if !features.is_empty() {
        let _ = write!(text, "\n{features}");
    }
    for why in picked(results) {
        let _ = write!(text, "\n{why}\n");
    }
    text
}

/// The inputs, and how they were compared; once where it was the same for all clips.
fn facts(results: &[(&Outcome, Summary)]) -> String {
    let mut text = String::new();
    let Some((first, _)) = results.first() else { return text };
    let _ = writeln!(
        text,
        "Reference  {} ({})",
        first.reference.path.display(),
        wording::input(&first.reference)
    );
    let compared: Vec<String> =
        results.iter().map(|(outcome, _)| wording::alignment(&outcome.alignment)).collect();
    let alike = compared.iter().all(|words| *words == compared[0]);
    for ((outcome, _), words) in results.iter().zip(&compared) {
        let distorted = &outcome.distorted;
        let _ = writeln!(text, "Distorted  {} ({})", distorted.path.display(), wording::input(distorted));
        if !alike {
            let _ = writeln!(text, "Compared   {words}");
        }
    }
    if alike {
        let _ = writeln!(text, "Compared   {}", compared[0]);
    }
    text
}

fn scores(clips: &[String], results: &[(&Outcome, Summary)], look: Look) -> String {
    let rows: Vec<Row<'_>> = clips
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
            let about = if ladder { format!("{clip}: ") } else { String::new() };
            let _ = writeln!(
                text,
                "{about}{} is between {:.2} and {:.2} with 95 % confidence",
                model.name, interval.low, interval.high
            );
        }
    }
    text
}

fn features(clips: &[String], results: &[(&Outcome, Summary)], asked: &[Feature], look: Look) -> String {
    let rows: Vec<Row<'_>> = clips
        .iter()
        .zip(results)
        .flat_map(|(clip, (_, summary))| {
            summary.features.iter().map(|(name, pooled)| (clip.as_str(), name.as_str(), pooled))
        })
        .filter(|(_, name, _)| asked.iter().any(|feature| belongs(*feature, name)))
        .collect();
    if rows.is_empty() { String::new() } else { draw("Feature", &rows, results.len() > 1, 4, look) }
}

/// All columns where they fit, the most telling ones where they do not.
fn draw(what: &str, rows: &[Row<'_>], ladder: bool, decimals: usize, look: Look) -> String {
    let table = |narrow: bool| {
        let columns = || COLUMNS.iter().filter(move |column| column.narrow || !narrow);
        let texts: Vec<&str> = ladder.then_some("Clip").into_iter().chain([what]).collect();
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
    let whole = table(false);
    let table = if look.holds(&whole) { whole } else { table(true) };
    format!("{}\n", table.trim_fmt())
}

/// Whether a column of the result is part of a feature that was asked for.
fn belongs(feature: Feature, name: &str) -> bool {
    match feature {
        Feature::Psnr => matches!(name, "psnr_y" | "psnr_cb" | "psnr_cr"),
        Feature::Ssim => name == "float_ssim",
        Feature::MsSsim => name == "float_ms_ssim",
        Feature::Cambi => name == "cambi",
        Feature::Ciede => name == "ciede2000",
        Feature::PsnrHvs => name.starts_with("psnr_hvs"),
    }
}

/// Why `auto` picked what it picked, each reason once.
fn picked(results: &[(&Outcome, Summary)]) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for model in results.iter().flat_map(|(_, summary)| &summary.models) {
        let Some(because) = &model.picked_because else { continue };
        let sentence = format!("{} was picked because {because}", model.name);
        if !all.contains(&sentence) {
            all.push(sentence);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::example::outcome;

    fn text(outcomes: &[Outcome], asked: &[Feature]) -> String {
        let results: Vec<_> =
            outcomes.iter().map(|outcome| (outcome, Summary::of(outcome).unwrap())).collect();
        render(&results, asked, Look::PLAIN)
    }

    #[test]
    fn one_clip_is_a_row_for_each_model_and_the_facts_above() {
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

    /// Runs of spaces and lines as one: the layout is the table's business, the content ours.
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
    fn a_narrow_terminal_shows_the_most_telling_columns_unbroken() {
        let outcome = outcome("x.mp4", &[90.0]);
        let results = [(&outcome, Summary::of(&outcome).unwrap())];
        let text = scores(&["x.mp4".to_owned()], &results, Look { styled: false, width: Some(70) });
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("p1") && !text.contains("Harmonic"), "{text}");
    }

    #[test]
    fn only_features_that_were_asked_for_are_shown() {
        let outcomes = [outcome("x.mp4", &[90.0])];
        assert!(!text(&outcomes, &[]).contains("psnr_y"));
        let with = text(&outcomes, &[Feature::Psnr]);
        assert!(with.contains("psnr_y") && !with.contains("adm2"), "{with}");
    }
}
