//! Messages call files by the addresses that a job has for them, never by where they lie on this machine.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use crate::task::{Model, Task};

/// Most characters of a message.
const MOST: usize = 1_500;

/// What local paths are called.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Path and name, the longest path first.
    known: Vec<(String, String)>,
}

impl Names {
    /// Those of a task.
    pub(crate) fn of(task: &Task) -> Self {
        let text = |path: &Path| path.display().to_string();
        let mut known = vec![
            (text(&task.reference.path), task.reference.name.clone()),
            (text(&task.distorted.path), task.distorted.name.clone()),
            (text(&task.limits.scratch), "the scratch directory".to_owned()),
        ];
        if let Model::File { path, name } = &task.model {
            known.push((text(path), name.clone()));
        }
        known.extend(task.report.iter().map(|path| (text(path), "the report".to_owned())));
        known.retain(|(path, _)| !path.is_empty());
        // A path may be the beginning of another.
        known.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { known }
    }

    /// An error and its causes in one line.
    pub(crate) fn message(&self, error: &dyn Error) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        self.in_words(&text)
    }

    /// A text without local paths, control characters and excess.
    pub(crate) fn in_words(&self, text: &str) -> String {
        let mut words = String::with_capacity(text.len());
        let mut rest = text;
        // From left to right, once: a name may look like a path itself.
        while let Some(next) = rest.chars().next() {
            let known = self.known.iter().find(|(path, _)| rest.starts_with(path.as_str()));
            let taken = if let Some((path, name)) = known {
                words.push_str(name);
                path.len()
            } else {
                words.push(if next.is_control() { ' ' } else { next });
                next.len_utf8()
            };
            rest = &rest[taken..];
        }
        shorten(words, MOST)
    }
}

/// At most so many characters; what is left out is the middle, since a beginning names the file and an end the cause.
fn shorten(text: String, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let half = most / 2 - 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let known = [
            ("/scratch/7/a", "s3://b/ref.mkv"),
            ("/scratch/7/ab", "/scratch/7/a"),
            ("/scratch/7", "the scratch directory"),
        ];
        let mut known: Vec<_> = known.map(|(path, name)| (path.to_owned(), name.to_owned())).into();
        known.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Names { known }
    }

    #[test]
    fn the_longest_path_wins_and_a_name_is_not_translated_again() {
        assert_eq!(
            names().in_words("/scratch/7/a is not /scratch/7/ab, nor /scratch/7/x"),
            "s3://b/ref.mkv is not /scratch/7/a, nor the scratch directory/x"
        );
    }

    #[test]
    fn causes_are_told_and_control_characters_are_not() {
        let cause = std::io::Error::other("line\u{1b}[31m one\nline two");
        let error = vmafx_scoring::input::InputError::Open { path: "/scratch/7/a".into(), source: cause };
        assert_eq!(names().message(&error), "cannot open s3://b/ref.mkv: line [31m one line two");
    }

    #[test]
    fn a_long_message_keeps_its_ends() {
        let text = names().in_words(&format!("begin{}end", "x".repeat(10_000)));
        assert!(text.starts_with("beginx") && text.ends_with("xend") && text.contains(" … "));
        assert!(text.chars().count() <= MOST);
    }
}
