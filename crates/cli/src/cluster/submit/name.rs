//! Names of jobs: the same for the same job, so that a command can be repeated.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use vmafx_api::VmafxJobSpec;

use crate::view::job::short;

/// What a label can hold, so that a job's name can be one.
const LONGEST: usize = 63;
/// What tells two jobs apart.
const HEX: usize = 10;

/// `PREFIX-CLIP-HASH`. The hash is of what decides the score, or of the key, if there is one: a job that is only more
/// urgent than before is the same job.
pub(super) fn name(prefix: Option<&str>, spec: &VmafxJobSpec, key: Option<&str>) -> String {
    let seed = match key {
        Some(key) => json!({ "key": key }),
        None => json!({
            "reference": spec.reference,
            "distorted": spec.distorted,
            "model": spec.model,
            "backend": spec.backend,
            "execution": spec.execution,
            "input": spec.input,
            "scoring": spec.scoring,
        }),
    };
    let hash: String =
        Sha256::digest(seed.to_string()).iter().map(|byte| format!("{byte:02x}")).take(HEX / 2).collect();
    let prefix = prefix.map(|prefix| format!("{prefix}-")).unwrap_or_default();
    let room = LONGEST.saturating_sub(prefix.len() + 1 + HEX);
    let clip = slug(short(&spec.distorted), room);
    if clip.is_empty() { format!("{prefix}{hash}") } else { format!("{prefix}{clip}-{hash}") }
}

/// A file's name without its ending, in letters that a name may have.
fn slug(file: &str, room: usize) -> String {
    let file = file.split(['?', '#']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let mut slug = String::new();
    for letter in stem.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(room);
    slug.trim_matches('-').to_owned()
}

/// Why a text cannot be the name of a job.
pub(super) fn problem(name: &str) -> Option<String> {
    let good = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-' || letter == '.'
    };
    let end = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    if name.len() > LONGEST {
        return Some(format!("{name:?} is longer than {LONGEST} letters"));
    }
    let fine = name.chars().all(good)
        && end(name.chars().next())
        && end(name.chars().last())
        && !name.contains("..");
    (!fine).then(|| format!("{name:?} is no name: use lower-case letters, digits, - and ."))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn spec(distorted: &str) -> VmafxJobSpec {
        serde_json::from_value(json!({ "reference": "s3://b/r.mp4", "distorted": distorted })).unwrap()
    }

    #[test]
    fn the_same_job_has_the_same_name_and_another_another() {
        let one = name(None, &spec("s3://b/Trailer 1080p.MP4"), None);
        assert!(one.starts_with("trailer-1080p-") && one.len() == "trailer-1080p-".len() + HEX, "{one}");
        assert_eq!(one, name(None, &spec("s3://b/Trailer 1080p.MP4"), None));
        assert_ne!(one, name(None, &spec("s3://c/Trailer 1080p.MP4"), None));
        let urgent = VmafxJobSpec { priority: 9, ..spec("s3://b/Trailer 1080p.MP4") };
        assert_eq!(one, name(None, &urgent, None), "it is only more urgent");
        let other = VmafxJobSpec { model: Some("vmaf_4k_v0.6.1".into()), ..spec("s3://b/Trailer 1080p.MP4") };
        assert_ne!(one, name(None, &other, None));
    }

    #[test]
    fn a_key_makes_the_name_instead_of_the_clips() {
        let other = VmafxJobSpec { reference: "s3://x/y".into(), ..spec("s3://b/d.mp4") };
        assert_eq!(name(None, &spec("s3://b/d.mp4"), Some("k")), name(None, &other, Some("k")));
        assert_ne!(name(None, &other, Some("k")), name(None, &other, Some("l")));
    }

    #[rstest]
    #[case("s3://b/d.mp4")]
    #[case("s3://b/___.mp4")]
    #[case("https://h/clip.mp4?token=x/y.z")]
    #[case("s3://b/ünïcode-ñame-that-is-very-long-indeed-and-longer-than-any-name-may-be-in-kubernetes.mp4")]
    fn every_name_is_one_that_the_api_server_takes(
        #[case] distorted: &str,
        #[values(None, Some("nightly-encodes"))] prefix: Option<&str>,
    ) {
        let name = name(prefix, &spec(distorted), None);
        assert_eq!(problem(&name), None);
        assert!(name.starts_with(prefix.unwrap_or_default()), "{name}");
    }

    #[rstest]
    #[case("a", true)]
    #[case("a.b-c", true)]
    #[case("A", false)]
    #[case("-a", false)]
    #[case("a_b", false)]
    #[case("a..b", false)]
    #[case("", false)]
    fn names_are_checked_before_they_are_sent(#[case] name: &str, #[case] good: bool) {
        assert_eq!(problem(name).is_none(), good);
    }
}
