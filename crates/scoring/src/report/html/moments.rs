//! The worst moments of each clip as pictures, side by side.
//!
//! They are readable without the script, which adds a wipe between reference and distorted clip.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::clips::{ReportedClip, time};
use crate::moments::{JpegPicture, WorstMoment};
use crate::report::escape::text;

/// What the content security policy must permit for the pictures.
pub(super) fn policy(clips: &[ReportedClip<'_>]) -> &'static str {
    if has_pictures(clips) { "img-src data:; " } else { "" }
}

/// Nothing if no clip has pictures.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    if !has_pictures(clips) {
        return String::new();
    }
    let mut html = String::from(
        "<section aria-labelledby=\"moments\"><h2 id=\"moments\">Worst moments</h2><p class=\"hint\">The lowest scores of \
         the first model, at most two in a shot. The difference is that of luma, eight times enlarged: black is equal, white \
         is 32 of 255 levels or more.</p>",
    );
    for clip in clips {
        if clips.len() > 1 && !clip.outcome.worst_moments.is_empty() {
            let _ = write!(html, "<h3><i class=\"swatch s{}\"></i>{}</h3>", clip.index % 8, text(&clip.name));
        }
        for moment in &clip.outcome.worst_moments {
            article(&mut html, clip, moment);
        }
    }
    html + "</section>"
}

fn has_pictures(clips: &[ReportedClip<'_>]) -> bool {
    clips.iter().any(|clip| !clip.outcome.worst_moments.is_empty())
}

fn article(html: &mut String, clip: &ReportedClip<'_>, moment: &WorstMoment) {
    let frame = moment.frame;
    let shots = &clip.outcome.shots;
    let when = time(frame, clip.outcome.frame_rate()).map_or_else(String::new, |time| format!(" · {time}"));
    let shot = match shots.len() {
        0 | 1 => String::new(),
        _ => format!(" · shot {}", shots.partition_point(|shot| shot.first_frame <= frame)),
    };
    let _ = write!(
        html,
        "<article class=\"moment\"><header><h4><button type=\"button\" data-clip=\"{}\" data-frame=\"{frame}\" \
         title=\"Show frame {frame} in the plot\">Frame {frame}</button> <b>{:.2}</b><small>{when}{shot}</small></h4>\
         </header><div class=\"pictures\">",
        clip.index, moment.score
    );
    let pictures = [
        ("Reference", &moment.reference),
        ("Distorted", &moment.distorted),
        ("Difference", &moment.difference),
    ];
    for (name, picture) in pictures {
        figure(html, name, frame, picture);
    }
    html.push_str("</div></article>");
}

fn figure(html: &mut String, name: &str, frame: u64, picture: &JpegPicture) {
    let _ = write!(
        html,
        "<figure><img alt=\"{name} at frame {frame}\" width=\"{}\" height=\"{}\" src=\"data:image/jpeg;base64,",
        picture.width, picture.height
    );
    STANDARD.encode_string(&picture.bytes, html);
    let _ = write!(html, "\"><figcaption>{name}</figcaption></figure>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ScoringOutcome;
    use crate::report::example;
    use crate::report::html::clips;
    use crate::shots::Shot;

    fn picture(bytes: &[u8]) -> JpegPicture {
        JpegPicture { width: 640, height: 360, bytes: bytes.to_vec() }
    }

    fn outcome() -> ScoringOutcome {
        let moment = WorstMoment {
            frame: 2,
            score: 41.266,
            reference: picture(b"ref"),
            distorted: picture(b"dis"),
            difference: picture(b"map"),
        };
        ScoringOutcome { worst_moments: vec![moment], ..example::outcome("a.mp4", &[90.0, 80.0, 41.266]) }
    }

    #[test]
    fn a_moment_has_its_score_and_three_pictures_in_the_page() {
        let mut outcome = outcome();
        outcome.shots = vec![Shot { first_frame: 0, frames: 2 }, Shot { first_frame: 2, frames: 1 }];
        let html = section(&clips::all(&[outcome]).unwrap());
        assert!(html.contains("<b>41.27</b><small> · 0:00.080 · shot 2</small>"), "{html}");
        for (name, data) in [("Reference", "cmVm"), ("Distorted", "ZGlz"), ("Difference", "bWFw")] {
            let expected = format!(
                "<figure><img alt=\"{name} at frame 2\" width=\"640\" height=\"360\" \
                 src=\"data:image/jpeg;base64,{data}\"><figcaption>{name}</figcaption></figure>"
            );
            assert!(html.contains(&expected), "{name}: {html}");
        }
    }

    #[test]
    fn the_policy_permits_pictures_only_where_there_are_some() {
        let with = [outcome()];
        let without = [example::outcome("a.mp4", &[90.0])];
        let policy = |outcomes: &[ScoringOutcome]| policy(&clips::all(outcomes).unwrap());
        assert_eq!((policy(&with), policy(&without)), ("img-src data:; ", ""));
        assert_eq!(section(&clips::all(&without).unwrap()), "");
    }

    #[test]
    fn clips_of_a_ladder_are_named() {
        let html = section(&clips::all(&[outcome(), example::outcome("<b>.mp4", &[90.0])]).unwrap());
        assert!(html.contains("</i>a.mp4</h3>") && !html.contains("&lt;b&gt;"), "{html}");
    }
}
