//! Parser of the option that limits the instruction set.

use vmafx_scoring::engine::InstructionSet;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this CPU has no instruction set of this name; use {available}")]
pub(super) struct InstructionSetError {
    /// The names of those that this CPU has, separated by commas.
    available: String,
}

pub(super) fn parse(name: &str) -> Result<InstructionSet, InstructionSetError> {
    InstructionSet::available().find(|set| set.name() == name).ok_or_else(|| {
        let names: Vec<_> = InstructionSet::available().map(InstructionSet::name).collect();
        InstructionSetError { available: names.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instruction_sets_of_this_cpu_are_accepted() {
        for set in InstructionSet::available() {
            assert_eq!(parse(set.name()), Ok(set));
        }
        let error = parse("mmx").unwrap_err();
        assert!(error.to_string().contains("use scalar"), "{error}");
    }
}
