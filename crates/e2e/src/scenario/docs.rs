//! What the documents say of a cluster with Pods, done as it is written there.
//!
//! The documents are read in the order in which a person would need them. Of each, the blocks marked `sh pods` are run by
//! a shell that has `kubectl`, `helm` and `vmafx`, as they are printed, but for one thing: `helm` is told of the images
//! that this cluster has, where a reader has those of a registry.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::markdown::{CodeBlock, MarkdownDocument};
use vmafx_testkit::shell::Shell;

use crate::{Clips, Platform, Steps, command};

/// The namespace that the documents speak of.
const NAMESPACE: &str = "vmafx-system";

/// The last one removes what the first one installs.
const DOCUMENTS: [&str; 5] = ["install", "storage", "monitoring", "troubleshooting", "upgrades"];

/// Longer than the timeouts in the documents.
const SECONDS: u32 = 330;

/// Runs every block of the documents that needs Pods.
pub async fn docs(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let shell = steps.step("docs: a namespace with clips", prepare(platform)).await?;
    follow(&shell, steps).await?;
    steps.step("docs: leave the cluster as it was", platform.remove(NAMESPACE)).await
}

async fn follow(shell: &Shell, steps: &mut Steps) -> Result<()> {
    everything_is_read()?;
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

/// The clips that the documents speak of, a volume for the controller, and a shell.
async fn prepare(platform: &Platform) -> Result<Shell> {
    platform.namespace(NAMESPACE).await?;
    platform.volume(NAMESPACE, "vmafx-controller").await?;
    for (name, like) in ["source.y4m", "rendition.y4m"].into_iter().zip(Clips::GOLDEN) {
        let raw = fs::read(platform.clips().here(like)).with_context(|| format!("the clip {like}"))?;
        fs::write(platform.clips().here(name), y4m(&raw)).with_context(|| format!("the clip {name}"))?;
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

/// `helm` with values before those of the command line, which win.
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
    let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    Ok(MarkdownDocument::parse(&text).blocks.into_iter().filter(of_pods).collect())
}

fn of_pods(block: &CodeBlock) -> bool {
    block.language == "sh" && block.attributes == ["pods"]
}

/// A document that is missing in the list would be run by nobody.
fn everything_is_read() -> Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "md") && !DOCUMENTS.contains(&name) {
            ensure!(
                blocks(name)?.is_empty(),
                "docs/{name}.md has commands that need Pods, and nobody runs them"
            );
        }
    }
    Ok(())
}

/// A raw clip of 160×90, yuv420p, with the header that makes it known to everybody.
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
    fn every_document_with_commands_that_need_pods_is_read() {
        everything_is_read().unwrap();
        for name in DOCUMENTS {
            assert!(!blocks(name).unwrap().is_empty(), "docs/{name}.md has none");
        }
    }

    #[test]
    fn a_clip_has_as_many_frames_as_before() {
        let clip = y4m(&vec![0; 2 * 21600]);
        assert_eq!(clip.windows(6).filter(|window| *window == b"FRAME\n").count(), 2);
    }
}
