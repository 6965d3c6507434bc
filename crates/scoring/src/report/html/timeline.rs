//! The scores over time as a table, for readers who cannot see or run the plot.

use std::fmt::Write as _;

use super::clips::ReportedClip;
use crate::report::escape::text;
use crate::report::pooling::mean;

/// Rows of a table; each is a range of frames.
const MAX_ROWS: usize = 20;

/// One table for each curve, collapsed.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    let mut html = String::new();
    for clip in clips {
        for model in &clip.outcome.models {
            let caption = format!("{}, {}", text(&clip.name), text(&model.name));
            html.push_str(&table(&caption, &clip.outcome.frames, &model.scores));
        }
    }
    format!(
        "<details><summary>The same as a table</summary><div class=\"side-by-side\">{html}</div></details>"
    )
}

fn table(caption: &str, frames: &[u64], scores: &[f64]) -> String {
    let length = frames.len().div_ceil(MAX_ROWS).max(1);
    let mut html = format!(
        "<div class=\"scroll\"><table><caption>{caption}</caption><thead><tr><th scope=\"col\">Frames</th>\
         <th scope=\"col\">Mean</th><th scope=\"col\">Min</th><th scope=\"col\">Max</th></tr></thead><tbody>"
    );
    for (frames, scores) in frames.chunks(length).zip(scores.chunks(length)) {
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { continue };
        let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{range}</th><td>{:.2}</td><td>{low:.2}</td><td>{high:.2}</td></tr>",
            mean(scores)
        );
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::cast_precision_loss)] // Values are exact, and counts are small.
mod tests {
    use super::*;

    #[test]
    fn a_long_clip_has_twenty_rows() {
        let frames: Vec<u64> = (0..1000).collect();
        let scores: Vec<f64> = frames.iter().map(|frame| *frame as f64 / 10.0).collect();
        let html = table("x", &frames, &scores);
        assert_eq!(html.matches("<tr><th scope=\"row\">").count(), 20);
        assert!(html.contains(">0 to 49</th><td>2.45</td><td>0.00</td><td>4.90</td>"), "{html}");
    }

    #[test]
    fn a_single_frame_is_not_a_range() {
        assert!(table("x", &[7], &[1.0]).contains("<th scope=\"row\">7</th>"));
    }
}
