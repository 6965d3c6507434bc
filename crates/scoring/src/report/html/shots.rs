//! The worst shots of each clip.

use std::fmt::Write as _;

use super::clips::{ReportedClip, time};
use crate::report::escape::text;
use crate::report::shots::{self, ShotSummary};

/// Shots listed for each clip.
const MAX_LISTED: usize = 8;

/// A section with one table per clip; nothing if no clip has a cut.
pub(super) fn section(clips: &[ReportedClip<'_>]) -> String {
    if clips.iter().all(|clip| clip.outcome.shots.len() < 2) {
        return String::new();
    }
    let tables: String = clips.iter().map(|clip| table(clip, clips.len() > 1)).collect();
    format!(
        "<section aria-labelledby=\"shots\"><h2 id=\"shots\">Worst shots</h2><p class=\"hint\">By the mean of the \
         first model. A shot ends at a hard cut of the reference; fades and dissolves are not cuts.</p>\
         <div class=\"side-by-side\">{tables}</div></section>"
    )
}

fn table(clip: &ReportedClip<'_>, named: bool) -> String {
    let all = shots::of(clip.outcome);
    let mut html = String::from("<div class=\"scroll\"><table><caption>");
    if named {
        let _ = write!(html, "<i class=\"swatch s{}\"></i>{} ", clip.index % 8, text(&clip.name));
    }
    let _ = write!(html, "<span>{} shots</span></caption><thead><tr>", all.len());
    let rate = clip.outcome.frame_rate();
    // Tables side by side have no room for both.
    let with_frames = !named || rate.is_none();
    for column in [Some("Shot"), with_frames.then_some("Frames"), rate.map(|_| "Time")].into_iter().flatten()
    {
        let _ = write!(html, "<th scope=\"col\">{column}</th>");
    }
    for model in &clip.outcome.models {
        let _ = write!(html, "<th scope=\"col\">{}</th><th scope=\"col\">Min</th>", text(&model.name));
    }
    html.push_str("</tr></thead><tbody>");
    for shot in shots::worst_first(&all).into_iter().take(MAX_LISTED) {
        let number = all.partition_point(|other| other.shot.first_frame <= shot.shot.first_frame);
        row(&mut html, (clip.index, number), shot, rate, with_frames);
    }
    html + "</tbody></table></div>"
}

fn row(
    html: &mut String,
    (clip, number): (usize, usize),
    shot: &ShotSummary,
    rate: Option<f64>,
    with_frames: bool,
) {
    let (first, end) = (shot.shot.first_frame, shot.shot.end());
    let _ = write!(
        html,
        "<tr><th scope=\"row\"><button type=\"button\" data-clip=\"{clip}\" data-frame=\"{first}\" data-end=\"{end}\" \
         title=\"Show shot {number} in the plot\">{number}</button></th>",
    );
    if with_frames {
        let _ = write!(html, "<td>{first} to {}</td>", end - 1);
    }
    if let (Some(start), Some(end)) = (time(first, rate), time(end, rate)) {
        let _ = write!(html, "<td>{start} to {end}</td>");
    }
    for score in &shot.models {
        let _ = write!(
            html,
            "<td class=\"mean\">{:.2}</td><td title=\"frame {}\">{:.2}</td>",
            score.mean, score.min.frame, score.min.value
        );
    }
    html.push_str("</tr>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ScoringOutcome;
    use crate::report::example;
    use crate::report::html::clips;
    use crate::shots::Shot;

    fn html(outcome: ScoringOutcome) -> String {
        section(&clips::all(&[outcome]).unwrap())
    }

    fn cut_every(frames: u64, scores: &[f64]) -> ScoringOutcome {
        let outcome = example::outcome("a.mp4", scores);
        let shots = (0..scores.len() as u64).step_by(usize::try_from(frames).unwrap());
        ScoringOutcome { shots: shots.map(|first_frame| Shot { first_frame, frames }).collect(), ..outcome }
    }

    #[test]
    fn a_clip_without_a_cut_has_no_section() {
        assert_eq!(html(example::outcome("a.mp4", &[90.0, 80.0])), "");
    }

    #[test]
    fn the_worst_shot_comes_first_with_its_frames_and_times() {
        let html = html(cut_every(2, &[90.0, 80.0, 60.0, 50.0, 70.0, 70.0]));
        let rows: Vec<&str> = html.split("<tr>").skip(2).collect();
        assert_eq!(rows.len(), 3);
        let worst = "data-frame=\"2\" data-end=\"4\" title=\"Show shot 2 in the plot\">2</button></th>\
                     <td>2 to 3</td><td>0:00.080 to 0:00.160</td><td class=\"mean\">55.00</td><td title=\"frame 3\">50.00</td>";
        assert!(rows[0].contains(worst), "{}", rows[0]);
        assert!(html.contains("<span>3 shots</span>"));
    }

    #[test]
    fn clips_of_a_ladder_have_times_or_frames() {
        let mut clips = ["a.mp4", "b.mp4"].map(|_| cut_every(1, &[90.0, 80.0]));
        for input in [&mut clips[1].reference, &mut clips[1].distorted] {
            input.frame_rate = None;
        }
        let html = section(&clips::all(&clips).unwrap());
        let heads: Vec<&str> = html.split("<thead>").skip(1).collect();
        assert!(heads[0].contains(">Time<") && !heads[0].contains(">Frames<"), "{html}");
        assert!(heads[1].contains(">Frames<") && !heads[1].contains(">Time<"), "{html}");
        assert!(html.contains("<td>1 to 1</td>"), "{html}");
    }

    #[test]
    fn only_the_worst_of_many_shots_are_listed() {
        let scores: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(html(cut_every(2, &scores)).matches("<tr>").count(), 1 + MAX_LISTED);
    }
}
