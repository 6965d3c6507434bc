//! Which log lines are written.

use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Libraries that write a line per frame or per poll at `debug`; a bare `debug` is about our own code.
const CHATTY: &str = "h2=info,hyper=info,hyper_util=info,rustls=info,tonic=info,tower=info";

/// A level (`info`), or tracing's directives (`info,vmafx_node=debug`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

/// Why a text is not a filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A word that is no level. Tracing would take it for a module's name and log nothing but that module.
    #[error(
        "\"{0}\" is not a level: use debug, info, warn or error, or directives such as info,vmafx_node=debug"
    )]
    NotALevel(String),
    /// A directive that tracing does not understand.
    #[error("\"{0}\" is not a directive such as vmafx_node=debug")]
    NotADirective(String),
}

impl LogFilter {
    /// The filter itself. The text was checked when it was read, so nothing is lost by the lossy reading.
    pub(super) fn to_env_filter(&self) -> EnvFilter {
        EnvFilter::builder().parse_lossy(&self.0)
    }
}

impl FromStr for LogFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        for part in text.split(',').map(str::trim) {
            let level = !part.is_empty() && part.parse::<LevelFilter>().is_ok();
            if !level && !part.contains(['=', '[']) {
                return Err(FilterError::NotALevel(part.to_owned()));
            }
            if EnvFilter::try_new(part).is_err() {
                return Err(FilterError::NotADirective(part.to_owned()));
            }
        }
        let bare = text.parse::<LevelFilter>().is_ok_and(|level| level >= LevelFilter::DEBUG);
        Ok(Self(if bare { format!("{text},{CHATTY}") } else { text.to_owned() }))
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("info")]
    #[case("WARN")]
    #[case("debug")]
    #[case("off")]
    #[case("info,vmafx_node=debug,h2=off")]
    #[case("info, vmafx_node=debug")]
    #[case("info,vmafx_node[job]=trace")]
    fn takes_levels_and_directives(#[case] text: &str) {
        assert!(text.parse::<LogFilter>().is_ok());
    }

    #[rstest]
    #[case("verbose")]
    #[case("info,vmafx_node")]
    #[case("vmafx_node=loud")]
    #[case("")]
    fn refuses_what_would_silence_the_logs(#[case] text: &str) {
        assert!(text.parse::<LogFilter>().is_err());
    }
}
