//! A real S3 server.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::rclone::{RcloneServer, ServerError};

/// Who may use it.
const USER: &str = "testkit";
const PASSWORD: &str = "TestkitSecretAccessKey";

/// An S3 server on this machine; a directory below [`S3Server::files`] is a bucket.
#[derive(Debug)]
pub struct S3Server(RcloneServer);

impl S3Server {
    /// Starts one.
    pub async fn start() -> Result<Self, ServerError> {
        let login = format!("--auth-key={USER},{PASSWORD}");
        RcloneServer::start("s3", &[&login]).await.map(Self)
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// Where its buckets are.
    pub fn files(&self) -> PathBuf {
        self.0.files()
    }

    /// Puts an object there.
    pub fn put(&self, bucket: &str, key: &str, content: &[u8]) -> io::Result<()> {
        let path = self.files().join(bucket).join(key);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, content)
    }

    /// The variables that a client needs.
    pub fn variables(&self) -> Vec<(String, String)> {
        let pairs = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", USER),
            ("AWS_SECRET_ACCESS_KEY", PASSWORD),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}
