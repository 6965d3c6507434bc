//! The worst frames of each clip.
//!
//! Bad frames come in groups. Listing all frames of the worst group would hide the second-worst one, so a frame less than a
//! second (in a short clip: less than a fortieth of it) from a worse one is omitted.

use std::fmt::Write as _;

use super::clips::{ReportedClip, time};
use crate::report::escape::text;
use crate::report::metrics::short_name;

/// Frames listed for each clip.
const MAX_LISTED: usize = 10;
/// Frames per second of clips with unknown frame rate.
const DEFAULT_FRAME_RATE: u64 = 25;

/// One table per clip. That of a single clip has columns for its features.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    let tables: String = clips.iter().map(|clip| table(clip, clips.len() > 1)).collect();
    format!("<div class=\"side-by-side\">{tables}</div>")
}

fn table(clip: &ReportedClip<'_>, named: bool) -> String {
    let outcome = clip.outcome;
    let Some(first) = outcome.models.first() else { return String::new() };
    let rate = outcome.distorted.frame_rate.or(outcome.reference.frame_rate);
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
    for row in worst(&outcome.frames, &first.scores, min_distance(rate, outcome.frames.len())) {
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
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn min_distance(rate: Option<f64>, frames: usize) -> u64 {
    let second = rate.filter(|rate| *rate > 0.0).map_or(DEFAULT_FRAME_RATE, |rate| rate.round() as u64);
    second.min(frames as u64 / 40)
}

/// The rows with the lowest scores in ascending order, more than `min_distance` frames apart.
fn worst(frames: &[u64], scores: &[f64], min_distance: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..frames.len().min(scores.len())).collect();
    rows.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let mut picked: Vec<usize> = vec![];
    for row in rows {
        if picked.len() == MAX_LISTED {
            break;
        }
        if picked.iter().all(|&other| frames[other].abs_diff(frames[row]) > min_distance) {
            picked.push(row);
        }
    }
    picked
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::cast_precision_loss)] // Values are exact, and counts are small.
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_worse_frame_are_omitted() {
        let frames: Vec<u64> = (0..100).collect();
        let mut scores = vec![90.0; 100];
        scores[20..26].copy_from_slice(&[50.0, 40.0, 30.0, 35.0, 45.0, 55.0]);
        scores[70] = 60.0;
        assert_eq!(worst(&frames, &scores, 12)[..2], [22, 70]);
    }

    #[test]
    fn the_distance_is_counted_in_frames_and_not_in_rows() {
        let frames = [0, 10, 20];
        assert_eq!(worst(&frames, &[3.0, 2.0, 1.0], 12), [2, 0]);
    }

    #[test]
    fn a_short_clip_still_has_rows_to_show() {
        assert_eq!(
            (min_distance(Some(25.0), 48), min_distance(Some(25.0), 100_000), min_distance(None, 100_000)),
            (1, 25, DEFAULT_FRAME_RATE)
        );
    }

    #[test]
    fn a_long_clip_lists_ten() {
        let frames: Vec<u64> = (0..10_000).collect();
        let scores: Vec<f64> = frames.iter().map(|frame| *frame as f64).collect();
        assert_eq!(worst(&frames, &scores, 12).len(), 10);
    }
}
