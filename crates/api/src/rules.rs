//! CEL rules that more than one field needs, each with a message that says what to do about it.
//!
//! The API server puts the field's path and value in front of the message.

use kube::core::cel::{Reason, Rule};

/// The location of a clip or of a report. It needs a scheme, because a bare path means another file on every machine.
pub(crate) fn uri() -> Rule {
    Rule::new("self.matches('^[a-zA-Z][a-zA-Z0-9+.-]*://[^[:space:]].*$')")
        .message("must be a URI such as s3://bucket/clip.mp4 or file:///data/clip.mp4: write the scheme before the path")
}

/// A field that keeps its first value. The rule belongs on the struct that has the field, because a rule on the field
/// itself is not evaluated when an optional field is added or removed.
pub(crate) fn immutable(field: &str, instead: &str) -> Rule {
    Rule::new(format!(
        "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    ))
    .message(format!("is immutable: {instead}").as_str())
    .field_path(format!(".{field}"))
    .reason(Reason::FieldValueForbidden)
}

/// A duration as Go writes it, no shorter than a second.
///
/// The pattern comes first, because `duration()` of a malformed text is an evaluation error, whose message would hide
/// ours.
pub(crate) fn duration() -> Rule {
    Rule::new(
        "self.matches('^([0-9]{1,9}([.][0-9]{1,9})?(ns|us|ms|s|m|h))+$') && duration(self) >= duration('1s')",
    )
    .message("must be a duration of at least one second, such as 30s, 10m or 1h30m")
}

/// A repository in an OCI registry, without tag or digest, because the trainer chooses those.
pub(crate) fn oci_repository() -> Rule {
    Rule::new(concat!(
        "self.matches('^(oci://)?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?",
        "(/[a-z0-9]+((\\\\.|_|__|-+)[a-z0-9]+)*)+$')"
    ))
    .message(
        "must be an OCI repository such as registry.example.com/team/models: \
         lower-case path, no scheme other than oci://, no tag and no digest",
    )
}
