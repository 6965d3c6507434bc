//! How libvmaf names a feature whose extractor has options.

use std::collections::BTreeMap;

use super::table::{Default, Extractor, Feature, by_feature};

/// The part of a name that tells the options, such as `_egl_1`: those that are named and do not have their default, in
/// the order of their long names. Empty when there is none.
pub(super) fn suffix<'a>(extractor: &Extractor, value_of: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut options: Vec<_> = extractor.options.iter().collect();
    options.sort_by_key(|option| option.name);
    let mut suffix = String::new();
    for option in options {
        let (Some(alias), Some(value)) = (option.alias, value_of(option.name)) else { continue };
        let default = match option.default {
            Default::No => value == "false",
            Default::Int(default) => value.parse() == Ok(default),
            Default::Real(default) => value.parse::<f64>() == Ok(default),
            Default::Text(default) => value == default,
        };
        if default {
            continue;
        }
        suffix.push('_');
        suffix.push_str(alias);
        if !matches!(option.default, Default::No) {
            suffix.push('_');
            suffix.push_str(value);
        }
    }
    suffix
}

/// The name under which libvmaf keeps a feature: the long one without options, the short one with them.
pub(super) fn kept(feature: &Feature, suffix: &str) -> String {
    if suffix.is_empty() { feature.name.to_owned() } else { shown(feature, suffix) }
}

/// The name in libvmaf's logs.
pub(super) fn shown(feature: &Feature, suffix: &str) -> String {
    format!("{}{suffix}", feature.alias)
}

/// The name in libvmaf's logs of a feature that a model uses with these options; nothing for an unknown feature.
pub(in crate::engine) fn shown_name(feature: &str, options: &BTreeMap<String, String>) -> Option<String> {
    let extractor = by_feature(feature)?;
    let found = extractor.features.iter().find(|known| known.name == feature)?;
    Some(shown(found, &suffix(extractor, |name| options.get(name).map(String::as_str))))
}

/// A number as libvmaf writes it into a dictionary: rounded to single precision, then as C's `%g` does it.
///
/// Rounding is not for looks: libvmaf computes with the rounded value, and finds features by it.
pub(in crate::engine) fn number(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // What libvmaf does: `strtof`.
    let value = f64::from(value as f32);
    general(value)
}

/// C's `%g`: six digits, the shorter of two notations, no zeroes at the end.
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
    fn numbers_are_written_as_c_does(#[case] value: f64, #[case] expected: &str) {
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
        assert_eq!(kept(&motion.features[2], &suffix), "integer_motion3_mffw_mmxv_18_mma");
        assert_eq!(kept(&motion.features[2], ""), "VMAF_integer_feature_motion3_score");
        assert_eq!(shown(&motion.features[2], ""), "integer_motion3");
    }
}
