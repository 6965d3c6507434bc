//! A learned model as libvmaf reads it.
//!
//! The file is the base model's with another machine in it: features and their options, rescaling, transform, clip and
//! everything that nobody here knows stay as they are.

use std::fmt::Write as _;

use serde_json::Value;

use super::expansion::{Corrected, Expansion};

/// The JSON of the base model with a correction.
pub(super) fn json(expansion: &Expansion, correction: &[f64]) -> Vec<u8> {
    let mut top = expansion.base().json().clone();
    if let Some(model) = top.pointer_mut("/model_dict/model") {
        *model = Value::String(machine(expansion, &expansion.corrected(correction)));
    }
    top.to_string().into_bytes()
}

/// The machine in libsvm's words. Rust writes a number with as many digits as it takes to read the same one back.
fn machine(expansion: &Expansion, corrected: &Corrected) -> String {
    let base = expansion.base().machine();
    let mut text = format!(
        "svm_type {}\nkernel_type rbf\ngamma {}\nnr_class 2\ntotal_sv {}\nrho {}\nSV\n",
        base.kind,
        base.gamma,
        base.vectors.len(),
        corrected.rho
    );
    for (weight, vector) in corrected.weights.iter().zip(&base.vectors) {
        let _ = write!(text, "{weight}");
        for (index, value) in (1..).zip(vector) {
            let _ = write!(text, " {index}:{value}");
        }
        // libsvm ends a vector with a blank.
        text.push_str(" \n");
    }
    text
}
