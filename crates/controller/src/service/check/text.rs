//! Texts: how long, and of what.

use std::borrow::Cow;

use super::LONGEST_TEXT;
use crate::refusal::Refusal;
use vmafx_job::limits::MAX_NAME_LENGTH;

/// `scoring` and `reference` are `scoring.reference`; nothing and `reference` are `reference`.
pub(in crate::service) fn path(within: &str, field: &str) -> String {
    if within.is_empty() { field.to_owned() } else { format!("{within}.{field}") }
}

/// Something a caller sent, short enough to be repeated in an answer.
pub(in crate::service) fn shown(text: &str) -> Cow<'_, str> {
    cut(text, 64)
}

/// At most `longest` bytes, ended between characters and with an ellipsis when something was left out.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(longest - '…'.len_utf8());
    Cow::Owned(format!("{}…", &text[..end]))
}

/// A text for people. It is cut rather than refused: its end is not worth a failed call. Tabs and line ends may stand
/// in it; other control characters become spaces, since it ends up on terminals.
pub(in crate::service) fn text(field: &str, text: &str) -> Result<String, Refusal> {
    if text.contains('\0') {
        return Err(Refusal::invalid(field, "must not contain a NUL character"));
    }
    let printable = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
    Ok(cut(text, LONGEST_TEXT).chars().map(printable).collect())
}

/// A text that a machine reads: nothing is changed in it.
pub(super) fn word(field: &str, text: &str, longest: usize) -> Result<(), Refusal> {
    if text.chars().count() > longest {
        return Err(Refusal::invalid(field, format!("must have at most {longest} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(field, "must not contain control characters"));
    }
    Ok(())
}

/// The same, and there must be one.
pub(super) fn required_word(field: &str, text: &str, longest: usize) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::invalid(field, "is required"));
    }
    word(field, text, longest)
}

/// The four parts of a resource's name.
pub(super) fn origin(field: &str, origin: &vmafx_queue::job::Origin) -> Result<(), Refusal> {
    let parts = [
        ("cluster", &origin.cluster),
        ("namespace", &origin.namespace),
        ("name", &origin.name),
        ("uid", &origin.uid),
    ];
    parts.into_iter().try_for_each(|(part, text)| word(&path(field, part), text, MAX_NAME_LENGTH))
}

/// A number that is one.
pub(super) fn finite(field: &str, number: f64) -> Result<(), Refusal> {
    if number.is_finite() { Ok(()) } else { Err(Refusal::invalid(field, "must be a finite number")) }
}

/// At most so many.
pub(super) fn at_most(field: &str, found: usize, most: usize) -> Result<(), Refusal> {
    if found <= most {
        Ok(())
    } else {
        Err(Refusal::invalid(field, format!("must have at most {most} items")))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let kept = text("reason", &"é".repeat(3000)).unwrap();
        assert!(kept.len() <= LONGEST_TEXT && kept.ends_with("é…"), "{}", kept.len());
        assert_eq!(text("reason", &"x".repeat(4096)).unwrap().len(), 4096);
        assert_eq!(text("reason", &"x".repeat(4097)).unwrap(), format!("{}…", "x".repeat(4093)));
    }

    #[test]
    fn a_text_for_people_cannot_move_the_cursor() {
        assert_eq!(text("reason", "a\u{1b}[2Jb\nc").unwrap(), "a [2Jb\nc");
    }

    #[rstest]
    #[case::nul("a\0b")]
    #[case::escape("a\u{1b}b")]
    #[case::newline("a\nb")]
    #[case::c1("a\u{85}b")]
    fn a_word_has_no_control_characters(#[case] text: &str) {
        let refused = word("name", text, 10).unwrap_err();
        assert_eq!(refused.to_string(), "name: must not contain control characters");
    }

    #[test]
    fn lengths_are_in_characters() {
        assert_eq!(word("name", &"ü".repeat(10), 10), Ok(()));
        assert_eq!(
            word("name", &"ü".repeat(11), 10).unwrap_err().to_string(),
            "name: must have at most 10 characters"
        );
    }
}
