//! The options that a model may set, and how libvmaf writes their values.

use serde_json::Value;

use super::name;
use super::table::{Extractor, OptionDefault, SKIP_AIM};

/// The option is unknown, or has a value that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct UnsupportedOption;

/// The value of an option as libvmaf stores it.
///
/// Stricter than libvmaf, which ignores unknown options, so that a misspelt one would give another score, and which runs
/// `speed_chroma` without its buffers after refusing its options.
pub(in crate::engine) fn checked_option(
    extractor: &Extractor,
    name: &str,
    value: &Value,
) -> Result<String, UnsupportedOption> {
    // This option is not in the name of an extractor, and is decided for all models together.
    if name == SKIP_AIM {
        return Err(UnsupportedOption);
    }
    let option = extractor.options.iter().find(|option| option.name == name).ok_or(UnsupportedOption)?;
    match (&option.default, value) {
        (OptionDefault::No, Value::Bool(value)) => Ok(value.to_string()),
        (OptionDefault::Int(_), Value::Number(number)) => {
            let value = number.as_i64().or_else(|| whole(number.as_f64()?)).ok_or(UnsupportedOption)?;
            // libvmaf writes larger numbers as 1e+06 and parses that as 1.
            if (0..1_000_000).contains(&value) { Ok(value.to_string()) } else { Err(UnsupportedOption) }
        }
        (OptionDefault::Real(_), Value::Number(number)) => {
            let value = number.as_f64().filter(|value| value.is_finite()).ok_or(UnsupportedOption)?;
            match name {
                "speed_kernelscale" if (value - 1.0).abs() > 1e-6 => Err(UnsupportedOption),
                "speed_prescale" if !(0.1..=1.0).contains(&value) => Err(UnsupportedOption),
                _ => Ok(name::number(value)),
            }
        }
        (OptionDefault::Text(_), Value::String(text)) => {
            let allowed: &[&str] = match name {
                "speed_prescale_method" => &["nearest", "bilinear", "bicubic", "lanczos4"],
                _ => &["bt1886", "pq"],
            };
            if allowed.contains(&text.as_str()) { Ok(text.clone()) } else { Err(UnsupportedOption) }
        }
        _ => Err(UnsupportedOption),
    }
}

fn whole(value: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation)] // Checked below.
    let whole = value as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Equal only if the value is a whole number.
    (whole as f64 == value).then_some(whole)
}
