//! Rules for requests, limits and GPUs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use vmafx_api::node::GpuVendor;

use super::violation::{FieldPath, Findings};
use crate::quantity::ParsedQuantity;

/// The domains of the extended resources by which device plugins offer GPUs.
const DOMAINS: [(GpuVendor, &str); 3] =
    [(GpuVendor::Nvidia, "nvidia.com/"), (GpuVendor::Amd, "amd.com/"), (GpuVendor::Intel, "gpu.intel.com/")];

/// Checks the resources of a container, which can use no GPUs but those of `vendor`; `None` permits every vendor's.
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
                Some(maximum) if is_extended(name) && amount != maximum => {
                    let advice =
                        format!("devices cannot be shared: write the same as the limit, {}", limit.0);
                    findings.invalid(&path, requested.0.as_str(), advice);
                }
                Some(maximum) if amount > maximum => {
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
    let (Some(supported), Some(offered)) = (vendor, offered) else { return };
    if supported != offered {
        let used = match supported {
            GpuVendor::Cpu => "this container uses no GPU".to_owned(),
            other => format!("this container uses GPUs of {}", name_of(other)),
        };
        findings.forbidden(
            path,
            format!("{used}: remove it, or choose {} as the vendor or backend", name_of(offered)),
        );
    }
}

/// Whether a resource is an extended one, which counts devices: its name has a domain other than Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(domain, _)| domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"))
}

fn name_of(vendor: GpuVendor) -> &'static str {
    match vendor {
        GpuVendor::Nvidia => "nvidia",
        GpuVendor::Amd => "amd",
        GpuVendor::Intel => "intel",
        GpuVendor::Cpu => "cpu",
    }
}
