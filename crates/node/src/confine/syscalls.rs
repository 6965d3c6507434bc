//! Which system calls the process can make (seccomp).
//!
//! A deny-list, because an allow-list would have to follow every codec library of every ffmpeg. It denies what no decoder
//! needs. Three answers:
//!
//! - *not permitted*, for what is denied;
//! - *no such call* for `clone3`, whose flags a filter cannot read: libraries then use `clone`, whose flags it can;
//! - *done* for `setpgid` and `setsid`, without effect. Whatever a worker starts stays in the worker's process group, so
//!   that one signal kills all of it.

mod denied;
mod others;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[derive(Debug, thiserror::Error)]
enum SyscallFilterError {
    #[error("{0}")]
    Backend(#[from] seccompiler::BackendError),
    #[error("{0}")]
    Apply(#[from] seccompiler::Error),
}

/// Returns whether the filters are in force, and the names of the measures.
pub(super) fn confine(gpu: bool) -> (bool, Vec<String>) {
    match filters(gpu).and_then(|filters| Ok(filters.iter().try_for_each(|filter| apply_filter(filter))?)) {
        Ok(()) => {
            (true, vec!["seccomp".to_owned(), if gpu { "no network" } else { "no sockets" }.to_owned()])
        }
        Err(error) => (false, vec![format!("no seccomp: {error}")]),
    }
}

fn filters(gpu: bool) -> Result<Vec<BpfProgram>, SyscallFilterError> {
    let mut rules: Rules = denied::ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, new_namespaces()?);
    rules.extend(others::rules()?);
    if gpu {
        rules.insert(libc::SYS_socket, vec![not_local()?]);
    } else {
        rules.extend(denied::SOCKETS.iter().chain(denied::SHARED_MEMORY).map(|call| (*call, Vec::new())));
    }
    let all = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect::<Rules>();
    let mut filters = vec![
        filter(rules, libc::EPERM)?,
        filter(all(&[libc::SYS_clone3]), libc::ENOSYS)?,
        filter(all(&[libc::SYS_setpgid, libc::SYS_setsid]), 0)?,
    ];
    if cfg!(target_arch = "x86_64") {
        filters.push(no_second_numbering());
    }
    Ok(filters)
}

fn filter(rules: Rules, errno: i32) -> Result<BpfProgram, SyscallFilterError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()?)
}

/// `clone` with a new namespace of any kind: in a namespace of its own a process could be root again.
fn new_namespaces() -> Result<Vec<SeccompRule>, SyscallFilterError> {
    denied::NAMESPACES
        .iter()
        .map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            let op = SeccompCmpOp::MaskedEq(flag);
            Ok(SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, op, flag)?])?)
        })
        .collect()
}

/// All sockets but local ones, by which the drivers of GPUs talk to their daemons and to the kernel.
fn not_local() -> Result<SeccompRule, SyscallFilterError> {
    let other_than = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    };
    Ok(SeccompRule::new(vec![other_than(libc::AF_UNIX)?, other_than(libc::AF_NETLINK)?])?)
}

/// On this architecture system calls have a second set of numbers (x32) that the filters above do not know. Nothing uses it.
fn no_second_numbering() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS, of the first field of `seccomp_data`
    const JUMP_IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const SECOND_SET: u32 = 0x4000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: SECOND_SET },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ERRNO | libc::EPERM.unsigned_abs() },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ALLOW },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_compiles() {
        for gpu in [false, true] {
            let filters = filters(gpu).unwrap();
            assert!(filters.iter().all(|filter| filter.len() > 3), "{filters:?}");
        }
    }

    #[test]
    fn no_call_is_in_two_lists() {
        let lists = [denied::ALWAYS, denied::SOCKETS, denied::SHARED_MEMORY];
        let mut calls: Vec<i64> = lists.into_iter().flatten().copied().collect();
        let before = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), before);
    }
}
