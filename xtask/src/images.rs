//! `cargo xtask images`: container images of the daemons, without a container engine.
//!
//! | layer     | holds                                                                          | changes with          |
//! |-----------|--------------------------------------------------------------------------------|-----------------------|
//! | base      | C library, certificate authorities, `/etc/passwd`, `/tmp`: all images share it | Debian's updates      |
//! | tools     | third-party programs with their libraries (the node: ffmpeg, rclone)           | Debian's updates      |
//! | program   | the daemon, and the libraries that it alone needs                              | every build           |
//!
//! There is no shell and no package manager. Every file that is not ours comes from a Debian package of this machine,
//! whose name and version are in the image (`/var/lib/dpkg/status.d`, where scanners look) and in its bill of materials.

mod build_info;
mod crates;
mod debian;
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

use self::build_info::BuildInfo;
use self::product::{PRODUCTS, Product};
use crate::test::cargo;
use crate::workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Build only these images, by the names of their programs
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Cargo profile of the programs: release, or dev, which is quick to build
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use the existing programs instead of building them
    #[arg(long)]
    no_build: bool,
    /// Prefix of the images' names, such as registry.example/team
    #[arg(long, value_name = "PREFIX", default_value = "localhost")]
    repository: String,
    /// Tag of all images [default: v and the version of the workspace]
    #[arg(long)]
    tag: Option<String>,
    /// URL of the source code, for the label org.opencontainers.image.source
    #[arg(long, value_name = "URL", env = "VMAFX_SOURCE_URL")]
    source: Option<String>,
    /// Output directory [default: target/images]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Push the images to this registry and prefix, such as registry.example/team
    #[arg(long, value_name = "PREFIX")]
    push: Option<String>,
    /// The registry to push to has no TLS
    #[arg(long, requires = "push")]
    plain_http: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let products = chosen(&arguments.only)?;
    if !arguments.no_build {
        let names: Vec<_> = products.iter().map(|product| product.program).collect();
        // Only these packages: `--workspace` would enable features that only tests need.
        let packages: Vec<_> = names.iter().flat_map(|name| ["--package", *name]).collect();
        build(&packages, &arguments.profile)?;
    }
    let info = BuildInfo::gather(arguments.tag.clone(), arguments.source.clone())?;
    // Pushed images have their name in the registry.
    let prefix = arguments.push.as_ref().unwrap_or(&arguments.repository).trim_end_matches('/');
    let output = arguments.output.clone().unwrap_or_else(|| workspace::target().join("images"));
    let programs = workspace::target().join(directory(&arguments.profile));
    let made = write::all(&products, &programs, &info, prefix, LayerCompression::Gzip, &output)?;
    report::print(&made, &output);
    // Unoptimised programs exceed the size limits.
    if arguments.profile != "dev" {
        made.iter().try_for_each(report::check_size)?;
    }
    if let Some(prefix) = &arguments.push {
        push::all(&made, prefix, &info.tag, arguments.plain_http)?;
    }
    Ok(())
}

/// Images of unoptimised programs, and the other programs that a cluster on this machine needs.
pub(crate) fn quick() -> Result<vmafx_e2e::Images> {
    const PROFILE: &str = "dev";
    const OTHER_PROGRAMS: [&str; 2] = ["vmafx", "testkit-helper"];
    let products: Vec<_> = PRODUCTS.iter().collect();
    let names = products.iter().map(|product| product.program).chain(OTHER_PROGRAMS);
    // With `--workspace`, so that dependencies have the same features as in `make test` and are not built again.
    let bins = names.flat_map(|name| ["--bin", name]);
    build(&["--workspace"].into_iter().chain(bins).collect::<Vec<_>>(), PROFILE)?;
    let programs = workspace::target().join(directory(PROFILE));
    let output = workspace::target().join("images-dev");
    let info = BuildInfo::gather(None, None)?;
    let repository = "localhost".to_owned();
    // Not compressed, because they stay on this machine and compression would take longest.
    write::all(&products, &programs, &info, &repository, LayerCompression::None, &output)?;
    Ok(vmafx_e2e::Images { directory: output, repository, tag: info.tag, programs })
}

fn chosen(only: &[String]) -> Result<Vec<&'static Product>> {
    let known = PRODUCTS.map(|product| product.program);
    for name in only {
        ensure!(
            known.contains(&name.as_str()),
            "there is no image {name}; the images are {}",
            known.join(", ")
        );
    }
    let wanted = |product: &&Product| only.is_empty() || only.iter().any(|name| name == product.program);
    Ok(PRODUCTS.iter().filter(wanted).collect())
}

fn build(which: &[&str], profile: &str) -> Result<()> {
    cargo(&[&["build", "--locked", "--profile", profile][..], which].concat(), &[])
}

/// Name of cargo's output directory for a profile.
fn directory(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}
