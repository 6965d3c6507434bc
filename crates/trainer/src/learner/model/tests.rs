//! Which models can be trained. `tests/learner` compares their scores with libvmaf's.

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_scoring::engine::models::{Model, built_in};

use super::*;

fn built_in_json(name: &str) -> Value {
    serde_json::from_slice(Model::named(name).unwrap().json()).unwrap()
}

fn parse(value: &Value) -> Result<BaseModel, ModelError> {
    BaseModel::parse("changed", value.to_string().as_bytes())
}

#[test]
fn every_built_in_single_model_can_be_trained_and_no_collection_can() {
    for model in built_in() {
        let found = Model::named(model.name).unwrap();
        let base = BaseModel::parse(model.name, found.json());
        if found.has_interval() {
            assert!(matches!(base, Err(ModelError::Collection { .. })), "{}", model.name);
            continue;
        }
        let base = base.unwrap();
        assert_eq!(base.digest(), found.digest);
        let lower = |name: &String| *name == name.to_lowercase() && !name.is_empty();
        assert!(base.features().iter().all(lower), "{:?}", base.features());
    }
}

#[rstest]
#[case::classic("vmaf_v0.6.1", &["integer_adm2", "integer_motion2", "integer_vif_scale0", "integer_vif_scale1", "integer_vif_scale2", "integer_vif_scale3"])]
#[case::not_rewarding_enhancement("vmaf_v0.6.1neg", &["integer_adm2_egl_1", "integer_motion2", "integer_vif_scale0_egl_1", "integer_vif_scale1_egl_1", "integer_vif_scale2_egl_1", "integer_vif_scale3_egl_1"])]
#[case::v1("vmaf_v1.0.16_3d0h", &["cambi_hrs_1080_cmxv_17_vlt_0.06", "speed_chroma_uv_mxv_45_nnf_0.1_snn_0.19_wvm_5", "integer_adm3_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02", "integer_motion3_mmxv_18"])]
fn features_have_the_names_that_samples_use(#[case] model: &str, #[case] names: &[&str]) {
    let base = BaseModel::parse(model, Model::named(model).unwrap().json()).unwrap();
    assert_eq!(base.features(), names);
    assert_eq!(base.stems().len(), names.len());
}

#[test]
fn the_stem_of_a_feature_is_the_column_name_in_tables() {
    let base = BaseModel::parse("neg", Model::named("vmaf_v0.6.1neg").unwrap().json()).unwrap();
    assert_eq!(base.stems(), ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"]);
}

#[rstest]
#[case::no_rescaling("/norm_type", json!("none"), "norm_type")]
#[case::a_negative_slope("/slopes/0", json!(-0.012), "slope")]
#[case::an_empty_clip_range("/score_clip", json!([100.0, 100.0]), "score_clip")]
#[case::falling_knots("/score_transform", json!({"enabled": true, "knots": [[0.0, 9.0], [5.0, 3.0]]}), "knots")]
#[case::one_knot("/score_transform", json!({"enabled": true, "knots": [[0.0, 9.0]]}), "knots")]
#[case::chroma_correction_without_chroma_feature("/chroma_correction_parameter", json!(120.0), "chroma")]
fn a_model_that_cannot_be_trained_is_refused_with_the_reason(
    #[case] at: &str,
    #[case] value: Value,
    #[case] word: &str,
) {
    let mut model = built_in_json("vmaf_v0.6.1");
    model["model_dict"]["chroma_correction_parameter"] = Value::Null;
    *model.pointer_mut(&format!("/model_dict{at}")).unwrap() = value;
    let error = parse(&model).unwrap_err();
    assert!(matches!(error, ModelError::Unfit { .. }), "{error:?}");
    assert!(error.to_string().contains(word), "{error}");
}

#[test]
fn another_svm_type_and_another_model_type_are_refused() {
    let mut model = built_in_json("vmaf_v0.6.1");
    let text = model["model_dict"]["model"].as_str().unwrap().replace("nu_svr", "epsilon_svr");
    model["model_dict"]["model"] = json!(text);
    assert!(parse(&model).unwrap_err().to_string().contains("epsilon_svr"));
    let text = text.replace("rbf", "linear");
    model["model_dict"]["model"] = json!(text);
    assert!(matches!(parse(&model), Err(ModelError::Engine(_))));
    model["model_dict"]["model_type"] = json!("RANDOMFOREST");
    assert!(matches!(parse(&model), Err(ModelError::Engine(_))));
    assert!(matches!(BaseModel::parse("text", b"no json"), Err(ModelError::Engine(_))));
}

#[test]
fn chroma_that_is_exactly_zero_is_derived_from_luma() {
    let base = BaseModel::parse("v1", Model::named("vmaf_v1.0.16_3d0h").unwrap().json()).unwrap();
    let rescaled = |chroma: f64| base.rescaled(&[1.0, chroma, 0.9, 4.0])[1];
    // 120 · (1 − 0.9) = 12 before rescaling.
    assert!((rescaled(0.0) - rescaled(12.0)).abs() < 1e-12);
    assert!((rescaled(0.0) - rescaled(1e-3)).abs() > 0.1);
}
