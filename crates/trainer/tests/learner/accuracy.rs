//! The accuracy of the learner on real clips with real opinions, in one pass.
//!
//! The table (tests 1 and 2 of AVT-VQDB-UHD-1, reduced to features and opinions) has no licence under which it could
//! be part of this project, so it is read from a directory beside it.

use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;
use vmafx_kit::causes::chain;
use vmafx_testkit::prerequisite;
use vmafx_trainer::evaluate::{EvaluateArgs, render_report};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    evaluate: EvaluateArgs,
}

pub(crate) fn table() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/training");
    let directory = std::env::var_os("VMAFX_TRAINING_DIR").map_or_else(beside, PathBuf::from);
    let path = directory.join("avt_vqdb_uhd1_tests_1_2.csv");
    if path.is_file() {
        return Some(path);
    }
    prerequisite::skip(&format!("{} does not exist", path.display()));
    None
}

fn evaluate(arguments: &[&str]) -> Value {
    let all = ["evaluate", "-o", "json"].iter().chain(arguments);
    let text = render_report(&Cli::try_parse_from(all).unwrap().evaluate).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn one_pass_over_real_opinions_reduces_the_error_by_a_fifth() {
    let Some(table) = table() else { return };
    let report = evaluate(&[
        "--csv",
        table.to_str().unwrap(),
        "--order",
        "shuffled",
        "--order",
        "by:test",
        "--order",
        "by:src",
        "--order",
        "file",
    ]);
    assert_eq!(report["clips"], 372);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 8, "four orders, with an average and without");
    for result in results {
        let number = |at: &str| result.pointer(at).and_then(Value::as_f64).unwrap();
        let (rmse, srocc) = (number("/model/rmse"), number("/model/srocc"));
        let (base_rmse, base_srocc) = (number("/base/rmse"), number("/base/srocc"));
        let line =
            format!("{} {}: {rmse} of {base_rmse}, {srocc} of {base_srocc}", result["order"], result["ema"]);
        assert_eq!(result["refused"], 0, "{line}");
        assert!((base_rmse - 17.14).abs() < 0.01 && (base_srocc - 0.8806).abs() < 1e-4, "{line}");
        assert!(rmse < base_rmse, "{line}");
        if result["order"] == "shuffled" {
            assert!(rmse <= 0.8 * base_rmse, "{line}");
            assert!(srocc >= base_srocc + 0.01, "{line}");
        }
    }
}

#[test]
fn tables_with_other_column_names_and_scales_are_equivalent() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let mos = write(
        "mos.csv",
        "clip,MOS,adm2,motion2,vif_scale0,vif_scale1,vif_scale2,vif_scale3\n\
         a,4,0.95,3,0.5,0.8,0.9,0.95\nb,2,0.8,9,0.2,0.5,0.6,0.7\nc,3,0.9,5,0.3,0.6,0.7,0.8\n",
    );
    let points = write(
        "points.csv",
        "integer_vif_scale3,integer_adm2,label,integer_motion2,integer_vif_scale0,integer_vif_scale1,integer_vif_scale2\n\
         0.95,0.95,75,3,0.5,0.8,0.9\n0.7,0.8,25,9,0.2,0.5,0.6\n0.8,0.9,50,5,0.3,0.6,0.7\n",
    );
    let by = |path: &str, more: &[&str]| {
        evaluate(&[&["--csv", path, "--order", "file"], more].concat())["results"].clone()
    };
    assert_eq!(by(&mos, &[]), by(&points, &[]));
    assert_eq!(
        by(&mos, &["--label-column", "mos", "--scale", "mos", "--ema", "off"])[0],
        by(&points, &[])[1]
    );
}

#[test]
fn an_unusable_table_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.csv");
    let error = |text: &str, more: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let path = path.display().to_string();
        let all = [&["evaluate", "--csv", &path], more].concat();
        chain(&render_report(&Cli::try_parse_from(all).unwrap().evaluate).unwrap_err())
    };
    let header = "mos,adm2,motion2,vif_scale0,vif_scale1,vif_scale2,vif_scale3\n";
    assert!(error("mos,adm2\n4,0.9\n", &[]).contains("no column \"integer_motion2\" or \"motion2\""));
    assert!(error(&header.replace("mos", "x"), &[]).contains("no column \"label\" or \"mos\""));
    assert!(error(header, &[]).ends_with("the table has no rows"));
    assert!(
        error(&format!("{header}4,0.9,much,1,1,1,1\n"), &[])
            .contains("line 2 has \"much\" in column motion2")
    );
    assert!(
        error(&format!("{header}4,0.9,1,1,1,1,1\n"), &["--order", "by:src"]).contains("no column \"src\"")
    );
    assert!(error(header, &["--model", "vmaf_b_v0.6.3"]).contains("collection"));
}
