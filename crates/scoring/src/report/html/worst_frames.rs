//! The worst frames of each clip.
//!
//! Bad frames come in groups. Listing all frames of the worst group would hide the second-worst one, so a frame less than a
//! second (in a short clip: less than a fortieth of it) from a worse one is omitted.

use std::fmt::Write as _;

use super::clips::{ReportedClip, time};
use crate::moments::{MomentChoice, frames_of_a_second, worst_rows};
use crate::outcome::ScoringOutcome;
use crate::report::escape::text;
use crate::report::metrics::short_name;

/// Frames listed for each clip.
const MAX_LISTED: usize = 10;

/// One table per clip. That of a single clip has columns for its features.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    let tables: String = clips.iter().map(|clip| table(clip, clips.len() > 1)).collect();
    format!("<div class=\"side-by-side\">{tables}</div>")
}

fn table(clip: &ReportedClip<'_>, named: bool) -> String {
    let outcome = clip.outcome;
    if outcome.models.is_empty() {
        return String::new();
    }
    let rate = outcome.frame_rate();
    let mut html = String::from("<div class=\"scroll\"><table>");
    if named {
        let _ = write!(
            html,
            "<caption><i class=\"swatch s{}\"></i>{}</caption>",
            clip.index % 8,
            text(&clip.name)
        );
    }
    html.push_str("<thead><tr><th scope=\"col\">Frame</th>");
    if rate.is_some() {
        html.push_str("<th scope=\"col\">Time</th>");
    }
    for model in &outcome.models {
        let _ = write!(html, "<th scope=\"col\">{}</th>", text(&model.name));
    }
    let features = || outcome.features.iter().filter(|_| !named);
    for (name, _) in features() {
        let _ = write!(html, "<th scope=\"col\">{}</th>", text(&short_name(name)));
    }
    html.push_str("</tr></thead><tbody>");
    let choice =
        MomentChoice { count: MAX_LISTED, min_distance: min_distance(outcome), max_per_shot: usize::MAX };
    for row in worst_rows(outcome, choice) {
        let frame = outcome.frames[row];
        let _ = write!(
            html,
            "<tr><th scope=\"row\"><button type=\"button\" data-clip=\"{}\" data-frame=\"{frame}\" \
             title=\"Show frame {frame} in the plot\">{frame}</button></th>",
            clip.index
        );
        if let Some(time) = time(frame, rate) {
            let _ = write!(html, "<td>{time}</td>");
        }
        for model in &outcome.models {
            let _ = write!(html, "<td class=\"mean\">{:.2}</td>", model.scores[row]);
        }
        for (_, values) in features() {
            let _ = write!(html, "<td>{:.4}</td>", values[row]);
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// The minimum distance between two listed frames.
fn min_distance(outcome: &ScoringOutcome) -> u64 {
    frames_of_a_second(outcome).min(outcome.frames.len() as u64 / 40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn a_short_clip_still_has_rows_to_show() {
        let distance = |frames: usize| min_distance(&example::outcome("a.mp4", &vec![90.0; frames]));
        assert_eq!((distance(48), distance(10_000)), (1, 25));
    }
}
