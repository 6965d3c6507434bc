//! Calls that act on a process: denied unless that is the caller's own.
//!
//! Landlock denies signals too, but only from Linux 6.12 on. A filter does not know the ids of processes that are started
//! later, so a worker and its decoders may signal their own group (`0`) and the worker. That includes a decoder that calls
//! `abort`: its signal is refused and it dies by the instruction that follows, with SIGSEGV instead of SIGABRT. The agent kills
//! decoders for the worker ([`crate::task::WorkerMessage::Kill`]).

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{Rules, SyscallFilterError};

/// `F_SETOWN`, `F_SETSIG` and `F_SETOWN_EX`, by which the kernel sends a chosen signal to another process.
const SET_OWNER_OF_FILE: [u64; 3] = [8, 10, 15];
/// `FIOSETOWN` and `SIOCSPGRP`, the same by `ioctl`.
const SET_OWNER: [u64; 2] = [0x8901, 0x8902];

pub(super) fn rules() -> Result<Rules, SyscallFilterError> {
    let own = u64::from(std::process::id());
    Ok(Rules::from([
        (libc::SYS_kill, vec![all(&[not(0, 0)?, not(0, own)?])?]),
        (libc::SYS_tgkill, vec![all(&[not(0, own)?])?]),
        (libc::SYS_prlimit64, vec![all(&[not(0, 0)?, not(0, own)?])?]),
        (libc::SYS_setpriority, vec![all(&[not(1, 0)?])?, all(&[is(0, libc::PRIO_USER.into())?])?]),
        (libc::SYS_ioprio_set, vec![all(&[not(1, 0)?])?]),
        (libc::SYS_fcntl, any(1, &SET_OWNER_OF_FILE)?),
        (libc::SYS_ioctl, any(1, &SET_OWNER)?),
    ]))
}

/// A condition on the lower half of an argument: process ids and commands have 32 bits.
fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SyscallFilterError> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?)
}

fn not(argument: u8, value: u64) -> Result<SeccompCondition, SyscallFilterError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, SyscallFilterError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn all(conditions: &[SeccompCondition]) -> Result<SeccompRule, SyscallFilterError> {
    Ok(SeccompRule::new(conditions.to_vec())?)
}

fn any(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, SyscallFilterError> {
    values.iter().map(|value| all(&[is(argument, *value)?])).collect()
}
