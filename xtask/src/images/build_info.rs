//! Information that all images of a build share.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace;

#[derive(Debug, Clone)]
pub(crate) struct BuildInfo {
    /// Version of the workspace.
    pub(crate) version: String,
    pub(crate) tag: String,
    /// The commit, with `-dirty` if there are uncommitted changes; none outside a git repository.
    pub(crate) revision: Option<String>,
    /// URL of the source code.
    pub(crate) source: Option<String>,
    /// Time of the commit or `SOURCE_DATE_EPOCH`, as RFC 3339.
    pub(crate) created: String,
}

impl BuildInfo {
    pub(crate) fn gather(tag: Option<String>, source: Option<String>) -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
        let epoch = epoch.or_else(|| git(&["show", "--no-patch", "--format=%ct", "HEAD"]));
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
        let suffix = if changed.is_empty() { "" } else { "-dirty" };
        Ok(Self {
            tag: tag.unwrap_or_else(|| format!("v{version}")),
            version,
            revision: git(&["rev-parse", "HEAD"]).map(|commit| commit + suffix),
            source,
            created: date(epoch.as_deref().unwrap_or("0"))?,
        })
    }
}

/// Output of a git command; none if it fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(workspace::root()).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}

/// Converts seconds since 1970 to RFC 3339.
fn date(seconds: &str) -> Result<String> {
    let seconds = seconds.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")?;
    Ok(jiff::Timestamp::from_second(seconds).context("SOURCE_DATE_EPOCH is out of range")?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_rfc_3339() {
        assert_eq!(date("1767323045\n").unwrap(), "2026-01-02T03:04:05Z");
        assert!(date("yesterday").unwrap_err().to_string().contains("SOURCE_DATE_EPOCH"));
    }
}
