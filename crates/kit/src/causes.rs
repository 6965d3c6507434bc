//! Errors as people read them.

use std::error::Error;

/// Tonic's text for every failure of a connection: the cause below it is what people want to know.
const NOTHING_SAID: &str = "transport error";

/// An error and its causes in one line, without what says nothing or is said twice.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !text.is_empty() && text != NOTHING_SAID && !said.iter().any(|before| before.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    said.join(": ")
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
