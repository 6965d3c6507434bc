//! With shell scripts in place of the tools.

use std::fs;

use rstest::rstest;
use tempfile::TempDir;
use vmafx_testkit::script;

use super::*;

/// A directory with a tool and `proc/cpuinfo`.
fn machine(tool: &str, text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    script::write(&directory.path().join(tool), &format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::create_dir(directory.path().join("proc")).unwrap();
    fs::write(directory.path().join("proc/cpuinfo"), "model name\t: A CPU\n").unwrap();
    directory
}

async fn detected(vendor: Vendor, machine: &TempDir) -> String {
    detect_with(vendor, Some(machine.path().as_os_str()), machine.path()).await
}

#[rstest]
#[case(
    Vendor::Nvidia,
    "nvidia-smi",
    r#"[ "$*" = -L ] && echo "GPU 0: NVIDIA L4 (UUID: GPU-1)""#,
    "NVIDIA L4"
)]
#[case(
    Vendor::Amd,
    "rocm-smi",
    r#"[ "$*" = --showid ] && echo "GPU[0] : Device Name: AMD Instinct MI210""#,
    "AMD Instinct MI210"
)]
#[case(
    Vendor::Intel,
    "clinfo",
    r#"[ -z "$*" ] && echo "  Device Name    Intel(R) Arc(TM)""#,
    "Intel(R) Arc(TM)"
)]
#[case(Vendor::Apple, "system_profiler", r#"echo "Chipset Model: Apple M2""#, "Apple M2")]
#[case::cpu_needs_no_tool(Vendor::Cpu, "nvidia-smi", r#"echo "GPU 0: NVIDIA L4""#, "A CPU")]
#[case::no_device(Vendor::Nvidia, "nvidia-smi", "echo 'No devices were found'; exit 6", "A CPU")]
#[case::another_tool(Vendor::Nvidia, "rocm-smi", "echo 'GPU 0: x'", "A CPU")]
#[case::endless(Vendor::Nvidia, "nvidia-smi", "echo 'GPU 0: NVIDIA L4'; exec yes", "NVIDIA L4")]
#[tokio::test]
async fn the_tool_of_the_vendor_names_the_device(
    #[case] vendor: Vendor,
    #[case] tool: &str,
    #[case] script: &str,
    #[case] expected: &str,
) {
    assert_eq!(detected(vendor, &machine(tool, script)).await, expected);
}

/// The paused clock advances when nothing else happens, so the timeout passes at once.
#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_given_up_and_killed_with_all_it_started() {
    let machine = machine("nvidia-smi", "sleep 1000 & echo $! $$ > pids.tmp; mv pids.tmp pids; wait");
    let script = machine.path().join("nvidia-smi");
    let text = fs::read_to_string(&script)
        .unwrap()
        .replace("pids", &machine.path().join("pids").display().to_string());
    vmafx_testkit::script::write(&script, &text).unwrap();
    assert_eq!(detected(Vendor::Nvidia, &machine).await, "A CPU");
    // The tool may have been killed before it wrote its ids.
    let pids = fs::read_to_string(machine.path().join("pids")).unwrap_or_default();
    for pid in pids.split_whitespace() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

#[rstest]
#[case(Backend::Cpu, "cpu")]
#[case(Backend::Cuda, "nvidia")]
#[case(Backend::Hip, "amd")]
#[case(Backend::Sycl, "intel")]
#[case(Backend::Metal, "apple")]
fn a_backend_has_a_vendor(#[case] backend: Backend, #[case] vendor: &str) {
    assert_eq!(Vendor::of_backend(backend).name(), vendor);
}
