//! Runs the commands in the documents that need a cluster with Pods.
//!
//! The documents are processed in the order in which a reader would need them. A shell with `kubectl`, `helm` and `vmafx`
//! runs their blocks marked `sh pods` exactly as printed, with one exception: `helm` gets values for the images of this
//! cluster, where a reader has those of a registry.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::markdown::{CodeBlock, MarkdownDocument};
use vmafx_testkit::shell::Shell;

use crate::{Clips, Platform, Steps, command};

/// The namespace that the documents use.
const NAMESPACE: &str = "vmafx-system";

/// In this order: the last one removes what the first one installs.
const DOCUMENTS: [&str; 5] = ["install", "storage", "monitoring", "troubleshooting", "upgrades"];

/// Timeout of a block, longer than the timeouts in the documents.
const SECONDS: u32 = 330;

pub async fn docs(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let shell = steps.step("docs: a namespace with clips", prepare(platform)).await?;
    run_blocks(&shell, steps).await?;
    steps.step("docs: leave the cluster as it was", platform.remove(NAMESPACE)).await
}

async fn run_blocks(shell: &Shell, steps: &mut Steps) -> Result<()> {
    check_completeness()?;
    for name in DOCUMENTS {
        for block in blocks(name)? {
            let what = block.text.lines().next().unwrap_or_default().trim_end_matches('\\').trim();
            let what: String = what.chars().take(48).collect();
            let run = async {
                let output = command::output(shell.command(&block.text, SECONDS).into(), "").await;
                output.with_context(|| format!("docs/{name}.md, line {}", block.line))
            };
            steps.step(&format!("docs/{name}.md: {what}"), run).await?;
        }
    }
    Ok(())
}

/// Creates the clips that the documents name, a volume for the controller, and a shell.
async fn prepare(platform: &Platform) -> Result<Shell> {
    platform.namespace(NAMESPACE).await?;
    platform.volume(NAMESPACE, "vmafx-controller").await?;
    for (name, like) in ["source.y4m", "rendition.y4m"].into_iter().zip(Clips::GOLDEN) {
        let raw = fs::read(platform.clips().host_path(like))
            .with_context(|| format!("cannot read the clip {like}"))?;
        fs::write(platform.clips().host_path(name), y4m(&raw))
            .with_context(|| format!("cannot write the clip {name}"))?;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shell = Shell::new(platform.cluster().kubeconfig_path(), &root)?;
    let programs = tokio::task::spawn_blocking(|| assets::ensure(&[Binary::Kubectl, Binary::Helm])).await??;
    shell.program("kubectl", programs.path(Binary::Kubectl))?;
    for name in ["vmafx", "kubectl-vmafx"] {
        shell.program(name, &platform.images().program("vmafx"))?;
    }
    let values = platform.images().values();
    shell.script("helm", &helm(programs.path(Binary::Helm), &values.to_string()))?;
    Ok(shell)
}

/// A wrapper of `helm` with additional values; those of the command line take precedence.
fn helm(program: &Path, values: &str) -> String {
    let program = program.display();
    format!(
        "#!/usr/bin/env bash
set -euo pipefail
case \"$1\" in
    install | upgrade) exec '{program}' \"$@\" --values <(cat <<'VALUES'
{values}
VALUES
    ) ;;
    *) exec '{program}' \"$@\" ;;
esac
"
    )
}

/// The blocks of a document that need Pods.
fn blocks(name: &str) -> Result<Vec<CodeBlock>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{name}.md"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let needs_pods = |block: &CodeBlock| block.language == "sh" && block.attributes == ["pods"];
    Ok(MarkdownDocument::parse(&text).blocks.into_iter().filter(needs_pods).collect())
}

/// The commands of a document that is not in [`DOCUMENTS`] would never be run.
fn check_completeness() -> Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "md") && !DOCUMENTS.contains(&name) {
            ensure!(
                blocks(name)?.is_empty(),
                "docs/{name}.md has `sh pods` blocks, but is not in the list of documents"
            );
        }
    }
    Ok(())
}

/// Converts a raw clip of 160×90, yuv420p, to Y4M.
fn y4m(raw: &[u8]) -> Vec<u8> {
    const FRAME: usize = 160 * 90 * 3 / 2;
    let mut clip = b"YUV4MPEG2 W160 H90 F25:1 Ip A1:1 C420\n".to_vec();
    for frame in raw.chunks_exact(FRAME) {
        clip.extend_from_slice(b"FRAME\n");
        clip.extend_from_slice(frame);
    }
    clip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_with_commands_that_need_pods_is_listed() {
        check_completeness().unwrap();
        for name in DOCUMENTS {
            assert!(!blocks(name).unwrap().is_empty(), "docs/{name}.md has no `sh pods` block");
        }
    }

    #[test]
    fn a_clip_has_as_many_frames_as_before() {
        let clip = y4m(&vec![0; 2 * 21600]);
        assert_eq!(clip.windows(6).filter(|window| *window == b"FRAME\n").count(), 2);
    }
}
