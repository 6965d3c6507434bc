use std::fs;

use super::PostgresError;

/// The account that the server runs as: Postgres refuses to run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SystemAccount {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl SystemAccount {
    /// The account to change to; `None` when this process is not root.
    pub(super) fn choose() -> Result<Option<Self>, PostgresError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let found = ["postgres", "nobody"].iter().find_map(|name| Self::named(name, &accounts));
        found.map(Some).ok_or(PostgresError::NoAccount)
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let entry = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
        Some(Self { uid: entry.get(2)?.parse().ok()?, gid: entry.get(3)?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts = "postgresql:x:1:2::/:/bin/sh\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(SystemAccount::named("postgres", accounts), Some(SystemAccount { uid: 101, gid: 104 }));
        assert_eq!(SystemAccount::named("nobody", accounts), None);
    }
}
