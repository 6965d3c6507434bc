//! Panics as log lines.

use std::any::Any;
use std::panic;

/// Writes panics to the logs in place of bare text on standard error, which a collector that expects JSON would
/// drop or tear apart. The place is known only here: who catches the panic later sees just the message.
pub(super) fn to_logs() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, thread = std::thread::current().name(), "panic: {}", message(info.payload()));
    }));
}

/// What was said to `panic!`.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}
