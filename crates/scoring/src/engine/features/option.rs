//! Which options a model may set, and how libvmaf writes their values.

use serde_json::Value;

use super::name;
use super::table::{Default, Extractor, SKIP_AIM};

/// The option is unknown, or this value of it cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct OptionProblem;

/// The value of an option as libvmaf keeps it.
///
/// Stricter than libvmaf, which passes over options that it does not know (a slip of the pen then gives another score),
/// and which goes on with `speed_chroma` although it has refused its options, without the buffers.
pub(in crate::engine) fn checked_option(
    extractor: &Extractor,
    name: &str,
    value: &Value,
) -> Result<String, OptionProblem> {
    // libvmaf tells extractors apart by the options in their names, and this one is decided here, for all models.
    if name == SKIP_AIM {
        return Err(OptionProblem);
    }
    let option = extractor.options.iter().find(|option| option.name == name).ok_or(OptionProblem)?;
    match (&option.default, value) {
        (Default::No, Value::Bool(value)) => Ok(value.to_string()),
        (Default::Int(_), Value::Number(number)) => {
            let value = number.as_i64().or_else(|| whole(number.as_f64()?)).ok_or(OptionProblem)?;
            // libvmaf writes a larger number as 1e+06 and reads that as 1.
            if (0..1_000_000).contains(&value) { Ok(value.to_string()) } else { Err(OptionProblem) }
        }
        (Default::Real(_), Value::Number(number)) => {
            let value = number.as_f64().filter(|value| value.is_finite()).ok_or(OptionProblem)?;
            match name {
                "speed_kernelscale" if (value - 1.0).abs() > 1e-6 => Err(OptionProblem),
                "speed_prescale" if !(0.1..=1.0).contains(&value) => Err(OptionProblem),
                _ => Ok(name::number(value)),
            }
        }
        (Default::Text(_), Value::String(text)) => {
            let allowed: &[&str] = match name {
                "speed_prescale_method" => &["nearest", "bilinear", "bicubic", "lanczos4"],
                _ => &["bt1886", "pq"],
            };
            if allowed.contains(&text.as_str()) { Ok(text.clone()) } else { Err(OptionProblem) }
        }
        _ => Err(OptionProblem),
    }
}

fn whole(value: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation)] // Checked right here.
    let whole = value as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Exact, or it was not whole.
    (whole as f64 == value).then_some(whole)
}
