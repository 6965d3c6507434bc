//! A name that was refused, as it may be shown.

/// Longest text that is shown.
const SHOWN: usize = 200;

/// Without what may be a password or a signature, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let (public, cut) = match text.find(['?', '#']) {
        Some(at) => (&text[..at], "?…"),
        None => (text, ""),
    };
    let (scheme, rest) = match public.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), public),
    };
    // A digest stands behind a slash; what stands before anything else is a user.
    let rest = match rest.split_once('@') {
        Some((before, after)) if !is_digest(after) || !before.contains('/') => format!("…@{after}"),
        _ => rest.to_owned(),
    };
    let whole = format!("{scheme}{rest}{cut}");
    let mut text: String = whole.chars().flat_map(char::escape_debug).take(SHOWN).collect();
    if whole.chars().count() > SHOWN {
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
    fn nothing_secret_is_shown(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }
}
