//! The trained model in libvmaf's format.
//!
//! The file is the base model's with another support vector machine in it. Features and their options, rescaling,
//! transform, clip and all fields that this program does not use are copied unchanged.

use std::fmt::Write as _;

use serde_json::Value;

use super::expansion::{CorrectedMachine, KernelExpansion};

pub(super) fn json(expansion: &KernelExpansion, correction: &[f64]) -> Vec<u8> {
    let mut file = expansion.base().json().clone();
    if let Some(model) = file.pointer_mut("/model_dict/model") {
        *model = Value::String(machine(expansion, &expansion.corrected(correction)));
    }
    file.to_string().into_bytes()
}

/// The machine in libsvm's text format. Rust prints as many digits as are needed to parse the same number again.
fn machine(expansion: &KernelExpansion, corrected: &CorrectedMachine) -> String {
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
        // libsvm ends a vector with a space.
        text.push_str(" \n");
    }
    text
}
