//! Secrets and tokens that a Pod spec names, found in JSON by the names of fields. So they are found in volume types that are
//! newer than the types of this release, too.

use serde_json::{Map, Value};

use crate::webhook::rules::FieldPath;

/// A Secret that a Pod would read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretReference {
    pub field: FieldPath,
    /// `None` if the field has no name, which may come from a list item of the same name.
    pub name: Option<String>,
}

/// A projected token of the Pod's ServiceAccount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenReference {
    pub(super) field: FieldPath,
    /// `None` is the audience of the API server.
    pub(super) audience: Option<String>,
}

/// The Secrets of volumes, environment variables and image pulls.
pub fn secrets(path: &FieldPath, spec: &Value) -> Vec<SecretReference> {
    let mut found = Vec::new();
    visit(path, spec, &mut |path, field, value| {
        let names = match (field, value) {
            // A volume has `secretName`, a source of a projected volume has `name`.
            ("secret", Value::Object(fields)) => {
                let names = [text(fields, "secretName"), text(fields, "name")];
                names.into_iter().flatten().map(Some).collect()
            }
            (_, Value::Object(fields)) if is_reference(field) => vec![text(fields, "name")],
            ("secretName", Value::String(name)) => vec![Some(name.clone())],
            ("imagePullSecrets", Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let name = item.as_object().and_then(|fields| text(fields, "name"));
                    found.push(SecretReference { field: path.item(index), name });
                }
                return false;
            }
            _ => return true,
        };
        let names = if names.is_empty() { vec![None] } else { names };
        found.extend(names.into_iter().map(|name| SecretReference { field: path.clone(), name }));
        false
    });
    found
}

/// The claims that volumes name, each with its field.
pub(super) fn claims(path: &FieldPath, spec: &Value) -> Vec<(FieldPath, String)> {
    let mut found = Vec::new();
    visit(path, spec, &mut |path, field, value| match (field, value) {
        ("claimName", Value::String(name)) => {
            found.push((path.clone(), name.clone()));
            false
        }
        _ => true,
    });
    found
}

pub(super) fn tokens(path: &FieldPath, spec: &Value) -> Vec<TokenReference> {
    let mut found = Vec::new();
    visit(path, spec, &mut |path, field, value| match (field, value) {
        ("serviceAccountToken", Value::Object(fields)) => {
            found.push(TokenReference { field: path.clone(), audience: text(fields, "audience") });
            false
        }
        _ => true,
    });
    found
}

/// Such as `secretRef`, `secretKeyRef` and `nodePublishSecretRef`.
fn is_reference(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    field.contains("secret") && field.ends_with("ref")
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Calls `each` with every field below `value`. The fields below one are visited if `each` returns true.
pub(super) fn visit(
    path: &FieldPath,
    value: &Value,
    each: &mut impl FnMut(&FieldPath, &str, &Value) -> bool,
) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = path.field(name);
                if each(&path, name, value) {
                    visit(&path, value, each);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(&path.item(index), item, each);
            }
        }
        _ => {}
    }
}
