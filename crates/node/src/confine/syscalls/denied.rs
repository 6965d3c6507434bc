//! The system calls that are denied.

use libc as sys;

/// Without these there is no network and no daemon of the machine to talk to. Pairs of connected sockets are like pipes and
/// stay allowed.
pub(super) const SOCKETS: &[i64] =
    &[sys::SYS_socket, sys::SYS_connect, sys::SYS_bind, sys::SYS_listen, sys::SYS_accept, sys::SYS_accept4];

/// Memory that no limit of a process counts. Drivers of GPUs use it, so it is allowed for them.
pub(super) const SHARED_MEMORY: &[i64] = &[
    sys::SYS_memfd_create,
    sys::SYS_memfd_secret,
    sys::SYS_mq_open,
    sys::SYS_msgget,
    sys::SYS_semget,
    sys::SYS_shmget,
];

/// Namespaces in each of which a process could be root.
pub(super) const NAMESPACES: &[i32] = &[
    sys::CLONE_NEWCGROUP,
    sys::CLONE_NEWIPC,
    sys::CLONE_NEWNET,
    sys::CLONE_NEWNS,
    sys::CLONE_NEWPID,
    sys::CLONE_NEWUSER,
    sys::CLONE_NEWUTS,
];

/// Calls that no decoder needs.
pub(super) const ALWAYS: &[i64] = &[
    // Other processes. `kill`, `tgkill` and the like have rules of their own.
    sys::SYS_kcmp,
    sys::SYS_migrate_pages,
    sys::SYS_move_pages,
    sys::SYS_pidfd_getfd,
    sys::SYS_pidfd_send_signal,
    sys::SYS_process_madvise,
    sys::SYS_process_mrelease,
    sys::SYS_process_vm_readv,
    sys::SYS_process_vm_writev,
    sys::SYS_ptrace,
    sys::SYS_rt_sigqueueinfo,
    sys::SYS_rt_tgsigqueueinfo,
    sys::SYS_tkill,
    // Ways around a filter: requests by a ring, faults handled by hand.
    sys::SYS_io_uring_enter,
    sys::SYS_io_uring_register,
    sys::SYS_io_uring_setup,
    sys::SYS_userfaultfd,
    // The view of the file system.
    sys::SYS_chroot,
    sys::SYS_fanotify_init,
    sys::SYS_fsconfig,
    sys::SYS_fsmount,
    sys::SYS_fsopen,
    sys::SYS_fspick,
    sys::SYS_mount,
    sys::SYS_mount_setattr,
    sys::SYS_move_mount,
    sys::SYS_name_to_handle_at,
    sys::SYS_open_by_handle_at,
    sys::SYS_open_tree,
    sys::SYS_pivot_root,
    sys::SYS_quotactl,
    sys::SYS_setns,
    // Landlock denies it from ABI 3 on only.
    sys::SYS_truncate,
    sys::SYS_umount2,
    sys::SYS_unshare,
    // The kernel and the machine.
    sys::SYS_acct,
    sys::SYS_bpf,
    sys::SYS_clock_adjtime,
    sys::SYS_clock_settime,
    sys::SYS_delete_module,
    sys::SYS_finit_module,
    sys::SYS_init_module,
    sys::SYS_kexec_file_load,
    sys::SYS_kexec_load,
    sys::SYS_perf_event_open,
    sys::SYS_reboot,
    sys::SYS_setdomainname,
    sys::SYS_sethostname,
    sys::SYS_settimeofday,
    sys::SYS_swapoff,
    sys::SYS_swapon,
    sys::SYS_syslog,
    sys::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    sys::SYS_iopl,
    // Keys that the kernel holds.
    sys::SYS_add_key,
    sys::SYS_keyctl,
    sys::SYS_request_key,
];
