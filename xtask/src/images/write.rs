//! Writes images from programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use vmafx_image::{Descriptor, ImageConfig, ImageLayer, ImageLayout, LayerCompression, archive};

use super::build_info::BuildInfo;
use super::crates::{CargoMetadata, Checksums};
use super::debian;
use super::layers::{self, LayerContents};
use super::product::Product;
use super::sbom::{self, Contents};

#[derive(Debug)]
pub(crate) struct WrittenImage {
    pub(crate) product: &'static Product,
    /// Full name with tag.
    pub(crate) name: String,
    pub(crate) manifest: Descriptor,
    pub(crate) layers: Vec<ImageLayer>,
    /// Manifest of the bill of materials.
    pub(crate) sbom: Descriptor,
    pub(crate) layout: ImageLayout,
}

/// Directory in OCI image layout, with all images.
pub(crate) fn layout_of(output: &Path) -> PathBuf {
    output.join("layout")
}

pub(crate) fn archive_of(output: &Path, product: &Product) -> PathBuf {
    output.join(format!("{}.tar", product.program))
}

pub(crate) fn sbom_of(output: &Path, product: &Product) -> PathBuf {
    output.join(format!("{}.spdx.json", product.program))
}

/// Writes images to a directory, replacing earlier ones.
pub(crate) fn all(
    products: &[&'static Product],
    programs: &Path,
    info: &BuildInfo,
    prefix: &str,
    packing: LayerCompression,
    output: &Path,
) -> Result<Vec<WrittenImage>> {
    clear(output)?;
    let layout = ImageLayout::create(layout_of(output))?;
    let scratch = tempfile::tempdir()?;
    let (metadata, checksums) = (CargoMetadata::read()?, Checksums::read()?);
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
        let below: Vec<&LayerContents> = parts.iter().map(|(_, part)| *part).collect();
        let program = programs.join(product.program);
        let program = layers::program(product.program, &program, scratch.path(), &below)?;
        stored.push(layout.layer(&program.tree, "program", packing)?);
        let manifest = layout.image(&config(product, info), &stored)?;

        let packages: BTreeSet<_> =
            below.into_iter().chain([&program]).flat_map(|part| part.packages.iter().cloned()).collect();
        let crates = metadata.linked(product.program, &checksums)?;
        let (digest, distribution) = (&manifest.digest, &debian::distribution());
        let contents = Contents { digest, packages: &packages, crates: &crates, distribution };
        let document = serde_json::to_vec_pretty(&sbom::document(product, info, &contents))?;
        let title = format!("{}.spdx.json", product.program);
        let sbom = layout.attach(&manifest, sbom::MEDIA_TYPE, &title, &document)?;
        fs::write(sbom_of(output, product), document)?;

        let name = format!("{prefix}/{}:{}", product.program, info.tag);
        archive::write(&layout, &manifest, &name, &archive_of(output, product))?;
        made.push(WrittenImage { product, name, manifest, layers: stored, sbom, layout: layout.clone() });
    }
    layout.write_index(&listed(&made, &info.tag))?;
    Ok(made)
}

/// Entries of the layout's index. Each has the image's name, because all images have the same tag.
fn listed(made: &[WrittenImage], tag: &str) -> Vec<Descriptor> {
    let image = |one: &WrittenImage| {
        let short = format!("{}:{tag}", one.product.program);
        one.manifest.clone().named(&one.name).annotated("org.opencontainers.image.ref.name", &short)
    };
    made.iter().flat_map(|one| [image(one), one.sbom.clone()]).collect()
}

fn config(product: &Product, info: &BuildInfo) -> ImageConfig {
    let label = |key: &str, value: &str| (format!("org.opencontainers.image.{key}"), value.to_owned());
    let mut labels = BTreeMap::from([
        label("title", product.title),
        label("description", product.description),
        label("version", &info.version),
        label("licenses", product.licenses),
        label("created", &info.created),
    ]);
    labels.extend(info.revision.as_ref().map(|revision| label("revision", revision)));
    labels.extend(info.source.as_ref().map(|source| label("source", source)));
    ImageConfig {
        created: info.created.clone(),
        entrypoint: vec![format!("/usr/bin/{}", product.program)],
        env: vec!["PATH=/usr/bin".to_owned()],
        labels,
        user: "65532:65532".to_owned(),
        directory: "/tmp".to_owned(),
        tcp_ports: product.ports.to_vec(),
        stop_signal: "SIGTERM".to_owned(),
    }
}

/// Removes earlier images. A directory with anything else is left alone.
fn clear(output: &Path) -> Result<()> {
    let has_entries = match fs::read_dir(output) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => false,
    };
    if has_entries {
        ensure!(
            layout_of(output).join("oci-layout").exists(),
            "{} contains other files than images; choose another directory",
            output.display()
        );
        fs::remove_dir_all(output).with_context(|| format!("cannot remove {}", output.display()))?;
    }
    fs::create_dir_all(output).with_context(|| format!("cannot create {}", output.display()))
}
