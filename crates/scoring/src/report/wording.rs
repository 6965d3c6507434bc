//! Texts that the terminal and the HTML report share.

use std::path::Path;

use crate::outcome::{Alignment, InputDetails, ScoringOutcome, Warning};
use crate::report::shots::{ShotSummary, worst_first};

/// What is wrong, and what to do about it.
pub fn warning(warning: &Warning) -> String {
    match warning {
        Warning::HdrWithSdrModel { transfer, model } => format!(
            "A clip is HDR (transfer {transfer}), but {model} was trained with SDR, so the score is not reliable. \
             Tone-map both clips to SDR and score those."
        ),
        Warning::NearZeroFrames { model, frames, of } => format!(
            "{frames} of {of} frames score close to zero with {model}. The clips are probably misaligned or have \
             different content: compare frame counts and try --offset."
        ),
        Warning::EvenStep { step } => format!(
            "Every {step}th frame was scored. An even step can coincide with the encoder's frame pattern and miss \
             the bad frames: prefer an odd one, such as {}.",
            step + 1
        ),
        Warning::Shortened { reference, distorted, estimated } => format!(
            "The clips differ in length and only the common part was scored: {}{reference} frames of the reference \
             and {distorted} of the distorted clip were not scored.",
            about(*estimated)
        ),
        Warning::RangesDiffer { reference_full } => {
            let range = |full: bool| if full { "full" } else { "limited" };
            format!(
                "The reference has samples of {} range and the distorted clip of {} range. Samples are compared as they \
                 are, so even equal pictures get a low score. Convert one of the clips.",
                range(*reference_full),
                range(!reference_full)
            )
        }
        Warning::Scaled { from, to } => {
            format!("A clip was scaled from {from} to {to} before it was scored.")
        }
        Warning::ChromaConverted { from, to } => {
            format!("The chroma of a clip was converted from {from} to {to} before it was scored.")
        }
        Warning::PicturesFailed { reason } => format!(
            "There are no pictures of the worst moments: the clips are read a second time for them, and that failed \
             ({reason}). The scores are complete. Score again if the clips changed meanwhile."
        ),
    }
}

/// How two clips were paired, such as `1920x1080 yuv420p 8 bit, every frame`.
pub fn alignment(alignment: &Alignment) -> String {
    let mut words = vec![alignment.format.to_string()];
    words.extend(alignment.scaled_by.iter().map(|filter| format!("scaled by {filter}")));
    words.push(match alignment.step {
        0 | 1 => "every frame".to_owned(),
        2 => "every second frame".to_owned(),
        3 => "every third frame".to_owned(),
        step => format!("every {step}th frame"),
    });
    let skipped = [("reference", alignment.reference_offset), ("distorted clip", alignment.distorted_offset)];
    words.extend(
        skipped
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(side, count)| format!("{} skipped at the start of the {side}", frames(count))),
    );
    let unpaired =
        [("reference", alignment.unpaired_reference), ("distorted clip", alignment.unpaired_distorted)];
    words.extend(unpaired.into_iter().filter(|(_, count)| *count > 0).map(|(side, count)| {
        format!("{}{} of the {side} unpaired", about(alignment.unpaired_estimated), frames(count))
    }));
    words.join(", ")
}

const fn about(estimated: bool) -> &'static str {
    if estimated { "about " } else { "" }
}

/// An input, such as `h264, 1920x1080 yuv420p 8 bit, 25 fps, 48 frames`.
pub fn input(input: &InputDetails) -> String {
    let mut words = vec![input.codec.clone(), input.format.to_string()];
    words.extend(input.frame_rate.map(|rate| format!("{} fps", trimmed(rate))));
    words.push(format!("{}{}", about(input.frames_estimated), frames(input.frames)));
    words.join(", ")
}

/// Names of the distorted clips: their file names, or their paths if two files have the same name.
pub fn clip_names<'a>(outcomes: impl IntoIterator<Item = &'a ScoringOutcome>) -> Vec<String> {
    let paths: Vec<&Path> = outcomes.into_iter().map(|outcome| outcome.distorted.path.as_path()).collect();
    let shared = |name: &str| paths.iter().filter(|path| file_name(path) == name).count() > 1;
    let name = |path: &&Path| {
        Some(file_name(path)).filter(|name| !shared(name)).unwrap_or_else(|| path.display().to_string())
    };
    paths.iter().map(name).collect()
}

pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The number of shots and the worst of them, such as `12 shots, worst 4.2 s to 6.0 s: 71.30`; `None` for a single shot.
pub fn shots(shots: &[ShotSummary]) -> Option<String> {
    let worst = *worst_first(shots).first().filter(|_| shots.len() > 1)?;
    let range = match (worst.start_seconds, worst.end_seconds) {
        (Some(start), Some(end)) => format!("{start:.1} s to {end:.1} s"),
        _ => format!("frames {} to {}", worst.shot.first_frame, worst.shot.end() - 1),
    };
    Some(format!("{} shots, worst {range}: {:.2}", shots.len(), worst.models.first()?.mean))
}

/// `1 frame`, `48 frames`.
pub fn frames(count: u64) -> String {
    if count == 1 { "1 frame".to_owned() } else { format!("{count} frames") }
}

/// At most three decimals, without trailing zeros: `25`, `23.976`.
fn trimmed(value: f64) -> String {
    format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{self, example};
    use crate::shots::Shot;

    #[test]
    fn a_plain_comparison_is_described_by_format_and_step() {
        let outcome = example::outcome("dis.mp4", &[1.0]);
        assert_eq!(alignment(&outcome.alignment), "1920x1080 yuv420p 8 bit, every frame");
        assert_eq!(input(&outcome.distorted), "h264, 1920x1080 yuv420p 8 bit, 25 fps, 1 frame");
    }

    #[test]
    fn scaling_offsets_and_unpaired_frames_are_named() {
        let mut facts = example::outcome("dis.mp4", &[1.0]).alignment;
        facts.scaled_by = Some("bicubic".to_owned());
        (facts.step, facts.distorted_offset, facts.unpaired_reference) = (5, 1, 12);
        assert_eq!(
            alignment(&facts),
            "1920x1080 yuv420p 8 bit, scaled by bicubic, every 5th frame, 1 frame skipped at the start of the \
             distorted clip, 12 frames of the reference unpaired"
        );
    }

    #[test]
    fn clips_of_the_same_file_name_are_named_by_their_paths() {
        let outcomes = ["a/x.mp4", "b/x.mp4", "b/y.mp4"].map(|path| example::outcome(path, &[1.0]));
        assert_eq!(clip_names(&outcomes), ["a/x.mp4", "b/x.mp4", "y.mp4"]);
    }

    #[test]
    fn the_worst_shot_is_named_by_its_time_or_its_frames() {
        let shot = |first_frame, frames| Shot { first_frame, frames };
        let mut outcome = example::outcome("dis.mp4", &[[90.0; 105].as_slice(), &[71.3; 45]].concat());
        assert_eq!(shots(&report::shots::of(&outcome)), None);
        outcome.shots = vec![shot(0, 105), shot(105, 45)];
        let text = |outcome: &ScoringOutcome| shots(&report::shots::of(outcome)).unwrap();
        assert_eq!(text(&outcome), "2 shots, worst 4.2 s to 6.0 s: 71.30");
        (outcome.reference.frame_rate, outcome.distorted.frame_rate) = (None, None);
        assert_eq!(text(&outcome), "2 shots, worst frames 105 to 149: 71.30");
    }

    #[test]
    fn a_warning_names_its_remedy() {
        let text = warning(&Warning::NearZeroFrames { model: "vmaf_v0.6.1".to_owned(), frames: 3, of: 48 });
        assert!(text.contains("3 of 48") && text.contains("--offset"), "{text}");
        assert!(warning(&Warning::EvenStep { step: 4 }).contains("such as 5"));
        let text = warning(&Warning::RangesDiffer { reference_full: false });
        assert!(
            text.contains("reference has samples of limited range and the distorted clip of full"),
            "{text}"
        );
    }

    #[test]
    fn frame_rates_are_written_as_people_write_them() {
        assert_eq!((trimmed(24000.0 / 1001.0), trimmed(50.0)), ("23.976".to_owned(), "50".to_owned()));
    }
}
