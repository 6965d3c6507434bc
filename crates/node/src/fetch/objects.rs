//! Objects in S3, Google Cloud Storage and Azure, by `object_store`.
//!
//! Credentials and endpoints come from the variables that the vendors' own tools read (`AWS_*`, `GOOGLE_*`, `AZURE_*`),
//! or from what those name: mounted token files, instance roles, workload identities. An endpoint without TLS needs
//! `AWS_ALLOW_HTTP=true`, `GOOGLE_ALLOW_HTTP=true` or `AZURE_ALLOW_HTTP=true`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, RetryConfig,
};
use reqwest::StatusCode;
use tokio::time::timeout;

use super::FetchContext;
use super::error::{FetchProblem, error_kind};
use super::settings::{FetchLimits, StoreVariables};
use super::source::{FileMetadata, FileVersion, OpenedSource};
use super::web::status_problem;
use crate::paths::{ObjectAddress, ObjectStoreKind};

/// Buckets whose clients are kept.
const MAX_CLIENTS: usize = 64;

/// One client per bucket.
#[derive(Debug)]
pub(crate) struct ObjectStores {
    variables: StoreVariables,
    connect: Duration,
    clients: Mutex<HashMap<(ObjectStoreKind, String), Arc<dyn ObjectStore>>>,
}

impl ObjectStores {
    pub(crate) fn new(variables: StoreVariables, limits: &FetchLimits) -> Self {
        Self { variables, connect: limits.connect, clients: Mutex::default() }
    }

    /// The client for the bucket of an address, and the key of the object.
    pub(crate) fn find(&self, address: &ObjectAddress) -> Result<(Arc<dyn ObjectStore>, Key), FetchProblem> {
        let key =
            Key::parse(&address.key).map_err(|_| FetchProblem::NotFound("its key is invalid".to_owned()))?;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = (address.store, address.bucket.clone());
        if let Some(store) = clients.get(&bucket) {
            return Ok((Arc::clone(store), key));
        }
        let store = self.connect(address).map_err(|_| {
            let scheme = address.store.scheme();
            FetchProblem::Settings(format!("the settings of this node for {scheme}:// are invalid"))
        })?;
        // Jobs choose the names of buckets, so the number of clients must be limited.
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(bucket, Arc::clone(&store));
        Ok((store, key))
    }

    fn connect(&self, address: &ObjectAddress) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
        // The download has its own timeouts for a chunk and for the whole body.
        let client = ClientOptions::new().with_timeout_disabled().with_connect_timeout(self.connect);
        // The download retries as well; one retry here covers a stale pooled connection.
        let backoff = BackoffConfig { init_backoff: Duration::from_millis(50), ..BackoffConfig::default() };
        let retry = RetryConfig { max_retries: 1, retry_timeout: Duration::from_secs(10), backoff };
        let bucket = &address.bucket;
        macro_rules! connect {
            ($builder:ty, $prefix:literal, $with_bucket:ident) => {{
                // The variables come after the options, because AWS_ALLOW_HTTP and the like change these.
                let mut builder = <$builder>::new().with_client_options(client);
                for (name, value) in self.variables.starting_with($prefix) {
                    if let Ok(key) = name.to_ascii_lowercase().parse() {
                        builder = builder.with_config(key, value);
                    }
                }
                Ok(Arc::new(builder.with_retry(retry).$with_bucket(bucket).build()?))
            }};
        }
        match address.store {
            ObjectStoreKind::S3 => connect!(AmazonS3Builder, "AWS_", with_bucket_name),
            ObjectStoreKind::Gcs => connect!(GoogleCloudStorageBuilder, "GOOGLE_", with_bucket_name),
            ObjectStoreKind::Azure => connect!(MicrosoftAzureBuilder, "AZURE_", with_container_name),
        }
    }
}

#[derive(Debug)]
pub(super) struct ObjectSource {
    store: Arc<dyn ObjectStore>,
    key: Key,
    headers: Duration,
}

impl ObjectSource {
    pub(super) fn new(context: &FetchContext, address: &ObjectAddress) -> Result<Self, FetchProblem> {
        let (store, key) = context.stores.find(address)?;
        Ok(Self { store, key, headers: context.limits.headers })
    }

    pub(super) async fn open(
        &self,
        from: u64,
        version: Option<&FileVersion>,
    ) -> Result<OpenedSource, FetchProblem> {
        let tag = version.and_then(|version| version.0.strip_prefix("tag "));
        let part = tag.filter(|_| from > 0);
        let options = GetOptions {
            if_match: part.map(str::to_owned),
            range: part.map(|_| GetRange::Offset(from)),
            ..GetOptions::default()
        };
        let result = self.get(options).await?;
        let (metadata, start) = (metadata(&result.meta), result.range.start);
        let body = result
            .into_stream()
            .map(|chunk| chunk.map_err(|_| FetchProblem::Cut { received: 0, of: String::new() }));
        Ok(OpenedSource { metadata, start, body: body.boxed() })
    }

    pub(super) async fn probe(&self) -> Result<FileMetadata, FetchProblem> {
        let result = self.get(GetOptions { head: true, ..GetOptions::default() }).await?;
        Ok(metadata(&result.meta))
    }

    async fn get(&self, options: GetOptions) -> Result<GetResult, FetchProblem> {
        let timed_out = FetchProblem::TimedOut { what: "the store", limit: self.headers };
        let response =
            timeout(self.headers, self.store.get_opts(&self.key, options)).await.map_err(|_| timed_out)?;
        response.map_err(|error| store_problem(&error))
    }
}

fn metadata(metadata: &ObjectMeta) -> FileMetadata {
    let version = match &metadata.e_tag {
        Some(tag) if !tag.starts_with("W/") => format!("tag {tag}"),
        _ => format!("{} {}", metadata.last_modified, metadata.size),
    };
    FileMetadata { length: Some(metadata.size), version: Some(FileVersion(version)) }
}

/// Without the text of the error, which may quote a signed address.
pub(crate) fn store_problem(error: &object_store::Error) -> FetchProblem {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => FetchProblem::NotFound("no such object or bucket".to_owned()),
        Error::PermissionDenied { .. } => {
            FetchProblem::Denied("the credentials of this node do not permit it".to_owned())
        }
        Error::Unauthenticated { .. } => {
            FetchProblem::Denied("the store rejects the credentials of this node".to_owned())
        }
        Error::Precondition { .. } | Error::NotModified { .. } => FetchProblem::Changed,
        other => match status(&other.to_string()) {
            Some(status) => status_problem(status),
            None => FetchProblem::Unreachable(error_kind(other)),
        },
    }
}

/// The status code in the text of an error, because the library does not expose it otherwise.
fn status(text: &str) -> Option<StatusCode> {
    let (_, after) = text.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}
