//! One row per frame: `Frame` and one column per metric, named as in libvmaf's CSV.
//!
//! Unlike libvmaf's, lines have no trailing comma, which spreadsheets take for an empty column, and numbers have all their
//! digits. A ladder has a first column `Distorted` with the clip.

use std::io::{self, Write};

use crate::report::metrics::{self, Metric};
use crate::report::summary::ScoreSummary;
use crate::report::{ReportError, ScoringReport};

pub fn write(report: &ScoringReport<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    // Refuses a score that is not a number, as every writer does.
    for outcome in report.outcomes {
        ScoreSummary::of(outcome)?;
    }
    let tables: Vec<_> = report.outcomes.iter().map(|outcome| (outcome, metrics::of(outcome))).collect();
    let ladder = tables.len() > 1;
    let keys = all_keys(tables.iter().map(|(_, metrics)| metrics.as_slice()));

    let header =
        ladder.then_some("Distorted").into_iter().chain(["Frame"]).chain(keys.iter().map(String::as_str));
    write_row(out, header.map(quoted))?;
    for (outcome, metrics) in &tables {
        let columns: Vec<_> =
            keys.iter().map(|key| metrics.iter().find(|metric| metric.key == *key)).collect();
        let name = ladder.then(|| quoted(&outcome.distorted.path.display().to_string()));
        for (row, frame) in outcome.frames.iter().enumerate() {
            let value = |column: Option<&Metric<'_>>| {
                column.and_then(|metric| metric.values.get(row)).map(f64::to_string).unwrap_or_default()
            };
            let cells =
                name.iter().cloned().chain([frame.to_string()]).chain(columns.iter().copied().map(value));
            write_row(out, cells)?;
        }
    }
    Ok(())
}

/// The names of all columns without duplicates, in the order of their first appearance.
fn all_keys<'a>(tables: impl Iterator<Item = &'a [Metric<'a>]>) -> Vec<String> {
    let mut keys: Vec<String> = vec![];
    for metric in tables.flatten() {
        if !keys.contains(&metric.key) {
            keys.push(metric.key.clone());
        }
    }
    keys
}

fn write_row(out: &mut dyn Write, cells: impl Iterator<Item = String>) -> io::Result<()> {
    for (index, cell) in cells.enumerate() {
        write!(out, "{}{cell}", if index == 0 { "" } else { "," })?;
    }
    writeln!(out)
}

/// Quotes a cell if necessary (RFC 4180).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ScoringOutcome;
    use crate::report::example::outcome;

    fn text(outcomes: &[ScoringOutcome]) -> String {
        let mut out = vec![];
        write(&ScoringReport { outcomes, speed: None }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_row_per_frame_with_every_digit() {
        assert_eq!(
            text(&[outcome("dis.mp4", &[90.0, 1.0 / 3.0])]),
            "Frame,integer_adm2,integer_motion2,psnr_y,vmaf\n\
             0,0.9,9,45,90\n\
             1,0.003333333333333333,0.03333333333333333,0.16666666666666666,0.3333333333333333\n"
        );
    }

    #[test]
    fn a_ladder_names_the_clip_in_every_row_and_quotes_it() {
        let text = text(&[outcome("a,b.mp4", &[90.0]), outcome("c\"d.mp4", &[80.0])]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("Distorted,Frame,"), "{text}");
        assert!(lines[1].starts_with("\"a,b.mp4\",0,"), "{text}");
        assert!(lines[2].starts_with("\"c\"\"d.mp4\",0,"), "{text}");
    }

    #[test]
    fn a_metric_that_one_clip_lacks_is_an_empty_cell() {
        let mut without = outcome("b.mp4", &[80.0]);
        without.features.remove("psnr_y");
        let text = text(&[outcome("a.mp4", &[90.0]), without]);
        assert_eq!(text.lines().nth(2), Some("b.mp4,0,0.8,8,,80"));
    }
}
