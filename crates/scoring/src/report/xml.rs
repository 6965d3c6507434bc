//! The XML that `vmaf --xml` and ffmpeg's filter (`log_fmt=xml`) write, element by element and attribute by attribute;
//! `tests/peer.rs` compares the two. Numbers have all their digits instead of six decimals.
//!
//! Several comparisons are one `ladder` element around one `VMAF` element for each clip, which names the clip in an
//! attribute `distorted`.

use std::io::{self, Write};

use vmafx_job::PooledScores;

use crate::outcome::ScoringOutcome;
use crate::report::escape::xml_attribute;
use crate::report::metrics::{self, Metric};
use crate::report::summary::{ScoreSummary, SummaryError};
use crate::report::{ReportError, ScoringReport, pooling};

pub fn write(report: &ScoringReport<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let speed = report.speed.unwrap_or(0.0);
    let [one] = report.outcomes else {
        writeln!(out, "<ladder>")?;
        for outcome in report.outcomes {
            let clip = xml_attribute(&outcome.distorted.path.display().to_string());
            document(outcome, &format!(" distorted=\"{clip}\""), speed, out)?;
        }
        return Ok(writeln!(out, "</ladder>")?);
    };
    document(one, "", speed, out)
}

fn document(
    outcome: &ScoringOutcome,
    clip: &str,
    speed: f64,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    // Refuses a score that is not a number, as every writer does.
    ScoreSummary::of(outcome)?;
    let metrics = metrics::of(outcome);
    let names = attribute_names(&metrics);
    let (version, format) = (xml_attribute(&outcome.engine.libvmaf), outcome.alignment.format);
    writeln!(out, "<VMAF version=\"{version}\"{clip}>")?;
    writeln!(out, "  <params qualityWidth=\"{}\" qualityHeight=\"{}\" />", format.width, format.height)?;
    writeln!(out, "  <fyi fps=\"{speed:.2}\" />")?;
    frames(outcome, &metrics, &names, out)?;
    writeln!(out, "  <pooled_metrics>")?;
    for (metric, name) in metrics.iter().zip(&names) {
        let pooled = pooling::pool(&outcome.frames, &metric.values)
            .map_err(|source| SummaryError::Pooling { name: metric.key.clone(), source })?;
        let PooledScores { min, max, mean, harmonic_mean, .. } = PooledScores::from(&pooled);
        writeln!(
            out,
            "    <metric name=\"{name}\" min=\"{min}\" max=\"{max}\" mean=\"{mean}\" harmonic_mean=\"{harmonic_mean}\" />"
        )?;
    }
    writeln!(out, "  </pooled_metrics>\n  <aggregate_metrics />\n</VMAF>")?;
    Ok(())
}

fn frames(
    outcome: &ScoringOutcome,
    metrics: &[Metric<'_>],
    names: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "  <frames>")?;
    for (row, frame) in outcome.frames.iter().enumerate() {
        write!(out, "    <frame frameNum=\"{frame}\"")?;
        for (metric, name) in metrics.iter().zip(names) {
            if let Some(value) = metric.values.get(row) {
                write!(out, " {name}=\"{value}\"")?;
            }
        }
        writeln!(out, " />")?;
    }
    writeln!(out, "  </frames>")
}

/// The names of the metrics as XML allows them in attributes. A model file may have any name, and no two attributes may
/// have the same.
fn attribute_names(metrics: &[Metric<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(metrics.len());
    for metric in metrics {
        let allowed = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
        let mut name: String = metric.key.chars().map(allowed).collect();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            name.insert(0, '_');
        }
        names.push(metrics::free_key(&name, |key| names.iter().any(|taken| taken == key)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ModelScores;
    use crate::report::example::outcome;

    fn text(outcomes: &[ScoringOutcome]) -> String {
        let mut out = vec![];
        write(&ScoringReport { outcomes, speed: Some(12.345) }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_comparison_is_what_libvmaf_writes() {
        let mut outcome = outcome("dis.mp4", &[90.0, 80.0]);
        outcome.features.retain(|name, _| name == "psnr_y");
        assert_eq!(
            text(&[outcome]),
            r#"<VMAF version="3.2.0">
  <params qualityWidth="1920" qualityHeight="1080" />
  <fyi fps="12.35" />
  <frames>
    <frame frameNum="0" psnr_y="45" vmaf="90" />
    <frame frameNum="1" psnr_y="40" vmaf="80" />
  </frames>
  <pooled_metrics>
    <metric name="psnr_y" min="40" max="45" mean="42.5" harmonic_mean="42.35632183908046" />
    <metric name="vmaf" min="80" max="90" mean="85" harmonic_mean="84.70930232558139" />
  </pooled_metrics>
  <aggregate_metrics />
</VMAF>
"#
        );
    }

    #[test]
    fn a_ladder_has_one_root_and_names_its_clips() {
        let text = text(&[outcome("a\"<b>.mp4", &[90.0]), outcome("c.mp4", &[80.0])]);
        assert!(
            text.starts_with("<ladder>\n<VMAF version=\"3.2.0\" distorted=\"a&quot;&lt;b&gt;.mp4\">"),
            "{text}"
        );
        assert!(text.ends_with("</VMAF>\n</ladder>\n"), "{text}");
        assert_eq!(text.matches("<VMAF ").count(), 2);
    }

    #[test]
    fn models_of_any_name_have_attributes_of_their_own() {
        let mut outcome = outcome("dis.mp4", &[90.0]);
        outcome.features.clear();
        for name in ["my model", "my_model", "4k\"/>"] {
            outcome.models.push(ModelScores { name: name.to_owned(), ..outcome.models[0].clone() });
        }
        let frame = r#"<frame frameNum="0" vmaf="90" my_model="90" my_model_2="90" _4k___="90" />"#;
        assert!(text(&[outcome]).contains(frame));
    }
}
