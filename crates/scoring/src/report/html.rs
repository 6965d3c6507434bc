//! A self-contained HTML page.
//!
//! Everything that must be readable without scripts (pooled scores, worst frames, details, warnings, the scores over time as a
//! table) is written as HTML; the script only draws the plot from the data in the page, and wipes between pictures. Two measures keep a hostile file name
//! harmless: every text is escaped for its context, and the content security policy of the page allows only the style and the
//! script with the digests that it names. The policy also forbids every request; pictures are
//! in the page itself.

mod clips;
mod data;
mod details;
mod moments;
mod numbers;
mod shots;
mod template;
mod timeline;
mod worst_frames;

use std::fmt::Write as _;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::outcome::ScoringOutcome;
use crate::report::escape::{self, text};
use crate::report::{ReportError, ScoringReport, wording};
use clips::ReportedClip;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str =
    concat!(include_str!("html/scale.js"), include_str!("html/plot.js"), include_str!("html/wipe.js"));

pub fn write(report: &ScoringReport<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let clips = clips::all(report.outcomes)?;
    let data = data::PlotData::of(&clips);
    let parts = [
        ("title", text(&title(report.outcomes))),
        ("style-digest", digest(STYLE)),
        ("script-digest", digest(SCRIPT)),
        ("style", STYLE.to_owned()),
        ("reference", text(&reference(report.outcomes))),
        ("warnings", warnings(&clips)),
        ("numbers", numbers::section(&clips)),
        ("cuts-note", data.cuts_note().to_owned()),
        ("plot-note", text(data.note())),
        ("timeline", timeline::section(&clips)),
        ("picture-policy", moments::policy(&clips).to_owned()),
        ("worst-moments", moments::section(&clips)),
        ("worst-shots", shots::section(&clips)),
        ("worst-frames", worst_frames::section(&clips)),
        ("details", details::section(&clips)),
        ("data", escape::script_data(&serde_json::to_string(&data)?)),
        ("script", SCRIPT.to_owned()),
    ];
    out.write_all(template::fill(PAGE, &parts).as_bytes())?;
    Ok(())
}

fn title(outcomes: &[ScoringOutcome]) -> String {
    match outcomes {
        [one] => wording::file_name(&one.distorted.path),
        several => format!("{} clips", several.len()),
    }
}

fn reference(outcomes: &[ScoringOutcome]) -> String {
    outcomes.first().map(|outcome| wording::file_name(&outcome.reference.path)).unwrap_or_default()
}

/// All warnings in one box; in a ladder each with the name of its clip.
fn warnings(clips: &[ReportedClip<'_>]) -> String {
    let mut items = String::new();
    for clip in clips {
        for warning in &clip.outcome.warnings {
            let about = if clips.len() > 1 {
                format!("<strong>{}</strong> ", text(&clip.name))
            } else {
                String::new()
            };
            let _ = write!(items, "<li>{about}{}</li>", text(&wording::warning(warning)));
        }
    }
    if items.is_empty() {
        return String::new();
    }
    format!(
        "<section class=\"warnings\" aria-labelledby=\"warnings\"><h2 id=\"warnings\">Read this first</h2>\
         <ul>{items}</ul></section>"
    )
}

/// The digest of a style or script for the content security policy.
fn digest(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}
