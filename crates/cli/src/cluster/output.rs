//! How answers about a cluster are written: as `kubectl` does, so that one can stand for the other in a script.

use clap::{Args, ValueEnum};
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::{Value, json};

use super::kind::Kind;
use crate::output::{OutputError, look, print};
use crate::terminal::Look;

/// How the answer is written.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct FormatArgs {
    /// How the answer is written
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(super) output: Format,
}

/// Ways to write an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A table for people
    Table,
    /// The same with more columns
    Wide,
    /// JSON: one resource, or a List
    Json,
    /// The same as YAML
    Yaml,
    /// A name per line, as every command takes it
    Name,
}

impl FormatArgs {
    /// Writes resources; `one` if exactly one was asked for.
    pub(super) fn show(
        self,
        kind: Kind,
        objects: &[DynamicObject],
        one: bool,
        table: impl FnOnce(Look, bool) -> String,
    ) -> Result<(), OutputError> {
        let document = || match objects {
            [object] if one => clean(object),
            objects => Ok(list(objects)?),
        };
        let text = match self.output {
            Format::Json => serde_json::to_string_pretty(&document()?)? + "\n",
            Format::Yaml => serde_saphyr::to_string(&document()?)?,
            Format::Name => objects.iter().map(|object| kind.full_name(object) + "\n").collect(),
            form => table(look(), form == Format::Wide),
        };
        print(&text)
    }

    /// Writes a document that is not a resource.
    pub(super) fn tell(
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

/// A resource without what nobody reads.
pub(super) fn clean(object: &DynamicObject) -> Result<Value, OutputError> {
    let mut value = serde_json::to_value(object)?;
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Ok(value)
}

fn list(objects: &[DynamicObject]) -> Result<Value, OutputError> {
    let items = objects.iter().map(clean).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items }))
}
