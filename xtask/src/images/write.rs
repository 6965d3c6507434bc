//! From programs to files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use vmafx_image::{Descriptor, ImageConfig, ImageLayer, ImageLayout, LayerCompression, archive};

use super::crates::{Checksums, Metadata};
use super::debian;
use super::facts::Facts;
use super::layers::{self, Part};
use super::product::Product;
use super::sbom::{self, Contents};

/// An image that is written.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) product: &'static Product,
    /// The full name, tag included.
    pub(crate) name: String,
    pub(crate) manifest: Descriptor,
    pub(crate) layers: Vec<ImageLayer>,
    /// The manifest of its bill of materials.
    pub(crate) sbom: Descriptor,
    pub(crate) layout: ImageLayout,
}

/// The directory in OCI image layout, with all images.
pub(crate) fn layout_of(output: &Path) -> PathBuf {
    output.join("layout")
}

/// The tar file of one image.
pub(crate) fn archive_of(output: &Path, product: &Product) -> PathBuf {
    output.join(format!("{}.tar", product.program))
}

/// The bill of materials of one image.
pub(crate) fn sbom_of(output: &Path, product: &Product) -> PathBuf {
    output.join(format!("{}.spdx.json", product.program))
}

/// Writes all images to a directory, in place of those that are there.
pub(crate) fn all(
    products: &[&'static Product],
    programs: &Path,
    facts: &Facts,
    prefix: &str,
    packing: LayerCompression,
    output: &Path,
) -> Result<Vec<Made>> {
    clear(output)?;
    let layout = ImageLayout::create(layout_of(output))?;
    let scratch = tempfile::tempdir()?;
    let (metadata, checksums) = (Metadata::read()?, Checksums::read()?);
    let base = layers::base()?;
    let base_layer = layout.layer(&base.tree, "base", packing)?;
    let mut made = Vec::new();
    for &product in products {
        let mut parts = vec![("base", &base)];
        let mut stored = vec![base_layer.clone()];
        let tools = layers::tools(product.tools, &base)?;
        if !product.tools.is_empty() {
            stored.push(layout.layer(&tools.tree, "tools", packing)?);
            parts.push(("tools", &tools));
        }
        let below: Vec<&Part> = parts.iter().map(|(_, part)| *part).collect();
        let program = programs.join(product.program);
        let program = layers::program(product.program, &program, scratch.path(), &below)?;
        stored.push(layout.layer(&program.tree, "program", packing)?);
        let manifest = layout.image(&config(product, facts), &stored)?;

        let packages: BTreeSet<_> =
            below.into_iter().chain([&program]).flat_map(|part| part.packages.iter().cloned()).collect();
        let crates = metadata.linked(product.program, &checksums)?;
        let (digest, distribution) = (&manifest.digest, &debian::distribution());
        let contents = Contents { digest, packages: &packages, crates: &crates, distribution };
        let document = serde_json::to_vec_pretty(&sbom::document(product, facts, &contents))?;
        let title = format!("{}.spdx.json", product.program);
        let sbom = layout.attach(&manifest, sbom::MEDIA_TYPE, &title, &document)?;
        fs::write(sbom_of(output, product), document)?;

        let name = format!("{prefix}/{}:{}", product.program, facts.tag);
        archive::write(&layout, &manifest, &name, &archive_of(output, product))?;
        made.push(Made { product, name, manifest, layers: stored, sbom, layout: layout.clone() });
    }
    layout.write_index(&listed(&made, &facts.tag))?;
    Ok(made)
}

/// Several images in one layout are told apart by their names, which the tag alone would not do.
fn listed(made: &[Made], tag: &str) -> Vec<Descriptor> {
    let image = |one: &Made| {
        let short = format!("{}:{tag}", one.product.program);
        one.manifest.clone().named(&one.name).annotated("org.opencontainers.image.ref.name", &short)
    };
    made.iter().flat_map(|one| [image(one), one.sbom.clone()]).collect()
}

fn config(product: &Product, facts: &Facts) -> ImageConfig {
    let label = |key: &str, value: &str| (format!("org.opencontainers.image.{key}"), value.to_owned());
    let mut labels = BTreeMap::from([
        label("title", product.title),
        label("description", product.description),
        label("version", &facts.version),
        label("licenses", product.licenses),
        label("created", &facts.created),
    ]);
    labels.extend(facts.revision.as_ref().map(|revision| label("revision", revision)));
    labels.extend(facts.source.as_ref().map(|source| label("source", source)));
    ImageConfig {
        created: facts.created.clone(),
        entrypoint: vec![format!("/usr/bin/{}", product.program)],
        env: vec!["PATH=/usr/bin".to_owned()],
        labels,
        user: "65532:65532".to_owned(),
        directory: "/tmp".to_owned(),
        tcp_ports: product.ports.to_vec(),
        stop_signal: "SIGTERM".to_owned(),
    }
}

/// Removes images that were written there. A directory with anything else is somebody's: it is left alone.
fn clear(output: &Path) -> Result<()> {
    let entries = match fs::read_dir(output) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => false,
    };
    if entries {
        ensure!(
            layout_of(output).join("oci-layout").exists(),
            "{} has something else than images in it: choose another directory",
            output.display()
        );
        fs::remove_dir_all(output).with_context(|| format!("{} cannot be removed", output.display()))?;
    }
    fs::create_dir_all(output).with_context(|| format!("{} cannot be made", output.display()))
}
