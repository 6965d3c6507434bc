//! The built-in models.

use crate::engine::ffi::BUILT_IN;

/// An entry in the list of built-in models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInModel {
    pub name: &'static str,
    pub about: &'static str,
}

/// The most used first.
pub fn built_in() -> impl Iterator<Item = BuiltInModel> {
    BUILT_IN.iter().map(|model| BuiltInModel { name: model.name, about: about(model.name) })
}

pub(super) fn json(name: &str) -> Option<&'static [u8]> {
    BUILT_IN.iter().find(|model| model.name == name).map(|model| (model.json)())
}

fn about(name: &str) -> &'static str {
    match name {
        "vmaf_v0.6.1" => "1080p television at three heights; the classic",
        "vmaf_v0.6.1neg" => "the classic, not rewarding enhancement: for judging encoders",
        "vmaf_4k_v0.6.1" => "2160p television at one and a half heights",
        "vmaf_4k_v0.6.1neg" => "2160p, not rewarding enhancement",
        "vmaf_b_v0.6.3" => "1080p with a confidence interval",
        "vmaf_v1.0.16_3d0h" => "VMAF v1: 1080p at three heights",
        "vmaf_v1.0.16_5d0h" => "VMAF v1: a phone, 1080p at five heights",
        "vmaf_v1.0.16_1d5h_2160" => "VMAF v1: 2160p at one and a half heights",
        "vmaf_v1.0.16_3d0h_2160" => "VMAF v1: 2160p television at three heights, 0 to 110",
        "vmaf_v1.0.16_hfr_3d0h" => "VMAF v1 for 50 and 60 frames a second: 1080p at three heights",
        "vmaf_v1.0.16_hfr_5d0h" => "VMAF v1 for 50 and 60 frames a second: a phone",
        "vmaf_v1.0.16_hfr_1d5h_2160" => {
            "VMAF v1 for 50 and 60 frames a second: 2160p at one and a half heights"
        }
        "vmaf_v1.0.16_hfr_3d0h_2160" => "VMAF v1 for 50 and 60 frames a second: 2160p television, 0 to 110",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::models::Model;

    #[test]
    fn every_built_in_model_is_understood_and_described() {
        for model in built_in() {
            assert!(!model.about.is_empty(), "{}", model.name);
            assert!(Model::named(model.name).is_ok(), "{}", model.name);
        }
    }
}
