//! Texts of callers in lines of the log.

/// A longer text is cut.
const MAX_CHARS: usize = 256;

/// A text that stays within one line, in every format of the log and in every program that reads it.
pub(super) fn printable(text: &str) -> String {
    let replaced = |c: char| if breaks_or_reorders(c) { char::REPLACEMENT_CHARACTER } else { c };
    let mut kept: String = text.chars().take(MAX_CHARS).map(replaced).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        kept.push('…');
    }
    kept
}

/// Control characters, the line separators of Unicode, and what changes the direction of the text behind it.
fn breaks_or_reorders(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("system:serviceaccount:studio:vmafx", "system:serviceaccount:studio:vmafx")]
    #[case::line("a\n{\"level\":\"INFO\"}", "a\u{fffd}{\"level\":\"INFO\"}")]
    #[case::escape("a\u{1b}[2J", "a\u{fffd}[2J")]
    #[case::separator("a\u{2028}b\u{85}c", "a\u{fffd}b\u{fffd}c")]
    #[case::reordered("a\u{202e}b\u{2066}c", "a\u{fffd}b\u{fffd}c")]
    fn a_text_has_one_line(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(printable(text), expected);
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(printable(&"é".repeat(256)), "é".repeat(256));
        assert_eq!(printable(&"é".repeat(10_000)), format!("{}…", "é".repeat(256)));
    }
}
