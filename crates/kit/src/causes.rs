//! Error chains as one line of text.

use std::error::Error;

/// Tonic's text for every failed connection; only its source says what happened.
const TONIC_PLACEHOLDER: &str = "transport error";

/// An error and its causes in one line. Empty texts, tonic's placeholder and repetitions are left out.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !text.is_empty() && text != TONIC_PLACEHOLDER && !texts.iter().any(|before| before.contains(&text))
        {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    fn link(text: &'static str, source: Option<Link>) -> Link {
        Link { text, source: source.map(Box::new) }
    }

    #[test]
    fn causes_follow_and_repetitions_do_not() {
        let error = link("a", Some(link("b is c", Some(link("c", Some(link("d", None)))))));
        assert_eq!(chain(&error), "a: b is c: d");
    }

    #[test]
    fn words_that_say_nothing_are_left_out() {
        let error = link("transport error", Some(link("", Some(link("connection refused", None)))));
        assert_eq!(chain(&error), "connection refused");
    }
}
