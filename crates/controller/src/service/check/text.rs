//! Validation of texts: length and characters.

use std::borrow::Cow;

use super::MAX_TEXT_BYTES;
use crate::refusal::Refusal;
use vmafx_job::limits::MAX_NAME_LENGTH;

/// The path of a field: `scoring.reference`, or `reference` where `within` is empty.
pub(in crate::service) fn path(within: &str, field: &str) -> String {
    if within.is_empty() { field.to_owned() } else { format!("{within}.{field}") }
}

/// A caller's text, short enough to be quoted in a message.
pub(in crate::service) fn abbreviated(text: &str) -> Cow<'_, str> {
    cut(text, 64)
}

/// Cuts a text to `max` bytes at a character boundary, ending in an ellipsis.
fn cut(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(max - '…'.len_utf8());
    Cow::Owned(format!("{}…", &text[..end]))
}

/// A text for people. A long one is cut rather than refused, because its end is not worth a failed call. Tabs and line
/// breaks are kept; other control characters become spaces, because the text is printed on terminals.
pub(in crate::service) fn free_text(field: &str, text: &str) -> Result<String, Refusal> {
    if text.contains('\0') {
        return Err(Refusal::invalid(field, "must not contain a NUL character"));
    }
    let printable = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
    Ok(cut(text, MAX_TEXT_BYTES).chars().map(printable).collect())
}

/// Validates a text that programs read; such a text is never changed.
pub(super) fn identifier(field: &str, text: &str, max: usize) -> Result<(), Refusal> {
    if text.chars().count() > max {
        return Err(Refusal::invalid(field, format!("must have at most {max} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(field, "must not contain control characters"));
    }
    Ok(())
}

pub(super) fn required_identifier(field: &str, text: &str, max: usize) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::invalid(field, "is required"));
    }
    identifier(field, text, max)
}

pub(super) fn origin(field: &str, origin: &vmafx_queue::job::Origin) -> Result<(), Refusal> {
    let parts = [
        ("cluster", &origin.cluster),
        ("namespace", &origin.namespace),
        ("name", &origin.name),
        ("uid", &origin.uid),
    ];
    parts.into_iter().try_for_each(|(part, text)| identifier(&path(field, part), text, MAX_NAME_LENGTH))
}

pub(super) fn finite(field: &str, number: f64) -> Result<(), Refusal> {
    if number.is_finite() { Ok(()) } else { Err(Refusal::invalid(field, "must be a finite number")) }
}

pub(super) fn at_most(field: &str, count: usize, max: usize) -> Result<(), Refusal> {
    if count <= max { Ok(()) } else { Err(Refusal::invalid(field, format!("must have at most {max} items"))) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let kept = free_text("reason", &"é".repeat(3000)).unwrap();
        assert!(kept.len() <= MAX_TEXT_BYTES && kept.ends_with("é…"), "{}", kept.len());
        assert_eq!(free_text("reason", &"x".repeat(4096)).unwrap().len(), 4096);
        assert_eq!(free_text("reason", &"x".repeat(4097)).unwrap(), format!("{}…", "x".repeat(4093)));
    }

    #[test]
    fn a_free_text_has_no_terminal_escapes() {
        assert_eq!(free_text("reason", "a\u{1b}[2Jb\nc").unwrap(), "a [2Jb\nc");
    }

    #[rstest]
    #[case::nul("a\0b")]
    #[case::escape("a\u{1b}b")]
    #[case::newline("a\nb")]
    #[case::c1("a\u{85}b")]
    fn an_identifier_has_no_control_characters(#[case] text: &str) {
        let refused = identifier("name", text, 10).unwrap_err();
        assert_eq!(refused.to_string(), "name: must not contain control characters");
    }

    #[test]
    fn lengths_are_in_characters() {
        assert_eq!(identifier("name", &"ü".repeat(10), 10), Ok(()));
        assert_eq!(
            identifier("name", &"ü".repeat(11), 10).unwrap_err().to_string(),
            "name: must have at most 10 characters"
        );
    }
}
