//! Logs to standard error: text on a terminal, one JSON object per line elsewhere.

mod filter;
pub(crate) mod panics;

use std::io::{self, IsTerminal};

use clap::ValueEnum;
pub use filter::{LogFilter, LogFilterError};
use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry};

/// Log settings; a daemon flattens them into its own.
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// Log level: debug, info, warn, error, or directives such as `info,vmafx_node=debug`.
    #[arg(long, env = "VMAFX_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub log_level: LogFilter,

    /// Log format; `auto` is text on a terminal and JSON elsewhere.
    #[arg(long, env = "VMAFX_LOG_FORMAT", default_value = "auto", value_name = "FORMAT")]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    fn is_json(self, terminal: bool) -> bool {
        match self {
            Self::Auto => !terminal,
            Self::Text => false,
            Self::Json => true,
        }
    }
}

/// Sends the logs of this process to standard error, and its panics to the logs. Fails when a subscriber is already
/// installed.
pub fn init(args: &LogArgs) -> Result<(), TryInitError> {
    subscriber(args, io::stderr().is_terminal(), io::stderr).try_init()?;
    panics::to_logs();
    Ok(())
}

/// A subscriber for any writer. Timestamps are RFC 3339 in UTC.
pub fn subscriber<W>(args: &LogArgs, terminal: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines = if args.log_format.is_json(terminal) {
        // Log collectors look for fields beside the message, not in a nested object.
        lines.json().flatten_event(true).with_span_list(false).boxed()
    } else {
        lines.with_ansi(terminal).boxed()
    };
    // The text was validated when it was parsed, so the lossy parser drops nothing.
    let filter = EnvFilter::builder().parse_lossy(&args.log_level.0);
    Registry::default().with(filter).with(lines)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, MutexGuard};

    use rstest::rstest;

    use super::*;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    struct BufferWriter<'p>(MutexGuard<'p, Vec<u8>>);

    impl io::Write for BufferWriter<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'p> MakeWriter<'p> for SharedBuffer {
        type Writer = BufferWriter<'p>;
        fn make_writer(&'p self) -> BufferWriter<'p> {
            BufferWriter(self.0.lock().unwrap())
        }
    }

    fn written(level: &str, format: LogFormat, terminal: bool, act: impl FnOnce()) -> String {
        let buffer = SharedBuffer::default();
        let args = LogArgs { log_level: level.parse().unwrap(), log_format: format };
        tracing::subscriber::with_default(subscriber(&args, terminal, buffer.clone()), act);
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    #[rstest]
    #[case(LogFormat::Auto, true, false)]
    #[case(LogFormat::Auto, false, true)]
    #[case(LogFormat::Text, false, false)]
    #[case(LogFormat::Json, true, true)]
    fn text_on_a_terminal_and_json_elsewhere_unless_told(
        #[case] format: LogFormat,
        #[case] terminal: bool,
        #[case] json: bool,
    ) {
        let line = written("info", format, terminal, || tracing::info!(slots = 4, "node registered"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), json, "{line}");
    }

    #[test]
    fn a_json_line_has_time_level_message_and_fields_at_the_top() {
        let line = written("info", LogFormat::Json, false, || {
            tracing::info_span!("job", id = 7).in_scope(|| tracing::warn!(slots = 4, "node registered"));
        });
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["message"], "node registered");
        assert_eq!(line["slots"], 4);
        assert_eq!(line["span"]["id"], 7);
        line["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    }

    #[test]
    fn a_pipe_gets_no_colours() {
        let line = written("info", LogFormat::Text, false, || tracing::info!("node registered"));
        assert!(line.contains("node registered") && !line.contains('\u{1b}'), "{line:?}");
    }

    #[test]
    fn what_is_below_the_level_is_not_written() {
        assert_eq!(written("warn", LogFormat::Json, false, || tracing::info!("chatter")), "");
    }

    #[test]
    fn debug_does_not_open_the_flood_of_the_libraries() {
        let act = || {
            tracing::debug!(target: "h2::codec", "frame");
            tracing::debug!(target: "vmafx_node", "pulled");
        };
        let lines = written("debug", LogFormat::Json, false, act);
        assert!(lines.contains("pulled") && !lines.contains("frame"), "{lines}");
    }
}
