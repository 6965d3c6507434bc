//! What all images of a build have in common.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace;

/// What all images of a build have in common.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The version of the workspace.
    pub(crate) version: String,
    /// The tag of every image.
    pub(crate) tag: String,
    /// The commit, with a mark if there is more than it; none outside of git.
    pub(crate) revision: Option<String>,
    /// Where the source code is published.
    pub(crate) source: Option<String>,
    /// When the input was made.
    pub(crate) created: String,
}

impl Facts {
    pub(crate) fn gather(tag: Option<String>, source: Option<String>) -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
        let epoch = epoch.or_else(|| git(&["show", "--no-patch", "--format=%ct", "HEAD"]));
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
        let mark = if changed.is_empty() { "" } else { "-dirty" };
        Ok(Self {
            tag: tag.unwrap_or_else(|| format!("v{version}")),
            version,
            revision: git(&["rev-parse", "HEAD"]).map(|commit| commit + mark),
            source,
            created: date(epoch.as_deref().unwrap_or("0"))?,
        })
    }
}

/// What git says in the repository, if there is one.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(workspace::root()).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}

/// Seconds since the beginning of 1970, as documents write a time.
fn date(seconds: &str) -> Result<String> {
    let seconds = seconds.trim().parse().context("SOURCE_DATE_EPOCH is no number of seconds")?;
    Ok(jiff::Timestamp::from_second(seconds)
        .context("SOURCE_DATE_EPOCH is beyond all calendars")?
        .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_documents_want_it() {
        assert_eq!(date("1767323045\n").unwrap(), "2026-01-02T03:04:05Z");
        assert!(date("yesterday").unwrap_err().to_string().contains("SOURCE_DATE_EPOCH"));
    }
}
