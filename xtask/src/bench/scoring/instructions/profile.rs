//! Callgrind's profiles: instructions by the feature that a function computes.

use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FeatureKind {
    Vif,
    Adm,
    Motion,
    Cambi,
    Speed,
    /// Reading, copying, allocation, the model.
    Other,
}

/// Parts of names of libvmaf's functions.
const OF_LIBVMAF: [(&str, FeatureKind); 22] = [
    ("vif", FeatureKind::Vif),
    ("subsample_rd", FeatureKind::Vif),
    ("adm", FeatureKind::Adm),
    ("dwt", FeatureKind::Adm),
    ("motion", FeatureKind::Motion),
    ("y_convolution", FeatureKind::Motion),
    ("x_convolution", FeatureKind::Motion),
    ("sad_", FeatureKind::Motion),
    ("cambi", FeatureKind::Cambi),
    ("c_value", FeatureKind::Cambi),
    ("_range", FeatureKind::Cambi),
    ("anti_dithering", FeatureKind::Cambi),
    ("quick_select", FeatureKind::Cambi),
    ("filter_mode", FeatureKind::Cambi),
    ("mask", FeatureKind::Cambi),
    ("decimate", FeatureKind::Cambi),
    ("derivative", FeatureKind::Cambi),
    ("speed", FeatureKind::Speed),
    ("convolution", FeatureKind::Speed),
    ("matrix", FeatureKind::Speed),
    ("compute_cov", FeatureKind::Speed),
    ("est_params", FeatureKind::Speed),
];

impl FeatureKind {
    const ALL: [Self; 6] = [Self::Vif, Self::Adm, Self::Motion, Self::Cambi, Self::Speed, Self::Other];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vif => "vif",
            Self::Adm => "adm",
            Self::Motion => "motion",
            Self::Cambi => "cambi",
            Self::Speed => "speed",
            Self::Other => "other",
        }
    }

    /// By the module of our kernels, or by the name in libvmaf.
    fn of_function(name: &str) -> Self {
        if let Some((_, path)) = name.split_once("vmafx_kernels") {
            // The name of the module comes next, behind `::` or, in a mangled name, behind its length.
            let module = path.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            return Self::ALL.into_iter().find(|kind| module.starts_with(kind.name())).unwrap_or(Self::Other);
        }
        // Functions of C have no path.
        let is_ours = name.contains("::") || name.starts_with("_R") || name.starts_with("_ZN");
        let known = OF_LIBVMAF.iter().find(|(part, _)| !is_ours && name.contains(part));
        known.map_or(Self::Other, |(_, kind)| *kind)
    }
}

/// Instructions by feature, each without those of the functions that a function calls.
pub(super) fn instructions(profile: &str) -> BTreeMap<FeatureKind, u64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut counts = BTreeMap::new();
    let (mut kind, mut is_call) = (FeatureKind::Other, false);
    for line in profile.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            kind = FeatureKind::of_function(name(&mut names, function));
        } else if let Some(function) = line.strip_prefix("cfn=") {
            name(&mut names, function);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let count = line.split(' ').nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
            // The line behind `calls=` has the cost of the called function.
            if !std::mem::take(&mut is_call) {
                *counts.entry(kind).or_insert(0_u64) += count;
            }
        }
    }
    counts
}

/// The name of a function, which a profile spells out once: `(12) name`, and `(12)` from then on.
fn name<'a>(names: &mut HashMap<&'a str, &'a str>, function: &'a str) -> &'a str {
    match function.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(function).copied().unwrap_or(function),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const PROFILE: &str = "\
# callgrind format
events: Ir

fl=(1) a.c
fn=(1) vif_statistic_8_avx2
12 100
+3 20
cfn=(2) adm_decouple
calls=3 40
* 5000

fn=(2)
40 7
fn=(3) memcpy
1 3
totals: 5130
";

    #[test]
    fn instructions_of_called_functions_are_not_counted_twice() {
        let expected = [(FeatureKind::Vif, 120), (FeatureKind::Adm, 7), (FeatureKind::Other, 3)];
        assert_eq!(instructions(PROFILE), BTreeMap::from(expected));
    }

    #[rstest]
    #[case("vmafx_kernels::vif::avx2::filter::rows", FeatureKind::Vif)]
    #[case("_ZN13vmafx_kernels3adm4avx28decouple17h0E", FeatureKind::Adm)]
    #[case("<vmafx_kernels::cambi::Cambi>::measure", FeatureKind::Cambi)]
    #[case("vmafx_kernels::plane::Plane<T>::new", FeatureKind::Other)]
    #[case("vmafx_scoring::score::mask", FeatureKind::Other)]
    #[case("increment_range_avx2", FeatureKind::Cambi)]
    #[case("i4_adm_cm", FeatureKind::Adm)]
    #[case("y_convolution_8", FeatureKind::Motion)]
    #[case("memset", FeatureKind::Other)]
    fn a_function_belongs_to_a_feature_by_its_name(#[case] name: &str, #[case] expected: FeatureKind) {
        assert_eq!(FeatureKind::of_function(name), expected);
    }
}
