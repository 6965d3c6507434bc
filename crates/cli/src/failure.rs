//! The text of an error for the user: the error and each of its causes on a line of its own.

use std::error::Error;
use std::fmt::Write as _;

/// `error: …`, then `caused by: …` for every cause. A cause whose text is already part of the line above is omitted.
pub fn text(error: &dyn Error) -> String {
    let mut previous = error.to_string();
    let mut text = format!("error: {previous}\n");
    let mut cause = error.source();
    while let Some(source) = cause {
        let line = source.to_string();
        if !previous.contains(&line) {
            let _ = writeln!(text, "  caused by: {line}");
            previous = line;
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
    fn a_repeated_cause_is_omitted() {
        let error = Example::Same(Box::new(Example::Inner(io::Error::other("disk full"))));
        assert_eq!(text(&error), "error: a.json: no file can be written there\n  caused by: disk full\n");
    }
}
