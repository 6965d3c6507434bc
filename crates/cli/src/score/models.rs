//! The built-in models as a table.

use vmafx_scoring::engine::models::{BuiltInModel, built_in};

use crate::terminal::Look;

pub(super) fn list(look: Look) -> String {
    format!(
        "{}\nWithout --model, the model is selected by the height and the frame rate of the reference.\n\
         --model also accepts a file in libvmaf's JSON format: --model path/to/model.json\n",
        table(look)
    )
}

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
