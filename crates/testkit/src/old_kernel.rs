//! Runs a program as on a kernel or a container runtime that lacks a system call.
//!
//! A seccomp filter answers the call with `ENOSYS`, as an older kernel, gVisor or a strict profile of a container runtime
//! does. The launcher is a few lines of C, compiled by the `cc` that also links Rust programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc < 3) return 64;
    unsigned call = strcmp(argv[1], "landlock") ? SYS_seccomp : SYS_landlock_create_ruleset;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { 4, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("seccomp");
        return 65;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 66;
}
"#;

/// A system call that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingCall {
    /// `landlock_create_ruleset`.
    Landlock,
    /// `seccomp`.
    Seccomp,
}

impl MissingCall {
    fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

/// Writes an executable into `directory` that runs `program` with its own arguments and without the call.
pub fn program_without(call: MissingCall, program: &Path, directory: &Path) -> io::Result<PathBuf> {
    let (source, launcher) = (directory.join("old-kernel.c"), directory.join("old-kernel"));
    fs::write(&source, SOURCE)?;
    let compiled = Command::new("cc").arg("-o").arg(&launcher).arg(&source).output()?;
    if !compiled.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&compiled.stderr).into_owned()));
    }
    let script = directory.join(format!("without-{}", call.name()));
    let line = format!("exec '{}' {} '{}' \"$@\"", launcher.display(), call.name(), program.display());
    crate::script::write(&script, &format!("#!/bin/sh\n{line}\n"))?;
    Ok(script)
}
