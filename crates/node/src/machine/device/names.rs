//! Parses names of devices. Pure.

const MAX_NAME_LENGTH: usize = 120;

/// `model name : AMD EPYC 7763 64-Core Processor` in `/proc/cpuinfo`; other architectures use other keys.
pub(super) fn cpu(text: &str) -> Option<String> {
    ["model name", "Model", "cpu model", "Hardware"].iter().find_map(|key| value(text, key))
}

/// `GPU 0: NVIDIA L4 (UUID: GPU-…)`.
pub(super) fn nvidia(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("GPU "))?;
    let name = line.split_once(": ")?.1;
    normalize(name.split(" (UUID").next()?)
}

/// `GPU[0] : Device Name: AMD Instinct MI210`, or an identifier in versions without names.
pub(super) fn amd(text: &str) -> Option<String> {
    let after = |key: &str| {
        let line = text.lines().find(|line| line.starts_with("GPU[") && line.contains(key))?;
        normalize(line.split_once(key)?.1)
    };
    ["Device Name:", "Card Series:", "Card series:"]
        .iter()
        .find_map(|key| after(key))
        .or_else(|| ["Device ID:", "GPU ID:"].iter().find_map(|key| Some(format!("AMD GPU {}", after(key)?))))
}

/// `Device Name    Intel(R) Arc(TM) A770 Graphics` of the first device.
pub(super) fn opencl(text: &str) -> Option<String> {
    normalize(text.lines().find_map(|line| line.trim_start().strip_prefix("Device Name "))?)
}

/// `Chipset Model: Apple M2`.
pub(super) fn apple(text: &str) -> Option<String> {
    normalize(text.lines().find_map(|line| line.trim_start().strip_prefix("Chipset Model:"))?)
}

fn value(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then(|| normalize(value)).flatten()
    })
}

/// Removes control characters and superfluous spaces; `None` if nothing is left.
fn normalize(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let name: String =
        words.join(" ").chars().filter(|letter| !letter.is_control()).take(MAX_NAME_LENGTH).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("processor\t: 0\nmodel name\t: AMD  EPYC 7763\nmodel name\t: other\n", Some("AMD EPYC 7763"))]
    #[case(
        "processor\t: 0\nBogoMIPS: 50\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n",
        Some("Raspberry Pi 4")
    )]
    #[case("model name\t: \n", None)]
    #[case("", None)]
    fn cpus(#[case] text: &str, #[case] name: Option<&str>) {
        assert_eq!(cpu(text).as_deref(), name);
    }

    #[rstest]
    #[case("GPU 0: NVIDIA L4 (UUID: GPU-1c2d)\nGPU 1: NVIDIA L40\n", Some("NVIDIA L4"))]
    #[case("No devices found.\n", None)]
    fn nvidias(#[case] text: &str, #[case] name: Option<&str>) {
        assert_eq!(nvidia(text).as_deref(), name);
    }

    #[rstest]
    #[case(
        "======\nGPU[0]\t\t: Device Name: \t\tAMD Instinct MI210\nGPU[0]\t\t: Device ID: \t\t0x740f\n",
        Some("AMD Instinct MI210")
    )]
    #[case("GPU[0]\t\t: GPU ID: 0x73bf\n", Some("AMD GPU 0x73bf"))]
    #[case("No AMD GPUs specified\n", None)]
    fn amds(#[case] text: &str, #[case] name: Option<&str>) {
        assert_eq!(amd(text).as_deref(), name);
    }

    #[test]
    fn others() {
        let text = "Number of devices   1\n  Device Name                 Intel(R) Arc(TM) A770 Graphics\n  Device Vendor   Intel\n";
        assert_eq!(opencl(text).as_deref(), Some("Intel(R) Arc(TM) A770 Graphics"));
        assert_eq!(apple("Graphics:\n      Chipset Model: Apple M2\n").as_deref(), Some("Apple M2"));
    }
}
