use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Libraries that write a line per frame or per poll at `debug`; a bare `debug` is about our own code.
const CHATTY_LIBRARIES: &str = "h2=info,hyper=info,hyper_util=info,rustls=info,tonic=info,tower=info";

/// A level (`info`), or tracing's directives (`info,vmafx_node=debug`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(pub(super) String);

#[derive(Debug, thiserror::Error)]
pub enum LogFilterError {
    /// Tracing would take a word that is not a level for a module's name, and log nothing but that module.
    #[error(
        "\"{0}\" is not a level: use debug, info, warn or error, or directives such as info,vmafx_node=debug"
    )]
    NotALevel(String),
    #[error("\"{0}\" is not a directive such as vmafx_node=debug")]
    NotADirective(String),
}

impl FromStr for LogFilter {
    type Err = LogFilterError;

    fn from_str(text: &str) -> Result<Self, LogFilterError> {
        for part in text.split(',').map(str::trim) {
            let level = !part.is_empty() && part.parse::<LevelFilter>().is_ok();
            if !level && !part.contains(['=', '[']) {
                return Err(LogFilterError::NotALevel(part.to_owned()));
            }
            if EnvFilter::try_new(part).is_err() {
                return Err(LogFilterError::NotADirective(part.to_owned()));
            }
        }
        let bare = text.parse::<LevelFilter>().is_ok_and(|level| level >= LevelFilter::DEBUG);
        Ok(Self(if bare { format!("{text},{CHATTY_LIBRARIES}") } else { text.to_owned() }))
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
