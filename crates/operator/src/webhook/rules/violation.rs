//! Violations and warnings that the rules report about fields.

use std::fmt;

use serde_json::Value;

/// The API server's own classes of invalid fields, with its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationType {
    Invalid,
    Unsupported,
    Duplicate,
    Required,
    Forbidden,
}

impl ViolationType {
    /// The `reason` in `status.details.causes`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Unsupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Unsupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
        }
    }
}

/// The path of a field, such as `spec.podTemplate.spec.containers[1].name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(String);

impl FieldPath {
    pub fn spec() -> Self {
        Self("spec".to_owned())
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        Self(format!("{self}.{name}"))
    }

    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }

    /// The value of a map at a key, which may contain dots.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{self}[{key}]"))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub field: String,
    pub class: ViolationType,
    /// The offending value, then what is wrong and what to do.
    pub message: String,
}

impl Violation {
    /// Compares without list indices, because the items of a list move when one before them is removed.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.class == other.class
            && self.message == other.message
            && without_indices(&self.field) == without_indices(&other.field)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

fn without_indices(field: &str) -> String {
    let mut kept = String::with_capacity(field.len());
    for part in field.split_inclusive('[') {
        match part.split_once(']') {
            Some((index, rest)) if index.bytes().all(|b| b.is_ascii_digit()) => kept.push_str(rest),
            _ => kept.push_str(part),
        }
    }
    kept
}

/// The result of the validation of an object, which is refused if there are violations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub violations: Vec<Violation>,
    /// About values that are valid but probably a mistake.
    pub warnings: Vec<String>,
}

impl Findings {
    pub fn invalid(&mut self, path: &FieldPath, value: impl Into<Value>, advice: impl fmt::Display) {
        self.push(path, ViolationType::Invalid, Some(value.into()), advice);
    }

    pub fn unsupported(&mut self, path: &FieldPath, value: impl Into<Value>, supported: &[&str]) {
        self.push(
            path,
            ViolationType::Unsupported,
            Some(value.into()),
            format!("use one of {}", supported.join(", ")),
        );
    }

    pub fn duplicate(&mut self, path: &FieldPath, value: impl Into<Value>, advice: impl fmt::Display) {
        self.push(path, ViolationType::Duplicate, Some(value.into()), advice);
    }

    pub fn required(&mut self, path: &FieldPath, advice: impl fmt::Display) {
        self.push(path, ViolationType::Required, None, advice);
    }

    /// Reports a field that only the operator may set.
    pub fn forbidden(&mut self, path: &FieldPath, advice: impl fmt::Display) {
        self.push(path, ViolationType::Forbidden, None, advice);
    }

    pub fn warn(&mut self, path: &FieldPath, text: impl fmt::Display) {
        self.warnings.push(format!("{path}: {text}"));
    }

    fn push(
        &mut self,
        path: &FieldPath,
        class: ViolationType,
        value: Option<Value>,
        advice: impl fmt::Display,
    ) {
        let value = value.map(|value| format!("{value}: ")).unwrap_or_default();
        let message = format!("{}: {value}{advice}", class.title());
        self.violations.push(Violation { field: path.to_string(), class, message });
    }

    /// Removes the violations that the old spec already had: a user who did not cause them need not fix them.
    pub(super) fn remove_existing(&mut self, before: &Self) {
        let mut before = before.violations.clone();
        self.violations.retain(|violation| {
            let existing = before.iter().position(|old| old.is_same(violation));
            existing.map(|index| before.swap_remove(index)).is_none()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(fields: &[(&str, &str)]) -> Findings {
        let mut findings = Findings::default();
        for (field, value) in fields {
            findings.invalid(&FieldPath((*field).to_owned()), *value, "no");
        }
        findings
    }

    #[test]
    fn a_violation_reads_as_the_api_servers_own() {
        let mut findings = Findings::default();
        findings.invalid(&FieldPath::spec().field("list").item(1).field("name"), "x y", "write one word");
        assert_eq!(
            findings.violations[0].to_string(),
            "spec.list[1].name: Invalid value: \"x y\": write one word"
        );
    }

    #[test]
    fn a_violation_that_moved_in_its_list_is_removed_but_a_second_one_is_not() {
        let before = findings(&[("spec.list[3].name", "a")]);
        let mut after = findings(&[("spec.list[0].name", "a"), ("spec.list[1].name", "a")]);
        after.remove_existing(&before);
        assert_eq!(after, findings(&[("spec.list[1].name", "a")]));
    }

    #[test]
    fn keys_of_a_map_are_not_indices() {
        let before = findings(&[("spec.map[a.b/c]", "x")]);
        let mut after = findings(&[("spec.map[d.e/f]", "x")]);
        after.remove_existing(&before);
        assert_eq!(after.violations.len(), 1);
    }
}
