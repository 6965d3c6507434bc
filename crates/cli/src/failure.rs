//! Errors as a user reads them: what went wrong, then what caused it, one line each.

use std::error::Error;
use std::fmt::Write as _;

/// `error: …` and a `caused by: …` for every cause. A cause that the text above it already tells is left out.
pub fn text(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut text = format!("error: {told}\n");
    let mut cause = error.source();
    while let Some(source) = cause {
        let line = source.to_string();
        if !told.contains(&line) {
            let _ = writeln!(text, "  caused by: {line}");
            told = line;
        }
        cause = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Example {
        #[error("the report cannot be written")]
        Outer(#[source] Box<Example>),
        #[error("a.json: no file can be written there")]
        Inner(#[source] io::Error),
        #[error(transparent)]
        Same(Box<Example>),
    }

    #[test]
    fn every_cause_has_its_line() {
        let inner = Example::Inner(io::Error::other("disk full"));
        let error = Example::Outer(Box::new(inner));
        assert_eq!(
            text(&error),
            "error: the report cannot be written\n  caused by: a.json: no file can be written there\n  \
             caused by: disk full\n"
        );
    }

    #[test]
    fn nothing_is_told_twice() {
        let error = Example::Same(Box::new(Example::Inner(io::Error::other("disk full"))));
        assert_eq!(text(&error), "error: a.json: no file can be written there\n  caused by: disk full\n");
    }
}
