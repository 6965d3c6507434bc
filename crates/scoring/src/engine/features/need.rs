//! Which extractors a set of models needs, each with its options, each once.

use std::collections::BTreeMap;

use super::table::{Extractor, Kind, MOTION_SAD, NEEDS_AIM, SKIP_AIM, by_name};
use super::{by_feature, name};

/// One extractor with its options.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Need {
    extractor: &'static Extractor,
    options: BTreeMap<String, String>,
    suffix: String,
    /// Whether a model uses what AIM is for. Says nothing about other extractors than ADM.
    aim: bool,
}

/// Something an extractor writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Output {
    /// The name libvmaf keeps it under.
    pub(in crate::engine) kept: String,
    /// The name in libvmaf's logs.
    pub(in crate::engine) shown: String,
}

impl Need {
    /// Name of the extractor.
    pub(in crate::engine) fn extractor(&self) -> &'static str {
        self.extractor.name
    }

    /// How it looks at time.
    pub(in crate::engine) fn kind(&self) -> Kind {
        self.extractor.kind
    }

    /// The options to register it with.
    pub(in crate::engine) fn options(&self) -> Vec<(String, String)> {
        let mut options: Vec<_> = self.options.clone().into_iter().collect();
        if self.skips_aim() {
            options.push((SKIP_AIM.to_owned(), "true".to_owned()));
        }
        options
    }

    /// What it writes that means something.
    pub(in crate::engine) fn outputs(&self) -> impl Iterator<Item = Output> {
        let features = self.extractor.features.iter();
        features
            .filter(|feature| feature.name != MOTION_SAD)
            .filter(|feature| !(self.skips_aim() && NEEDS_AIM.contains(&feature.name)))
            .map(|feature| Output {
                kept: name::kept(feature, &self.suffix),
                shown: name::shown(feature, &self.suffix),
            })
    }

    /// The name of the sums of differences that motion is derived from.
    pub(in crate::engine) fn motion_sad(&self) -> Option<String> {
        let feature = self.extractor.features.iter().find(|feature| feature.name == MOTION_SAD)?;
        Some(name::kept(feature, &self.suffix))
    }

    fn skips_aim(&self) -> bool {
        self.extractor.name == "adm" && !self.aim && !self.options.contains_key(SKIP_AIM)
    }
}

/// Two models want the same features computed in different ways, which libvmaf could not tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Clash {
    /// The extractor.
    pub(in crate::engine) extractor: &'static str,
}

/// The extractors that are needed, in the order in which they were first asked for.
#[derive(Clone, Debug, std::default::Default)]
pub(in crate::engine) struct Needs(Vec<Need>);

impl Needs {
    /// Adds a feature that a model uses, with the options it gives. Unknown features were refused when the model was
    /// read.
    pub(in crate::engine) fn add_feature(
        &mut self,
        feature: &str,
        options: &BTreeMap<String, String>,
    ) -> Result<(), Clash> {
        match by_feature(feature) {
            Some(extractor) => self.add(extractor, options, NEEDS_AIM.contains(&feature)),
            None => Ok(()),
        }
    }

    /// Adds an extractor for its own sake.
    pub(in crate::engine) fn add_extractor(&mut self, name: &str) -> Result<(), Clash> {
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
    ) -> Result<(), Clash> {
        let suffix = name::suffix(extractor, |name| options.get(name).map(String::as_str));
        // libvmaf drops an extractor whose name and named options equal those of one that it has, whatever its other
        // options are. So the AIM must be decided over all models before anything is registered.
        let same =
            self.0.iter_mut().find(|need| need.extractor.name == extractor.name && need.suffix == suffix);
        if let Some(need) = same {
            let unnamed = |options: &BTreeMap<String, String>| {
                let unnamed = extractor.options.iter().filter(|option| option.alias.is_none());
                unnamed.map(|option| options.get(option.name).cloned()).collect::<Vec<_>>()
            };
            if unnamed(&need.options) != unnamed(options) {
                return Err(Clash { extractor: extractor.name });
            }
            need.aim |= aim;
        } else {
            self.0.push(Need { extractor, options: options.clone(), suffix, aim });
        }
        Ok(())
    }

    /// All of them.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &Need> {
        self.0.iter()
    }

    /// Those of one kind.
    pub(in crate::engine) fn of(&self, kind: Kind) -> impl Iterator<Item = &Need> {
        self.0.iter().filter(move |need| need.kind() == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADM2: &str = "VMAF_integer_feature_adm2_score";
    const ADM3: &str = "VMAF_integer_feature_adm3_score";

    fn adm_options(needs: &Needs) -> Vec<Vec<(String, String)>> {
        needs.iter().map(Need::options).collect()
    }

    #[test]
    fn aim_is_left_out_when_no_model_uses_it() {
        let mut needs = Needs::default();
        needs.add_feature(ADM2, &BTreeMap::new()).unwrap();
        assert_eq!(adm_options(&needs), [[(SKIP_AIM.to_owned(), "true".to_owned())]]);
        assert!(needs.iter().flat_map(Need::outputs).all(|output| output.shown != "integer_adm3"));
    }

    #[test]
    fn one_model_that_uses_aim_keeps_it_for_all() {
        let mut needs = Needs::default();
        needs.add_feature(ADM2, &BTreeMap::new()).unwrap();
        needs.add_feature(ADM3, &BTreeMap::new()).unwrap();
        assert_eq!(adm_options(&needs), [[]]);
    }

    #[test]
    fn options_make_another_extractor_and_defaults_do_not() {
        let options = |value: &str| BTreeMap::from([("adm_enhn_gain_limit".to_owned(), value.to_owned())]);
        let mut needs = Needs::default();
        for value in ["100", "1", "1"] {
            needs.add_feature(ADM2, &options(value)).unwrap();
        }
        needs.add_feature(ADM2, &BTreeMap::new()).unwrap();
        assert_eq!(needs.iter().count(), 2);
    }

    #[test]
    fn options_that_libvmaf_cannot_tell_apart_are_a_clash() {
        let mut needs = Needs::default();
        let full = BTreeMap::from([("full_ref".to_owned(), "true".to_owned())]);
        needs.add_feature("Cambi_feature_cambi_score", &BTreeMap::new()).unwrap();
        let clash = needs.add_feature("Cambi_feature_cambi_score", &full);
        assert_eq!(clash, Err(Clash { extractor: "cambi" }));
    }
}
