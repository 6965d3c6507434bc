//! Which files exist for the process (Landlock).
//!
//! Not `/proc`: the environment of other processes of the same user is there. Not the directory of a program: it may be
//! somebody's home.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::Needs;
use crate::paths::local::FileId;

/// The newest that this was written for; a kernel gives what it has of it.
const KNOWN: ABI = ABI::V6;

/// Programs and libraries of the system.
const SYSTEM: [&str; 9] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store", "/opt/ffmpeg"];

/// Facts that libraries ask for.
const FACTS: [&str; 5] =
    ["/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom"];

/// What the drivers of GPUs look at besides.
const GPU_FACTS: [&str; 5] = ["/proc", "/sys", "/etc/OpenCL", "/etc/vulkan", "/opt"];

/// Where the devices of GPUs are.
const GPU_DEVICES: [&str; 2] = ["/dev/dri", "/dev/kfd"];

/// What may be done where.
#[derive(Debug, PartialEq, Eq)]
struct Room {
    run: Vec<PathBuf>,
    read: Vec<PathBuf>,
    inputs: Vec<(PathBuf, Option<FileId>)>,
    use_devices: Vec<PathBuf>,
    write: PathBuf,
}

pub(super) fn confine(needs: &Needs) -> String {
    match restrict(&room(needs)) {
        Ok(RulesetStatus::FullyEnforced) => "landlock".to_owned(),
        Ok(RulesetStatus::PartiallyEnforced) => "landlock (what this kernel has of it)".to_owned(),
        Ok(RulesetStatus::NotEnforced) => "no landlock: this kernel does not have it".to_owned(),
        Err(error) => format!("no landlock: {error}"),
    }
}

fn room(needs: &Needs) -> Room {
    let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut run = owned(&SYSTEM);
    run.extend(needs.libraries.iter().cloned());
    for program in &needs.programs {
        // The file itself: the way to it may be a link.
        let program = program.canonicalize().unwrap_or_else(|_| program.clone());
        run.extend(beside(&program));
        run.push(program);
    }
    let mut read = owned(&FACTS);
    let mut use_devices = owned(&["/dev/null"]);
    if needs.gpu {
        read.extend(owned(&GPU_FACTS));
        run.extend(owned(&["/opt"]));
        use_devices.extend(owned(&GPU_DEVICES));
        use_devices.extend(named_like("/dev", "nvidia"));
    }
    Room { run, read, inputs: needs.read.clone(), use_devices, write: needs.limits.scratch.clone() }
}

/// Libraries that come with a program: next to it, or in `lib` next to its `bin`.
fn beside(program: &Path) -> Vec<PathBuf> {
    let Some(directory) = program.parent() else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries(directory)
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so")))
        .collect();
    if directory.file_name().is_some_and(|name| name == "bin") {
        found.extend(directory.parent().map(|parent| parent.join("lib")));
    }
    found
}

fn named_like(directory: &str, start: &str) -> Vec<PathBuf> {
    entries(Path::new(directory))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))
        .collect()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    directory.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

/// A rule holds for the very file that is open here, whatever its path leads to later.
fn inputs(
    files: &[(PathBuf, Option<FileId>)],
    access: BitFlags<AccessFs>,
) -> Vec<Result<PathBeneath<PathFd>, RulesetError>> {
    let open = |(path, wanted): &(PathBuf, Option<FileId>)| {
        let file = PathFd::new(path).ok()?;
        let found = FileId::of(&file).ok()?;
        // A directory has other rights than a file.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
        wanted.is_none_or(|wanted| wanted == found).then(|| Ok(PathBeneath::new(file, access)))
    };
    files.iter().filter_map(open).collect()
}

/// Files that do not exist are passed over, and so are rights that a kernel does not know.
fn restrict(room: &Room) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let own = AccessFs::from_all(KNOWN)
        & !(AccessFs::Execute
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::MakeSock
            | AccessFs::MakeFifo
            | AccessFs::IoctlDev);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::ReadDir;
    let rules = |paths: &[PathBuf], access: BitFlags<AccessFs>| {
        path_beneath_rules(paths.to_vec(), access).collect::<Vec<_>>()
    };
    let status = Ruleset::default()
        .set_compatibility(landlock::CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules(&room.run, read | AccessFs::Execute))?
        .add_rules(rules(&room.read, read))?
        .add_rules(inputs(&room.inputs, read))?
        .add_rules(rules(&room.use_devices, device))?
        .add_rules(rules(std::slice::from_ref(&room.write), own))?
        .restrict_self()?;
    Ok(status.ruleset)
}
