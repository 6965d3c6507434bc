//! The extractors that a set of models requires, each with its options, without duplicates.

use std::collections::BTreeMap;

use super::table::{Extractor, ExtractorKind, MOTION_SAD, NEEDS_AIM, OptionDefault, SKIP_AIM, by_name};
use super::{by_feature, name};

#[derive(Clone, Debug)]
pub(in crate::engine) struct RequiredExtractor {
    extractor: &'static Extractor,
    options: BTreeMap<String, String>,
    suffix: String,
    /// Whether a model uses a feature that required AIM. Meaningful for ADM only.
    aim: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct FeatureOutput {
    /// The name under which libvmaf stores it.
    pub(in crate::engine) stored_name: String,
    /// The name in libvmaf's logs.
    pub(in crate::engine) log_name: String,
}

impl RequiredExtractor {
    pub(in crate::engine) fn name(&self) -> &'static str {
        self.extractor.name
    }

    pub(in crate::engine) fn kind(&self) -> ExtractorKind {
        self.extractor.kind
    }

    /// The options for its registration.
    pub(in crate::engine) fn options(&self) -> Vec<(String, String)> {
        let mut options: Vec<_> = self.options.clone().into_iter().collect();
        if self.skips_aim() {
            options.push((SKIP_AIM.to_owned(), "true".to_owned()));
        }
        options
    }

    /// Its outputs, without intermediate ones and those that AIM would be needed for.
    pub(in crate::engine) fn outputs(&self) -> impl Iterator<Item = FeatureOutput> {
        let features = self.extractor.features.iter();
        features
            .filter(|feature| feature.name != MOTION_SAD)
            .filter(|feature| !(self.skips_aim() && NEEDS_AIM.contains(&feature.name)))
            .map(|feature| FeatureOutput {
                stored_name: name::stored_name(feature, &self.suffix),
                log_name: name::log_name(feature, &self.suffix),
            })
    }

    /// The stored name of the sums of absolute differences that motion is derived from.
    pub(in crate::engine) fn motion_sad(&self) -> Option<String> {
        let feature = self.extractor.features.iter().find(|feature| feature.name == MOTION_SAD)?;
        Some(name::stored_name(feature, &self.suffix))
    }

    /// The value of a boolean option.
    pub(in crate::engine) fn flag(&self, option: &str) -> bool {
        self.options.get(option).is_some_and(|value| value == "true")
    }

    /// Whether an option has its default value.
    pub(in crate::engine) fn has_default(&self, option: &str) -> bool {
        match self.default(option) {
            Some(OptionDefault::No) => !self.flag(option),
            Some(OptionDefault::Text(default)) => self.text(option) == Some(*default),
            Some(OptionDefault::Int(default)) => {
                self.number(option).to_bits() == f64::from(*default).to_bits()
            }
            Some(OptionDefault::Real(default)) => self.number(option).to_bits() == default.to_bits(),
            None => false,
        }
    }

    pub(in crate::engine) fn text(&self, option: &str) -> Option<&str> {
        match (self.options.get(option), self.default(option)) {
            (Some(value), _) => Some(value),
            (None, Some(OptionDefault::Text(default))) => Some(default),
            _ => None,
        }
    }

    fn default(&self, option: &str) -> Option<&'static OptionDefault> {
        self.extractor.options.iter().find(|known| known.name == option).map(|known| &known.default)
    }

    /// The value of a numeric option, as libvmaf parses it. Not a number if the extractor has no such option.
    pub(in crate::engine) fn number(&self, option: &str) -> f64 {
        let set = self.options.get(option).and_then(|value| value.parse().ok());
        let default = || match self.default(option)? {
            OptionDefault::Int(value) => Some(f64::from(*value)),
            OptionDefault::Real(value) => Some(*value),
            OptionDefault::No | OptionDefault::Text(_) => None,
        };
        set.or_else(default).unwrap_or(f64::NAN)
    }

    /// Whether neither its AIM nor what depends on it is needed.
    pub(in crate::engine) fn skips_aim(&self) -> bool {
        self.extractor.name == "adm" && !self.aim && !self.options.contains_key(SKIP_AIM)
    }
}

/// Two models require an extractor with different options that libvmaf cannot tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct ExtractorConflict {
    pub(in crate::engine) extractor: &'static str,
}

/// In the order in which they were first required.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct RequiredExtractors(Vec<RequiredExtractor>);

impl RequiredExtractors {
    /// Adds the extractor of a feature that a model uses, with the model's options. Unknown features were refused when the
    /// model was parsed.
    pub(in crate::engine) fn add_feature(
        &mut self,
        feature: &str,
        options: &BTreeMap<String, String>,
    ) -> Result<(), ExtractorConflict> {
        match by_feature(feature) {
            Some(extractor) => self.add(extractor, options, NEEDS_AIM.contains(&feature)),
            None => Ok(()),
        }
    }

    /// Adds an extractor whose features were requested directly.
    pub(in crate::engine) fn add_extractor(&mut self, name: &str) -> Result<(), ExtractorConflict> {
        match by_name(name) {
            Some(extractor) => self.add(extractor, &BTreeMap::new(), true),
            None => Ok(()),
        }
    }

    fn add(
        &mut self,
        extractor: &'static Extractor,
        options: &BTreeMap<String, String>,
        aim: bool,
    ) -> Result<(), ExtractorConflict> {
        let suffix = name::suffix(extractor, |name| options.get(name).map(String::as_str));
        // libvmaf ignores an extractor if its name and the options with an alias equal those of a registered one, whatever its
        // other options are. So whether AIM is computed must be decided for all models before anything is registered.
        let same = self
            .0
            .iter_mut()
            .find(|required| required.extractor.name == extractor.name && required.suffix == suffix);
        if let Some(required) = same {
            let unnamed = |options: &BTreeMap<String, String>| {
                let unnamed = extractor.options.iter().filter(|option| option.alias.is_none());
                unnamed.map(|option| options.get(option.name).cloned()).collect::<Vec<_>>()
            };
            if unnamed(&required.options) != unnamed(options) {
                return Err(ExtractorConflict { extractor: extractor.name });
            }
            required.aim |= aim;
        } else {
            self.0.push(RequiredExtractor { extractor, options: options.clone(), suffix, aim });
        }
        Ok(())
    }

    /// Removes the extractors for which `wanted` is true, and returns them.
    pub(in crate::engine) fn take(
        &mut self,
        wanted: impl Fn(&RequiredExtractor) -> bool,
    ) -> Vec<RequiredExtractor> {
        self.0.extract_if(.., |required| wanted(required)).collect()
    }

    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &RequiredExtractor> {
        self.0.iter()
    }

    pub(in crate::engine) fn of(&self, kind: ExtractorKind) -> impl Iterator<Item = &RequiredExtractor> {
        self.0.iter().filter(move |required| required.kind() == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADM2: &str = "VMAF_integer_feature_adm2_score";
    const ADM3: &str = "VMAF_integer_feature_adm3_score";

    fn adm_options(required: &RequiredExtractors) -> Vec<Vec<(String, String)>> {
        required.iter().map(RequiredExtractor::options).collect()
    }

    #[test]
    fn aim_is_skipped_if_no_model_uses_it() {
        let mut required = RequiredExtractors::default();
        required.add_feature(ADM2, &BTreeMap::new()).unwrap();
        assert_eq!(adm_options(&required), [[(SKIP_AIM.to_owned(), "true".to_owned())]]);
        assert!(
            required
                .iter()
                .flat_map(RequiredExtractor::outputs)
                .all(|output| output.log_name != "integer_adm3")
        );
    }

    #[test]
    fn aim_is_computed_for_all_if_one_model_uses_it() {
        let mut required = RequiredExtractors::default();
        required.add_feature(ADM2, &BTreeMap::new()).unwrap();
        required.add_feature(ADM3, &BTreeMap::new()).unwrap();
        assert_eq!(adm_options(&required), [[]]);
    }

    #[test]
    fn an_option_makes_another_extractor_unless_it_has_its_default() {
        let options = |value: &str| BTreeMap::from([("adm_enhn_gain_limit".to_owned(), value.to_owned())]);
        let mut required = RequiredExtractors::default();
        for value in ["100", "1", "1"] {
            required.add_feature(ADM2, &options(value)).unwrap();
        }
        required.add_feature(ADM2, &BTreeMap::new()).unwrap();
        assert_eq!(required.iter().count(), 2);
    }

    #[test]
    fn options_that_libvmaf_cannot_tell_apart_are_a_conflict() {
        let mut required = RequiredExtractors::default();
        let full = BTreeMap::from([("full_ref".to_owned(), "true".to_owned())]);
        required.add_feature("Cambi_feature_cambi_score", &BTreeMap::new()).unwrap();
        let conflict = required.add_feature("Cambi_feature_cambi_score", &full);
        assert_eq!(conflict, Err(ExtractorConflict { extractor: "cambi" }));
    }
}
