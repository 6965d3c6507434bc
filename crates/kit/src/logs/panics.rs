//! Panics as log lines.

use std::any::Any;
use std::panic;

/// Logs panics instead of printing plain text to standard error, which a collector that expects JSON would drop.
/// Only the hook knows the location: whoever joins the task sees just the message.
pub(super) fn to_logs() {
    panic::set_hook(Box::new(|info| {
        let location = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(
            location,
            thread = std::thread::current().name(),
            "panic: {}",
            message(info.payload())
        );
    }));
}

/// The message that was passed to `panic!`.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is not text")
}
