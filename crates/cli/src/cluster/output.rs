//! Output formats of commands on a cluster. They are those of `kubectl`, so that a script can use either.

use clap::{Args, ValueEnum};
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::{Value, json};

use super::kind::ResourceKind;
use crate::output::{OutputError, look, print};
use crate::terminal::Look;

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct FormatArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(super) output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A table
    Table,
    /// A table with more columns
    Wide,
    /// JSON: one resource, or a List
    Json,
    /// YAML: one resource, or a List
    Yaml,
    /// One name per line, which other commands accept
    Name,
}

impl FormatArgs {
    /// Writes resources. `single`: exactly one was requested, and JSON and YAML are that resource instead of a List.
    pub(super) fn show(
        self,
        kind: ResourceKind,
        objects: &[DynamicObject],
        single: bool,
        table: impl FnOnce(Look) -> String,
    ) -> Result<(), OutputError> {
        let document = || match objects {
            [object] if single => without_managed_fields(object),
            objects => Ok(list(objects)?),
        };
        let text = match self.output {
            Format::Json => serde_json::to_string_pretty(&document()?)? + "\n",
            Format::Yaml => serde_saphyr::to_string(&document()?)?,
            Format::Name => objects.iter().map(|object| kind.full_name(object) + "\n").collect(),
            Format::Table | Format::Wide => table(look()),
        };
        print(&text)
    }

    /// Writes a document that is not a resource.
    pub(super) fn show_document(
        self,
        document: &impl Serialize,
        name: impl FnOnce() -> String,
        text: impl FnOnce(Look) -> String,
    ) -> Result<(), OutputError> {
        let text = match self.output {
            Format::Json => serde_json::to_string_pretty(document)? + "\n",
            Format::Yaml => serde_saphyr::to_string(document)?,
            Format::Name => name() + "\n",
            Format::Table | Format::Wide => text(look()),
        };
        print(&text)
    }
}

/// The resource without `managedFields`, as `kubectl` writes it.
pub(super) fn without_managed_fields(object: &DynamicObject) -> Result<Value, OutputError> {
    let mut value = serde_json::to_value(object)?;
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Ok(value)
}

fn list(objects: &[DynamicObject]) -> Result<Value, OutputError> {
    let items = objects.iter().map(without_managed_fields).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items }))
}
