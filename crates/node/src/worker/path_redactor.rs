//! Replaces local paths in messages by the addresses that the job has for them: a path of this machine means nothing to
//! the submitter, and tells more about the machine than it should.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use crate::task::{ModelSource, Task};

const MAX_MESSAGE_LENGTH: usize = 1_500;

#[derive(Clone, Debug)]
pub(crate) struct PathRedactor {
    /// Path and name, the longest path first: a path may be the beginning of another.
    names: Vec<(String, String)>,
}

impl PathRedactor {
    pub(crate) fn of(task: &Task) -> Self {
        let text = |path: &Path| path.display().to_string();
        let mut names = vec![
            (text(&task.reference.path), task.reference.name.clone()),
            (text(&task.distorted.path), task.distorted.name.clone()),
            (text(&task.limits.scratch), "the scratch directory".to_owned()),
        ];
        if let ModelSource::File { path, name } = &task.model {
            names.push((text(path), name.clone()));
        }
        names.extend(task.report.iter().map(|path| (text(path), "the report".to_owned())));
        names.retain(|(path, _)| !path.is_empty());
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { names }
    }

    /// An error and its causes in one line, redacted.
    pub(crate) fn message(&self, error: &dyn Error) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        self.redact(&text)
    }

    /// The text without local paths and control characters, and not longer than a message may be.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text;
        // One pass from left to right, because a name may look like a path itself.
        while let Some(next) = rest.chars().next() {
            let named = self.names.iter().find(|(path, _)| rest.starts_with(path.as_str()));
            let consumed = if let Some((path, name)) = named {
                redacted.push_str(name);
                path.len()
            } else {
                redacted.push(if next.is_control() { ' ' } else { next });
                next.len_utf8()
            };
            rest = &rest[consumed..];
        }
        shorten(redacted, MAX_MESSAGE_LENGTH)
    }
}

/// Cuts out the middle, because the beginning of a message names the file and its end the cause.
fn shorten(text: String, max_length: usize) -> String {
    let count = text.chars().count();
    if count <= max_length {
        return text;
    }
    let half = max_length / 2 - 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> PathRedactor {
        let names = [
            ("/scratch/7/a", "s3://b/ref.mkv"),
            ("/scratch/7/ab", "/scratch/7/a"),
            ("/scratch/7", "the scratch directory"),
        ];
        let mut names: Vec<_> = names.map(|(path, name)| (path.to_owned(), name.to_owned())).into();
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        PathRedactor { names }
    }

    #[test]
    fn the_longest_path_wins_and_a_name_is_not_translated_again() {
        assert_eq!(
            redactor().redact("/scratch/7/a is not /scratch/7/ab, nor /scratch/7/x"),
            "s3://b/ref.mkv is not /scratch/7/a, nor the scratch directory/x"
        );
    }

    #[test]
    fn causes_are_kept_and_control_characters_are_not() {
        let cause = std::io::Error::other("line\u{1b}[31m one\nline two");
        let error = vmafx_scoring::input::InputError::Open { path: "/scratch/7/a".into(), source: cause };
        assert_eq!(redactor().message(&error), "cannot open s3://b/ref.mkv: line [31m one line two");
    }

    #[test]
    fn a_long_message_keeps_its_ends() {
        let text = redactor().redact(&format!("begin{}end", "x".repeat(10_000)));
        assert!(text.starts_with("beginx") && text.ends_with("xend") && text.contains(" … "));
        assert!(text.chars().count() <= MAX_MESSAGE_LENGTH);
    }
}
