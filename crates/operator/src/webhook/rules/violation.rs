//! What a rule says of a field.

use std::fmt;

use serde_json::Value;

/// What kind of mistake it is; the words are the API server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationType {
    /// The value is wrong.
    Invalid,
    /// The value is not one of those that exist.
    Unsupported,
    /// The value is there twice.
    Duplicate,
    /// A value is missing.
    Required,
    /// The field is not the user's to set.
    Forbidden,
}

impl ViolationType {
    /// The word in `status.details.causes`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Unsupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Unsupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
        }
    }
}

/// Where a field is, as in `spec.podTemplate.spec.containers[1].name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(String);

impl FieldPath {
    /// `spec`
    pub fn spec() -> Self {
        Self("spec".to_owned())
    }

    /// A field of this one.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        Self(format!("{self}.{name}"))
    }

    /// An item of this list.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }

    /// The value of this map at a key that may hold dots.
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

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub field: String,
    /// How.
    pub flaw: ViolationType,
    /// What is wrong and what to do, the offending value first.
    pub message: String,
}

impl Violation {
    /// The same mistake elsewhere in the same list is the same mistake: items move when one before them is removed.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.flaw == other.flaw
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

/// What is to be said about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why it is refused; empty when it is not.
    pub violations: Vec<Violation>,
    /// What is legal and probably not meant.
    pub warnings: Vec<String>,
}

impl Findings {
    /// A value that is wrong.
    pub fn invalid(&mut self, path: &FieldPath, value: impl Into<Value>, advice: impl fmt::Display) {
        self.push(path, ViolationType::Invalid, Some(value.into()), advice);
    }

    /// A value out of none.
    pub fn unsupported(&mut self, path: &FieldPath, value: impl Into<Value>, known: &[&str]) {
        self.push(
            path,
            ViolationType::Unsupported,
            Some(value.into()),
            format!("use one of {}", known.join(", ")),
        );
    }

    /// A value that is there twice.
    pub fn duplicate(&mut self, path: &FieldPath, value: impl Into<Value>, advice: impl fmt::Display) {
        self.push(path, ViolationType::Duplicate, Some(value.into()), advice);
    }

    /// A value that is missing.
    pub fn required(&mut self, path: &FieldPath, advice: impl fmt::Display) {
        self.push(path, ViolationType::Required, None, advice);
    }

    /// A field that is not the user's.
    pub fn forbidden(&mut self, path: &FieldPath, advice: impl fmt::Display) {
        self.push(path, ViolationType::Forbidden, None, advice);
    }

    /// Something legal that is probably not meant.
    pub fn warn(&mut self, path: &FieldPath, text: impl fmt::Display) {
        self.warnings.push(format!("{path}: {text}"));
    }

    fn push(
        &mut self,
        path: &FieldPath,
        flaw: ViolationType,
        value: Option<Value>,
        advice: impl fmt::Display,
    ) {
        let value = value.map(|value| format!("{value}: ")).unwrap_or_default();
        let message = format!("{}: {value}{advice}", flaw.words());
        self.violations.push(Violation { field: path.to_string(), flaw, message });
    }

    /// Takes away what was wrong already before a change: whoever did not break it need not mend it.
    pub(super) fn forgive(&mut self, before: &Self) {
        let mut before = before.violations.clone();
        self.violations.retain(|violation| {
            let known = before.iter().position(|old| old.is_as(violation));
            known.map(|index| before.swap_remove(index)).is_none()
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
    fn a_mistake_that_moved_in_its_list_is_forgiven_but_a_second_one_is_not() {
        let before = findings(&[("spec.list[3].name", "a")]);
        let mut after = findings(&[("spec.list[0].name", "a"), ("spec.list[1].name", "a")]);
        after.forgive(&before);
        assert_eq!(after, findings(&[("spec.list[1].name", "a")]));
    }

    #[test]
    fn keys_of_a_map_are_not_indices() {
        let before = findings(&[("spec.map[a.b/c]", "x")]);
        let mut after = findings(&[("spec.map[d.e/f]", "x")]);
        after.forgive(&before);
        assert_eq!(after.violations.len(), 1);
    }
}
