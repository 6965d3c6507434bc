use std::fs;
use std::io;
use std::path::PathBuf;

use crate::rclone::{RcloneServer, TestServerError};

const ACCESS_KEY_ID: &str = "testkit";
const SECRET_ACCESS_KEY: &str = "TestkitSecretAccessKey";

/// A real S3 server on this machine; each directory in [`S3Server::files`] is a bucket.
#[derive(Debug)]
pub struct S3Server(RcloneServer);

impl S3Server {
    pub async fn start() -> Result<Self, TestServerError> {
        let login = format!("--auth-key={ACCESS_KEY_ID},{SECRET_ACCESS_KEY}");
        RcloneServer::start("s3", &[&login]).await.map(Self)
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// The parent directory of the buckets.
    pub fn files(&self) -> PathBuf {
        self.0.files()
    }

    pub fn put(&self, bucket: &str, key: &str, content: &[u8]) -> io::Result<()> {
        let path = self.files().join(bucket).join(key);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, content)
    }

    /// The environment variables that a client needs.
    pub fn variables(&self) -> Vec<(String, String)> {
        let pairs = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID),
            ("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}
