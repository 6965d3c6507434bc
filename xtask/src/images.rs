//! `cargo xtask images`: container images of the daemons, without a container engine.
//!
//! | layer     | holds                                                                          | changes with          |
//! |-----------|--------------------------------------------------------------------------------|-----------------------|
//! | base      | C library, authorities that TLS trusts, `/etc/passwd`, `/tmp`: all images share it | Debian's updates  |
//! | tools     | other people's programs with their libraries (the node: ffmpeg, rclone)        | Debian's updates      |
//! | program   | the daemon, and the libraries that it alone needs                              | every build           |
//!
//! There is no shell and no package manager. Every file that is not ours comes from a Debian package of this machine,
//! whose name and version are in the image (`/var/lib/dpkg/status.d`, where scanners look) and in its bill of materials.

mod crates;
mod debian;
mod facts;
mod layers;
mod product;
mod push;
mod report;
mod sbom;
#[cfg(test)]
mod tests;
mod write;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use vmafx_image::LayerCompression;

use self::facts::Facts;
use self::product::{PRODUCTS, Product};
use crate::test::cargo;
use crate::workspace;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Make only these images, by the names of their programs
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The profile that the programs are built with: release, or dev, which is quick to build
    #[arg(long, default_value = "release")]
    profile: String,
    /// The programs are there already: do not build them
    #[arg(long)]
    no_build: bool,
    /// What comes before the names of images, such as registry.example/team
    #[arg(long, value_name = "PREFIX", default_value = "localhost")]
    repository: String,
    /// The tag of all images [default: v and the version of the workspace]
    #[arg(long)]
    tag: Option<String>,
    /// Where the source code is published, for the label of that name
    #[arg(long, value_name = "URL", env = "VMAFX_SOURCE_URL")]
    source: Option<String>,
    /// Where the images are written [default: target/images]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Push the images to this registry and prefix, such as registry.example/team
    #[arg(long, value_name = "PREFIX")]
    push: Option<String>,
    /// The registry to push to has no TLS
    #[arg(long, requires = "push")]
    plain_http: bool,
}

/// Makes them.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let products = chosen(&arguments.only)?;
    if !arguments.no_build {
        let names: Vec<_> = products.iter().map(|product| product.program).collect();
        // Of these packages alone: what tests ask of the crates below them is not in what is released.
        let packages: Vec<_> = names.iter().flat_map(|name| ["--package", *name]).collect();
        build(&packages, &arguments.profile)?;
    }
    let facts = Facts::gather(arguments.tag.clone(), arguments.source.clone())?;
    // What is pushed is called as it will be there.
    let prefix = arguments.push.as_ref().unwrap_or(&arguments.repository).trim_end_matches('/');
    let output = arguments.output.clone().unwrap_or_else(|| workspace::target().join("images"));
    let programs = workspace::target().join(directory(&arguments.profile));
    let made = write::all(&products, &programs, &facts, prefix, LayerCompression::Gzip, &output)?;
    report::print(&made, &output);
    // Programs that are quick to build are large.
    if arguments.profile != "dev" {
        made.iter().try_for_each(report::bounded)?;
    }
    if let Some(prefix) = &arguments.push {
        push::all(&made, prefix, &facts.tag, arguments.plain_http)?;
    }
    Ok(())
}

/// Images of quick builds, for a cluster on this machine, and beside them the programs that such a cluster needs itself.
pub(crate) fn quick() -> Result<vmafx_e2e::Images> {
    const PROFILE: &str = "dev";
    const BESIDE: [&str; 2] = ["vmafx", "testkit-helper"];
    let products: Vec<_> = PRODUCTS.iter().collect();
    let names = products.iter().map(|product| product.program).chain(BESIDE);
    // Of the whole workspace: `make test` has built the crates below them with the same features.
    let bins = names.flat_map(|name| ["--bin", name]);
    build(&["--workspace"].into_iter().chain(bins).collect::<Vec<_>>(), PROFILE)?;
    let programs = workspace::target().join(directory(PROFILE));
    let output = workspace::target().join("images-dev");
    let facts = Facts::gather(None, None)?;
    let repository = "localhost".to_owned();
    // They travel no further than this machine: packing would take longer than all else.
    write::all(&products, &programs, &facts, &repository, LayerCompression::None, &output)?;
    Ok(vmafx_e2e::Images { directory: output, repository, tag: facts.tag, programs })
}

fn chosen(only: &[String]) -> Result<Vec<&'static Product>> {
    let known = PRODUCTS.map(|product| product.program);
    for name in only {
        ensure!(
            known.contains(&name.as_str()),
            "there is no image {name}: the images are {}",
            known.join(", ")
        );
    }
    let wanted = |product: &&Product| only.is_empty() || only.iter().any(|name| name == product.program);
    Ok(PRODUCTS.iter().filter(wanted).collect())
}

fn build(which: &[&str], profile: &str) -> Result<()> {
    cargo(&[&["build", "--locked", "--profile", profile][..], which].concat(), &[])
}

/// Where cargo puts what it builds with a profile.
fn directory(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}
