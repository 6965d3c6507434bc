//! Errors as people read them.

use std::error::Error;

/// An error and its causes, without what is said twice.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !text.is_empty() && !said.iter().any(|before| before.contains(&text)) {
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

    #[test]
    fn causes_follow_and_repetitions_do_not() {
        let link = |text, source: Option<Link>| Link { text, source: source.map(Box::new) };
        let error = link("a", Some(link("b is c", Some(link("c", Some(link("d", None)))))));
        assert_eq!(chain(&error), "a: b is c: d");
    }
}
