//! Which files the process can open (Landlock).
//!
//! `/proc` is not among them, because it has the environment of other processes of the same user. Nor is the directory of a
//! program, which may be somebody's home.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

use super::ConfinementNeeds;
use crate::paths::local::FileId;

/// The newest ABI that this code was written for; an older kernel enforces the part that it has.
const MAX_ABI: ABI = ABI::V6;

/// Programs and libraries of the system.
const SYSTEM_DIRECTORIES: [&str; 9] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store", "/opt/ffmpeg"];

/// Files that common libraries read.
const LIBRARY_FILES: [&str; 5] =
    ["/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom"];

/// Files that the drivers of GPUs read besides.
const GPU_FILES: [&str; 5] = ["/proc", "/sys", "/etc/OpenCL", "/etc/vulkan", "/opt"];

const GPU_DEVICES: [&str; 2] = ["/dev/dri", "/dev/kfd"];

/// Paths by what may be done with them.
#[derive(Debug, PartialEq, Eq)]
struct FileAccess {
    run: Vec<PathBuf>,
    read: Vec<PathBuf>,
    inputs: Vec<(PathBuf, Option<FileId>)>,
    use_devices: Vec<PathBuf>,
    write: PathBuf,
}

/// Returns the version of the ABI that is enforced, 0 for none, and the name of the measure.
pub(super) fn confine(needs: &ConfinementNeeds) -> (u32, String) {
    match restrict(&file_access(needs)) {
        Ok(status) => match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _)
            | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
                (0, "no landlock: this kernel does not have it".to_owned())
            }
            (ruleset, LandlockStatus::Available { effective_abi, .. }) => {
                let abi = effective_abi.min(MAX_ABI) as u32;
                let whole = ruleset == RulesetStatus::FullyEnforced;
                let name = if whole { "landlock" } else { "landlock (as far as this kernel supports it)" };
                (abi, name.to_owned())
            }
        },
        Err(error) => (0, format!("no landlock: {error}")),
    }
}

fn file_access(needs: &ConfinementNeeds) -> FileAccess {
    let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut run = owned(&SYSTEM_DIRECTORIES);
    run.extend(needs.libraries.iter().cloned());
    for program in &needs.programs {
        // The rule must name the file itself, because the path may be a link.
        let program = program.canonicalize().unwrap_or_else(|_| program.clone());
        run.extend(bundled_libraries(&program));
        run.push(program);
    }
    let mut read = owned(&LIBRARY_FILES);
    let mut use_devices = owned(&["/dev/null"]);
    if needs.gpu {
        read.extend(owned(&GPU_FILES));
        run.extend(owned(&["/opt"]));
        use_devices.extend(owned(&GPU_DEVICES));
        use_devices.extend(named_like("/dev", "nvidia"));
    }
    FileAccess { run, read, inputs: needs.read.clone(), use_devices, write: needs.limits.scratch.clone() }
}

/// Libraries that come with a program: next to it, or in `lib` next to its `bin`.
fn bundled_libraries(program: &Path) -> Vec<PathBuf> {
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

/// A rule holds for the very file that is opened here, even if its path leads to another one later.
fn inputs(
    files: &[(PathBuf, Option<FileId>)],
    access: BitFlags<AccessFs>,
) -> Vec<Result<PathBeneath<PathFd>, RulesetError>> {
    let open = |(path, wanted): &(PathBuf, Option<FileId>)| {
        let file = PathFd::new(path).ok()?;
        let found = FileId::of(&file).ok()?;
        // Some rights exist for directories only.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(MAX_ABI) };
        wanted.is_none_or(|wanted| wanted == found).then(|| Ok(PathBeneath::new(file, access)))
    };
    files.iter().filter_map(open).collect()
}

/// Paths that do not exist are skipped, and so are rights that the kernel does not know.
fn restrict(access: &FileAccess) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let own = AccessFs::from_all(MAX_ABI)
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
    Ruleset::default()
        .set_compatibility(landlock::CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(MAX_ABI))?
        .handle_access(AccessNet::from_all(MAX_ABI))?
        .scope(Scope::from_all(MAX_ABI))?
        .create()?
        .add_rules(rules(&access.run, read | AccessFs::Execute))?
        .add_rules(rules(&access.read, read))?
        .add_rules(inputs(&access.inputs, read))?
        .add_rules(rules(&access.use_devices, device))?
        .add_rules(rules(std::slice::from_ref(&access.write), own))?
        .restrict_self()
}
