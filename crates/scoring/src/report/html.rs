//! One page that needs nothing but itself.
//!
//! Everything that must be read without a script (numbers, worst frames, facts, warnings, the course of the scores as
//! a table) is written here; the script only draws the plot from the data that lies in the page. Two locks keep a
//! hostile file name harmless: every text is escaped for its place, and the page's own policy lets only the one style
//! and the one script run whose digests it names. The policy also forbids every request.

mod clips;
mod course;
mod data;
mod facts;
mod numbers;
mod template;
mod worst;

use std::fmt::Write as _;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::outcome::Outcome;
use crate::report::escape::{self, text};
use crate::report::{Report, ReportError, wording};
use clips::Clip;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = concat!(include_str!("html/scale.js"), include_str!("html/plot.js"));

/// Writes the page about all comparisons.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let clips = clips::all(report.outcomes)?;
    let data = data::Data::of(&clips);
    let parts = [
        ("title", text(&title(report.outcomes))),
        ("style-digest", digest(STYLE)),
        ("script-digest", digest(SCRIPT)),
        ("style", STYLE.to_owned()),
        ("reference", text(&reference(report.outcomes))),
        ("warnings", warnings(&clips)),
        ("numbers", numbers::section(&clips)),
        ("plot-note", text(data.note())),
        ("course", course::section(&clips)),
        ("worst", worst::section(&clips)),
        ("facts", facts::section(&clips)),
        ("data", escape::script_data(&serde_json::to_string(&data)?)),
        ("script", SCRIPT.to_owned()),
    ];
    out.write_all(template::fill(PAGE, &parts).as_bytes())?;
    Ok(())
}

fn title(outcomes: &[Outcome]) -> String {
    match outcomes {
        [one] => wording::file_name(&one.distorted.path),
        several => format!("{} clips", several.len()),
    }
}

fn reference(outcomes: &[Outcome]) -> String {
    outcomes.first().map(|outcome| wording::file_name(&outcome.reference.path)).unwrap_or_default()
}

/// All warnings in one box; on a ladder each with the clip that it is about.
fn warnings(clips: &[Clip<'_>]) -> String {
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

/// The digest by which the page's policy knows its own style and script.
fn digest(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}
