//! Rules for the containers of a partial template. They are merged by name, so each needs a name of its own.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::TemplateTarget;
use crate::reserved::ReservedNames;
use crate::webhook::rules::labels::{self, NAME};
use crate::webhook::rules::violation::{FieldPath, Findings};
use crate::webhook::rules::{location, resources};

pub(super) fn check(
    path: &FieldPath,
    spec: &PodSpec,
    volumes: &BTreeSet<&str>,
    target: TemplateTarget,
    findings: &mut Findings,
) {
    let own = target.own;
    let mut names = BTreeSet::new();
    let lists = [
        ("initContainers", spec.init_containers.as_deref().unwrap_or_default()),
        ("containers", &*spec.containers),
    ];
    for (list, containers) in lists {
        for (index, container) in containers.iter().enumerate() {
            let path = path.field(list).item(index);
            let ours = list == "containers" && container.name == own.container;
            if list == "initContainers" && container.name == own.container {
                let advice = format!("the {} container has this name: choose another", own.work);
                findings.duplicate(&path.field("name"), own.container, &advice);
            } else {
                name(&path.field("name"), &container.name, own, &mut names, findings);
            }
            image(&path.field("image"), container, ours, target, findings);
            environment(&path.field("env"), container, ours.then_some(own), findings);
            mounts(&path.field("volumeMounts"), container, volumes, findings);
            if let Some(resources) = &container.resources {
                let vendor = target.vendor.filter(|_| ours);
                resources::check(&path.field("resources"), resources, vendor, findings);
            }
        }
    }
}

fn name<'a>(
    path: &FieldPath,
    name: &'a str,
    own: &ReservedNames,
    names: &mut BTreeSet<&'a str>,
    findings: &mut Findings,
) {
    if name.is_empty() {
        let ReservedNames { work, container, .. } = own;
        findings.required(
            path,
            format!("containers are merged by name; the {work} container is named {container}"),
        );
    } else if !labels::is_dns_label(name) {
        findings.invalid(path, name, NAME);
    } else if !names.insert(name) {
        findings.duplicate(path, name, "two containers have this name: rename one");
    }
}

fn image(
    path: &FieldPath,
    container: &Container,
    ours: bool,
    target: TemplateTarget,
    findings: &mut Findings,
) {
    match &container.image {
        Some(_) if ours && target.stateful => {
            findings.forbidden(path, "set spec.image instead, or configure the operator's default");
        }
        Some(image) => location::image(path, image, findings),
        None if ours => {}
        None => {
            let ReservedNames { work, container, .. } = target.own;
            findings.required(
                path,
                format!("an additional container needs an image; the {work} container is named {container}"),
            );
        }
    }
}

fn environment(
    path: &FieldPath,
    container: &Container,
    own: Option<&ReservedNames>,
    findings: &mut Findings,
) {
    let mut names = BTreeSet::new();
    for (index, variable) in container.env.iter().flatten().enumerate() {
        let (path, name) = (path.item(index).field("name"), variable.name.as_str());
        if name.is_empty() {
            findings.required(&path, "variables are merged by name");
        } else if let Some(advice) = own.and_then(|own| own.variable(name)) {
            findings.forbidden(&path, format!("{name} is set by the operator: {advice}"));
        } else if !names.insert(name) {
            findings.duplicate(&path, name, "two variables have this name: remove one");
        }
    }
}

fn mounts(path: &FieldPath, container: &Container, volumes: &BTreeSet<&str>, findings: &mut Findings) {
    let mut mount_paths = BTreeSet::new();
    for (index, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let path = path.item(index);
        if !volumes.contains(mount.name.as_str()) {
            let advice = "there is no such volume: add it to volumes or correct the name";
            findings.invalid(&path.field("name"), mount.name.as_str(), advice);
        }
        if mount.mount_path.is_empty() {
            findings.required(&path.field("mountPath"), "set the path at which the volume is mounted");
        } else if !mount_paths.insert(mount.mount_path.as_str()) {
            findings.duplicate(
                &path.field("mountPath"),
                mount.mount_path.as_str(),
                "two volumes are mounted at this path: change one",
            );
        }
    }
}
