//! Requests, limits and GPUs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use vmafx_api::node::GpuVendor;

use super::violation::{FieldPath, Findings};
use crate::quantity::ParsedQuantity;

/// The domains under which device plugins offer GPUs.
const DOMAINS: [(GpuVendor, &str); 3] =
    [(GpuVendor::Nvidia, "nvidia.com/"), (GpuVendor::Amd, "amd.com/"), (GpuVendor::Intel, "gpu.intel.com/")];

/// Checks the resources of a container; `vendor` is the only one whose GPUs it can use, if that is known.
pub(super) fn check(
    path: &FieldPath,
    resources: &ResourceRequirements,
    vendor: Option<GpuVendor>,
    findings: &mut Findings,
) {
    let none = BTreeMap::new();
    let requests = resources.requests.as_ref().unwrap_or(&none);
    let limits = resources.limits.as_ref().unwrap_or(&none);
    for (list, amounts) in [("requests", requests), ("limits", limits)] {
        let path = path.field(list);
        for (name, quantity) in amounts {
            check_amount(&path.key(name), name, quantity, findings);
            check_vendor(&path.key(name), name, vendor, findings);
        }
    }
    for (name, requested) in requests {
        let path = path.field("requests").key(name);
        let Some(amount) = ParsedQuantity::parse(&requested.0) else { continue };
        match limits.get(name) {
            Some(limit) => match ParsedQuantity::parse(&limit.0) {
                Some(most) if is_extended(name) && amount != most => {
                    let advice =
                        format!("devices cannot be shared: write the same as the limit, {}", limit.0);
                    findings.invalid(&path, requested.0.as_str(), advice);
                }
                Some(most) if amount > most => {
                    let advice =
                        format!("must not be more than the limit, {}: lower it or raise the limit", limit.0);
                    findings.invalid(&path, requested.0.as_str(), advice);
                }
                _ => {}
            },
            None if is_extended(name) => {
                findings.invalid(
                    &path,
                    requested.0.as_str(),
                    "devices need a limit: write the same amount in limits",
                );
            }
            None => {}
        }
    }
}

fn check_amount(path: &FieldPath, name: &str, quantity: &Quantity, findings: &mut Findings) {
    match ParsedQuantity::parse(&quantity.0) {
        None => findings.invalid(path, quantity.0.as_str(), "write an amount such as 2, 500m, 1.5Gi or 200M"),
        Some(amount) if amount.is_negative() => {
            findings.invalid(path, quantity.0.as_str(), "must not be negative");
        }
        Some(amount) if is_extended(name) && !amount.is_whole() => {
            findings.invalid(path, quantity.0.as_str(), "devices are whole: write a number such as 1");
        }
        Some(_) => {}
    }
}

fn check_vendor(path: &FieldPath, name: &str, vendor: Option<GpuVendor>, findings: &mut Findings) {
    let offered = DOMAINS.iter().find(|(_, domain)| name.starts_with(domain)).map(|(vendor, _)| *vendor);
    let (Some(wanted), Some(offered)) = (vendor, offered) else { return };
    if wanted != offered {
        let used = match wanted {
            GpuVendor::Cpu => "no GPU is used here".to_owned(),
            other => format!("a GPU of {} is used here", word(other)),
        };
        findings.forbidden(
            path,
            format!("{used}: remove it, or choose {} as the vendor or backend", word(offered)),
        );
    }
}

/// Whether it is counted in devices: names with a domain that is not Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(domain, _)| domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"))
}

fn word(vendor: GpuVendor) -> &'static str {
    match vendor {
        GpuVendor::Nvidia => "nvidia",
        GpuVendor::Amd => "amd",
        GpuVendor::Intel => "intel",
        GpuVendor::Cpu => "cpu",
    }
}
