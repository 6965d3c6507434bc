//! With files as kernels and container runtimes provide them.

use std::fs;

use rstest::rstest;
use tempfile::TempDir;

use super::*;

const GB: u64 = 1 << 30;

fn root(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");

#[rstest]
#[case::nothing_is_limited(&[MEMINFO, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "max 100000\n")], 8, 8 * GB)]
#[case::version_2_in_a_container(&[
    MEMINFO,
    ("proc/self/cgroup", "0::/\n"),
    ("sys/fs/cgroup/cpu.max", "300000 100000\n"),
    ("sys/fs/cgroup/memory.max", "2147483648\n"),
], 3, 2 * GB)]
#[case::a_part_of_a_core_is_used_too(&[MEMINFO, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "150000 100000\n")], 2, 8 * GB)]
#[case::less_than_a_core(&[MEMINFO, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "20000 100000\n")], 1, 8 * GB)]
#[case::version_2_the_tightest_group_counts(&[
    MEMINFO,
    ("proc/self/cgroup", "0::/kubepods/pod1/c1\n"),
    ("sys/fs/cgroup/kubepods/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/kubepods/memory.max", "1073741824\n"),
    ("sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n"),
    ("sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "400000 100000\n"),
    ("sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n"),
], 2, GB)]
#[case::version_2_the_path_is_the_hosts(&[
    MEMINFO,
    ("proc/self/cgroup", "0::/../../system.slice/x\n"),
    ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
], 2, 8 * GB)]
#[case::version_1(&[
    MEMINFO,
    ("proc/self/cgroup", "4:memory:/docker/1\n1:cpu,cpuacct:/docker/1\n0::/\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "400000\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "3221225472\n"),
], 4, 3 * GB)]
#[case::version_1_the_path_is_the_hosts(&[
    MEMINFO,
    ("proc/self/cgroup", "4:memory:/docker/1\n1:cpu:/docker/1\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
], 2, GB)]
#[case::version_1_without_limits(&[
    MEMINFO,
    ("proc/self/cgroup", "4:memory:/\n1:cpu:/\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
], 8, 8 * GB)]
#[case::both_versions(&[
    MEMINFO,
    ("proc/self/cgroup", "3:cpu:/\n0::/a\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/unified/a/memory.max", "1073741824\n"),
], 3, GB)]
#[case::nothing_is_known(&[], 8, 2 * GB)]
#[case::nonsense(&[
    ("proc/meminfo", "MemTotal: a lot\n"),
    ("proc/self/cgroup", "x\n\n::\n0::/\n"),
    ("sys/fs/cgroup/cpu.max", "100000 0\n"),
    ("sys/fs/cgroup/memory.max", "-5\n"),
], 8, 2 * GB)]
fn what_a_process_has(#[case] files: &[(&str, &str)], #[case] cores: u32, #[case] memory: u64) {
    let root = root(files);
    assert_eq!(Machine::below(root.path(), 8), Machine { cores, memory });
}

#[test]
fn affinity_limits_too() {
    let root = root(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "400000 100000\n")]);
    assert_eq!(Machine::below(root.path(), 2).cores, 2);
}

#[test]
fn this_process_has_something() {
    let machine = Machine::of_this_process();
    let std = std::thread::available_parallelism().unwrap().get();
    // The standard library rounds a part of a core down.
    assert!(machine.cores as usize >= std && machine.cores as usize <= std + 1, "{machine:?}, {std}");
    assert!(machine.memory > 64 << 20, "{machine:?}");
}

#[rstest]
#[case::one(8, 1, 8, 8 * GB - (128 << 20))]
#[case::many(8, 4, 2, (8 * GB - (128 << 20)) / 4)]
#[case::uneven(3, 2, 2, (8 * GB - (128 << 20)) / 2)]
#[case::more_than_cores(2, 5, 1, (8 * GB - (128 << 20)) / 5)]
#[case::none_is_one(2, 0, 2, 8 * GB - (128 << 20))]
fn slots_share(#[case] cores: u32, #[case] slots: u32, #[case] threads: u32, #[case] memory: u64) {
    assert_eq!(Machine { cores, memory: 8 * GB }.share(slots), SlotShare { threads, memory });
}

#[test]
fn the_agents_part_of_little_memory_is_little() {
    assert_eq!(Machine { cores: 1, memory: 100 << 20 }.share(1).memory, 75 << 20);
}

#[rstest]
#[case::version_2("0::/c\n", "sys/fs/cgroup/c/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n")]
#[case::version_1(
    "4:memory:/c\n",
    "sys/fs/cgroup/memory/c/memory.oom_control",
    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"
)]
fn kills_for_memory_are_counted(#[case] cgroup: &str, #[case] file: &str, #[case] text: &str) {
    let root = root(&[("proc/self/cgroup", cgroup), (file, text)]);
    let count = || OomKills::of(&Cgroup::of_this_process(root.path()));
    let before = count();
    assert_eq!(count().since(&before), Some(false));
    fs::write(root.path().join(file), text.replace("oom_kill 2", "oom_kill 3")).unwrap();
    assert_eq!(count().since(&before), Some(true));
    fs::remove_file(root.path().join(file)).unwrap();
    assert_eq!(count().since(&before), None);
}
