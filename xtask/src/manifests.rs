//! The generated files: one list, which is either written or compared with the files on disk.

mod chart;
mod evolution;
mod reference;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// Directory with the CRDs of the last release, which later ones may only extend.
const BASELINE: &str = "config/crd/baseline";

struct GeneratedFile {
    path: PathBuf,
    text: String,
}

/// Writes all generated files and prints those that changed.
pub(crate) fn write() -> Result<()> {
    for file in render()? {
        if current(&file.path)? != file.text {
            let path = workspace::root().join(&file.path);
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote {}", file.path.display());
        }
    }
    Ok(())
}

/// Fails when a generated file is out of date, or when a CRD does not extend the baseline.
pub(crate) fn check() -> Result<()> {
    let mut stale = Vec::new();
    for file in render()? {
        if current(&file.path)? != file.text {
            stale.push(file.path.display().to_string());
        }
    }
    if !stale.is_empty() {
        bail!("out of date: {}\nrun `make manifests` and commit the result", stale.join(", "));
    }
    check_evolution()
}

/// Makes the current CRDs the baseline, if they only extend the existing one.
pub(crate) fn move_baseline() -> Result<()> {
    check_evolution()?;
    for (plural, crd) in definitions()? {
        let path = baseline_path(&plural);
        fs::create_dir_all(workspace::root().join(BASELINE))?;
        fs::write(workspace::root().join(&path), yaml::render(&crd)?)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn check_evolution() -> Result<()> {
    let mut breaking_changes = Vec::new();
    for (plural, crd) in definitions()? {
        let old = current(&baseline_path(&plural))?;
        if !old.is_empty() {
            let old: serde_json::Value = serde_saphyr::from_str(&old)?;
            breaking_changes.extend(
                evolution::breaking_changes(&old, &crd).into_iter().map(|b| format!("  {plural}: {b}")),
            );
        }
    }
    if !breaking_changes.is_empty() {
        bail!(
            "{GROUP} v1 may only grow, because stored resources and clients rely on it:\n{}",
            breaking_changes.join("\n"),
            GROUP = vmafx_api::GROUP
        );
    }
    Ok(())
}

fn render() -> Result<Vec<GeneratedFile>> {
    let mut files = Vec::new();
    let definitions = definitions()?;
    for (plural, crd) in &definitions {
        let text = yaml::render(crd)?;
        for dir in ["config/crd/bases", "deploy/helm/vmafx/crds"] {
            let path = Path::new(dir).join(format!("{}_{plural}.yaml", vmafx_api::GROUP));
            files.push(GeneratedFile { path, text: text.clone() });
        }
    }
    for file in vmafx_operator::rbac::files() {
        let path = Path::new("config/rbac").join(file.name);
        files.push(GeneratedFile { path, text: yaml::render_all(&file.objects)? });
    }
    files.push(GeneratedFile {
        path: "config/webhook/manifests.yaml".into(),
        text: yaml::render(&webhooks()?)?,
    });
    files.extend(chart::render(&webhooks()?)?);
    let crds = definitions.iter().map(|(_, crd)| crd).collect::<Vec<_>>();
    files.push(GeneratedFile { path: "docs/api.md".into(), text: reference::render(&crds) });
    Ok(files)
}

/// The webhook configuration with the default names.
fn webhooks() -> Result<serde_json::Value> {
    use vmafx_operator::webhook::{args, configuration};
    let service = configuration::WebhookEndpoint::Service {
        namespace: "vmafx-system".to_owned(),
        name: args::SERVICE.to_owned(),
        port: 443,
    };
    Ok(serde_json::to_value(configuration::configuration(args::CONFIGURATION, &service, None))?)
}

/// The CRDs with their plural names, as JSON.
fn definitions() -> Result<Vec<(String, serde_json::Value)>> {
    vmafx_api::crd::all()
        .into_iter()
        .map(|crd| Ok((crd.spec.names.plural.clone(), yaml::normalise(serde_json::to_value(&crd)?))))
        .collect()
}

fn baseline_path(plural: &str) -> PathBuf {
    Path::new(BASELINE).join(format!("{}_{plural}.yaml", vmafx_api::GROUP))
}

/// Text of the file on disk; empty if it does not exist.
fn current(path: &Path) -> Result<String> {
    match fs::read_to_string(workspace::root().join(path)) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
