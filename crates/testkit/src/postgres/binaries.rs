//! The directory of Postgres's programs. Debian does not put it in `PATH`, and has one per version.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tokio::process::Command;

use super::PostgresError;
use crate::kube::process::find_program;

/// Environment variable that names the directory with `initdb` and `postgres`.
pub const BINARIES_VARIABLE: &str = "VMAFX_POSTGRES_BIN";

const DEBIAN: &str = "/usr/lib/postgresql";

/// The directory from the environment variable, else Debian's newest, else that of `pg_config`, else the one in `PATH`.
pub(super) async fn find() -> Result<PathBuf, PostgresError> {
    if let Some(named) = env::var_os(BINARIES_VARIABLE).filter(|path| !path.is_empty()) {
        let named = PathBuf::from(named);
        return if is_complete(&named) { Ok(named) } else { Err(PostgresError::NoServer) };
    }
    if let Some(newest) = newest(Path::new(DEBIAN)) {
        return Ok(newest);
    }
    let configured = Command::new("pg_config").arg("--bindir").output().await.ok();
    let configured = configured.and_then(|output| String::from_utf8(output.stdout).ok());
    let configured = configured.map(|text| PathBuf::from(text.trim())).filter(|path| is_complete(path));
    let in_path = || find_program("postgres")?.parent().map(Path::to_owned).filter(|path| is_complete(path));
    configured.or_else(in_path).ok_or(PostgresError::NoServer)
}

fn is_complete(directory: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.flatten();
    let numbered = entries.filter_map(|entry| {
        let version = entry.file_name().to_str()?.parse::<u32>().ok()?;
        Some((version, entry.path().join("bin")))
    });
    numbered.filter(|(_, bin)| is_complete(bin)).max().map(|(_, bin)| bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let versions = tempfile::tempdir().unwrap();
        for (version, programs) in [("9", 2), ("15", 2), ("17", 1), ("junk", 2)] {
            let bin = versions.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in ["initdb", "postgres"].iter().take(programs) {
                fs::write(bin.join(program), "").unwrap();
            }
        }
        assert_eq!(newest(versions.path()), Some(versions.path().join("15/bin")));
        assert_eq!(newest(Path::new("/nowhere")), None);
    }
}
