//! The error report of a daemon that exits.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use crate::config::SettingsError;

/// Prints an error and its causes to standard error. Exit code 2 means that the settings are invalid.
pub(super) fn failure(error: &(dyn Error + 'static)) -> ExitCode {
    let _ = std::io::stderr().write_all(text(error).as_bytes());
    ExitCode::from(code(error))
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = format!("error: {error}\n");
    for cause in causes(error).skip(1) {
        let _ = writeln!(text, "  caused by: {cause}");
    }
    text
}

fn code(error: &(dyn Error + 'static)) -> u8 {
    if causes(error).any(<dyn Error>::is::<SettingsError>) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::*;
    use crate::channel::ChannelError;
    use crate::tasks::{BoxError, TaskError};

    const CONFLICT: SettingsError = SettingsError::Both { first: "VMAFX_A", second: "VMAFX_B" };

    #[test]
    fn every_cause_is_on_a_line_of_its_own() {
        let source = Box::new(io::Error::other("disk full"));
        let error = TaskError::Failed { task: "sweep".into(), source };
        assert_eq!(text(&error), "error: the task sweep failed\n  caused by: disk full\n");
    }

    #[test]
    fn settings_that_cannot_be_used_are_exit_code_two_wherever_they_are_found() {
        assert_eq!(code(&CONFLICT), 2);
        assert_eq!(code(&ChannelError::from(CONFLICT)), 2);
        let wrapped = Err::<(), _>(ChannelError::from(CONFLICT)).context("cannot start").unwrap_err();
        assert_eq!(code(BoxError::from(wrapped).as_ref()), 2);
        assert_eq!(code(&io::Error::other("disk full")), 1);
    }
}
