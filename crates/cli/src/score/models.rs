//! The list of built-in models.

use vmafx_scoring::engine::models::{BuiltInModel, built_in};

use crate::terminal::Look;

/// Every built-in model, and how another one is named.
pub(super) fn list(look: Look) -> String {
    format!(
        "{}\nWithout --model the one is taken that fits the height and the frame rate of the reference.\n\
         A file in libvmaf's JSON format can be given as well: --model path/to/model.json\n",
        table(look)
    )
}

/// Every built-in model and what it is for.
pub(crate) fn table(look: Look) -> String {
    let mut table = look.table(&["Model", "For"], 2);
    for BuiltInModel { name, about } in built_in() {
        table.add_row([name, about]);
    }
    format!("{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_model_is_listed() {
        let text = list(Look::PLAIN);
        assert!(built_in().all(|model| text.contains(model.name)), "{text}");
        assert!(!text.contains('\u{1b}'), "no colour without a terminal");
    }
}
