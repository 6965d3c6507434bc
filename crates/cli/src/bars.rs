//! How bars look that show jobs.

use indicatif::ProgressStyle;

/// A job whose end is in sight.
pub(crate) const ONE: &str = "{spinner:.blue} {prefix}  {bar:24.blue/dim} {percent:>3} %  {msg}";
/// A job that waits.
pub(crate) const WAITING: &str = "{spinner:.blue} {prefix}  {msg}";
/// A job that is over.
pub(crate) const ENDED: &str = "  {prefix}  {msg}";
/// Many jobs together.
pub(crate) const ALL: &str = "{spinner:.blue} {bar:32.blue/dim} {pos} of {len} jobs  {msg}";

pub(crate) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━─")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_understood() {
        for template in [ONE, WAITING, ENDED, ALL] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
