//! The syntax of label keys, label values, and names of containers and volumes.

use std::collections::BTreeMap;

use super::violation::{FieldPath, Findings};

/// Checks the keys and values of labels or of a node selector.
pub(super) fn check(path: &FieldPath, labels: &BTreeMap<String, String>, findings: &mut Findings) {
    for (key, value) in labels {
        if !is_key(key) {
            findings.invalid(path, key.as_str(), KEY);
        }
        if !is_value(value) {
            findings.invalid(&path.key(key), value.as_str(), VALUE);
        }
    }
}

pub(super) const KEY: &str = "a key is a name such as zone or example.com/zone: at most 63 letters, digits, '-', '_' \
                              and '.' that begin and end with a letter or digit, after an optional DNS name and a slash";

pub(super) const VALUE: &str = "a value has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a \
                                letter or digit";

/// Advice for the name of a container or volume.
pub(super) const NAME: &str =
    "a name has at most 63 lower-case letters, digits and '-', and begins and ends with a letter or digit";

pub(super) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

pub(super) fn is_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

/// A DNS label of RFC 1123.
pub(super) fn is_dns_label(text: &str) -> bool {
    bounded(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), |b| b == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_name(text: &str) -> bool {
    bounded(text, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.'))
}

/// Whether the text has 1 to 63 bytes, each of which is `edge` or, except at both ends, `inner`.
fn bounded(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|b| edge(*b) || inner(*b))
        && bytes.first().is_some_and(|b| edge(*b))
        && bytes.last().is_some_and(|b| edge(*b))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("zone", true)]
    #[case("topology.kubernetes.io/zone", true)]
    #[case("a_b.C-9", true)]
    #[case("", false)]
    #[case("/zone", false)]
    #[case("example.com/", false)]
    #[case("Example.com/zone", false)]
    #[case("a/b/c", false)]
    #[case("-zone", false)]
    #[case("zone.", false)]
    #[case("a b", false)]
    fn a_key_is_a_name_with_an_optional_prefix(#[case] key: &str, #[case] expected: bool) {
        assert_eq!(is_key(key), expected);
    }

    #[rstest]
    #[case(63, true)]
    #[case(64, false)]
    fn a_value_has_at_most_63_characters(#[case] length: usize, #[case] expected: bool) {
        assert_eq!(is_value(&"a".repeat(length)), expected);
    }
}
