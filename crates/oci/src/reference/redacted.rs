//! References without secrets, for error messages.

const MAX_LENGTH: usize = 200;

/// Removes userinfo and queries, which may hold a password or a signature, and escapes control characters.
pub(super) fn redacted(text: &str) -> String {
    let (public, cut) = match text.find(['?', '#']) {
        Some(at) => (&text[..at], "?…"),
        None => (text, ""),
    };
    let (scheme, rest) = match public.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), public),
    };
    // An @ introduces a digest only after a slash; otherwise the part before it is userinfo.
    let rest = match rest.split_once('@') {
        Some((before, after)) if !is_digest(after) || !before.contains('/') => format!("…@{after}"),
        _ => rest.to_owned(),
    };
    let whole = format!("{scheme}{rest}{cut}");
    let mut text: String = whole.chars().flat_map(char::escape_debug).take(MAX_LENGTH).collect();
    if whole.chars().count() > MAX_LENGTH {
        text.push('…');
    }
    text
}

fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(algorithm, _)| ["sha256", "sha512"].contains(&algorithm))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("oci://host/model:a", "oci://host/model:a")]
    #[case("oci://u:p@host/model:a", "oci://…@host/model:a")]
    #[case("oci://u:p/q@host/model:a", "oci://…@host/model:a")]
    #[case("oci://u:p/q@shared.example/model:a", "oci://…@shared.example/model:a")]
    #[case("oci://host/model@sha256:abc", "oci://host/model@sha256:abc")]
    #[case("oci://host/model?token=abc", "oci://host/model?…")]
    #[case("ho\u{1b}[31mst", "ho\\u{1b}[31mst")]
    fn secrets_are_redacted(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redacted(text), expected);
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(redacted(&"x".repeat(1000)).chars().count(), MAX_LENGTH + 1);
    }
}
