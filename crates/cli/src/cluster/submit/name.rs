//! Names of jobs. The same job always gets the same name, so that a command can be repeated.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use vmafx_api::VmafxJobSpec;

use crate::view::job::short;

/// Kubernetes' limit of a label's value, because the name is also a label of the job's Pods.
const MAX_NAME_LENGTH: usize = 63;
const HASH_DIGITS: usize = 10;

/// `PREFIX-CLIP-HASH`. The hash covers the key if there is one, and otherwise everything that determines the score. The
/// priority is not part of it: a job that is submitted with another priority is the same job.
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
    let hash: String = Sha256::digest(seed.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .take(HASH_DIGITS / 2)
        .collect();
    let prefix = prefix.map(|prefix| format!("{prefix}-")).unwrap_or_default();
    let max_length = MAX_NAME_LENGTH.saturating_sub(prefix.len() + 1 + HASH_DIGITS);
    let clip = slug(short(&spec.distorted), max_length);
    if clip.is_empty() { format!("{prefix}{hash}") } else { format!("{prefix}{clip}-{hash}") }
}

/// The stem of a file name, with the characters that a resource's name may have.
fn slug(file: &str, max_length: usize) -> String {
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
    slug.truncate(max_length);
    slug.trim_matches('-').to_owned()
}

/// Why this cannot be the name of a job; `None` if it can.
pub(super) fn problem(name: &str) -> Option<String> {
    let is_valid = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-' || letter == '.'
    };
    let is_valid_end = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    if name.len() > MAX_NAME_LENGTH {
        return Some(format!("{name:?} has more than {MAX_NAME_LENGTH} characters"));
    }
    let valid = name.chars().all(is_valid)
        && is_valid_end(name.chars().next())
        && is_valid_end(name.chars().last())
        && !name.contains("..");
    (!valid).then(|| format!("{name:?} is not a valid name; use lower-case letters, digits, - and ."))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn spec(distorted: &str) -> VmafxJobSpec {
        serde_json::from_value(json!({ "reference": "s3://b/r.mp4", "distorted": distorted })).unwrap()
    }

    #[test]
    fn the_same_job_has_the_same_name_and_another_job_has_another() {
        let one = name(None, &spec("s3://b/Trailer 1080p.MP4"), None);
        assert!(
            one.starts_with("trailer-1080p-") && one.len() == "trailer-1080p-".len() + HASH_DIGITS,
            "{one}"
        );
        assert_eq!(one, name(None, &spec("s3://b/Trailer 1080p.MP4"), None));
        assert_ne!(one, name(None, &spec("s3://c/Trailer 1080p.MP4"), None));
        let urgent = VmafxJobSpec { priority: 9, ..spec("s3://b/Trailer 1080p.MP4") };
        assert_eq!(one, name(None, &urgent, None), "only the priority differs");
        let other = VmafxJobSpec { model: Some("vmaf_4k_v0.6.1".into()), ..spec("s3://b/Trailer 1080p.MP4") };
        assert_ne!(one, name(None, &other, None));
    }

    #[test]
    fn the_name_is_derived_from_the_key_instead_of_the_clips() {
        let other = VmafxJobSpec { reference: "s3://x/y".into(), ..spec("s3://b/d.mp4") };
        assert_eq!(name(None, &spec("s3://b/d.mp4"), Some("k")), name(None, &other, Some("k")));
        assert_ne!(name(None, &other, Some("k")), name(None, &other, Some("l")));
    }

    #[rstest]
    #[case("s3://b/d.mp4")]
    #[case("s3://b/___.mp4")]
    #[case("https://h/clip.mp4?token=x/y.z")]
    #[case("s3://b/ünïcode-ñame-that-is-very-long-indeed-and-longer-than-any-name-may-be-in-kubernetes.mp4")]
    fn every_name_is_valid(
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
    fn names_are_checked_before_they_are_sent(#[case] name: &str, #[case] valid: bool) {
        assert_eq!(problem(name).is_none(), valid);
    }
}
