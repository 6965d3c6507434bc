//! libvmaf's names for a feature whose extractor has options.

use std::collections::BTreeMap;

use super::table::{Extractor, FeatureNames, OptionDefault, by_feature};

/// The part of a name that lists the options, such as `_egl_1`: those that have an alias and not their default value, in the
/// order of their long names. Empty if there are none.
pub(super) fn suffix<'a>(extractor: &Extractor, value_of: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut options: Vec<_> = extractor.options.iter().collect();
    options.sort_by_key(|option| option.name);
    let mut suffix = String::new();
    for option in options {
        let (Some(alias), Some(value)) = (option.alias, value_of(option.name)) else { continue };
        let default = match option.default {
            OptionDefault::No => value == "false",
            OptionDefault::Int(default) => value.parse() == Ok(default),
            OptionDefault::Real(default) => value.parse::<f64>() == Ok(default),
            OptionDefault::Text(default) => value == default,
        };
        if default {
            continue;
        }
        suffix.push('_');
        suffix.push_str(alias);
        if !matches!(option.default, OptionDefault::No) {
            suffix.push('_');
            suffix.push_str(value);
        }
    }
    suffix
}

/// The name under which libvmaf stores a feature: the long one without options, the short one with options.
pub(super) fn stored_name(feature: &FeatureNames, suffix: &str) -> String {
    if suffix.is_empty() { feature.name.to_owned() } else { log_name(feature, suffix) }
}

/// The name in libvmaf's logs.
pub(super) fn log_name(feature: &FeatureNames, suffix: &str) -> String {
    format!("{}{suffix}", feature.alias)
}

/// The name in libvmaf's logs of a feature that a model uses with these options; `None` for an unknown feature.
pub(in crate::engine) fn feature_log_name(
    feature: &str,
    options: &BTreeMap<String, String>,
) -> Option<String> {
    let extractor = by_feature(feature)?;
    let names = extractor.features.iter().find(|names| names.name == feature)?;
    Some(log_name(names, &suffix(extractor, |name| options.get(name).map(String::as_str))))
}

/// A number as libvmaf writes it into a dictionary: rounded to single precision, then formatted by C's `%g`.
///
/// libvmaf computes with the rounded value and looks features up by it.
pub(in crate::engine) fn number(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // libvmaf rounds with `strtof`.
    let value = f64::from(value as f32);
    general(value)
}

/// C's `%g`: six digits, the shorter of two notations, no trailing zeroes.
fn general(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let scientific = format!("{value:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::engine::features::table::by_name;

    #[rstest]
    #[case(18.0, "18")]
    #[case(0.06, "0.06")]
    #[case(0.03125, "0.03125")]
    #[case(0.0, "0")]
    #[case(100.0, "100")]
    #[case(1_234_567.0, "1.23457e+06")]
    #[case(0.000_012_5, "1.25e-05")]
    #[case(-2.5, "-2.5")]
    fn numbers_are_formatted_as_in_c(#[case] value: f64, #[case] expected: &str) {
        assert_eq!(number(value), expected);
    }

    #[test]
    fn names_follow_the_options_in_the_order_of_their_long_names() {
        let motion = by_name("motion").unwrap();
        let value = |name: &str| match name {
            "motion_max_val" => Some("18"),
            "motion_five_frame_window" | "motion_moving_average" => Some("true"),
            "motion_blend_factor" => Some("1"),
            _ => None,
        };
        let suffix = suffix(motion, value);
        assert_eq!(stored_name(&motion.features[2], &suffix), "integer_motion3_mffw_mmxv_18_mma");
        assert_eq!(stored_name(&motion.features[2], ""), "VMAF_integer_feature_motion3_score");
        assert_eq!(log_name(&motion.features[2], ""), "integer_motion3");
    }
}
