//! Objects in S3, Google Cloud Storage and Azure, by `object_store`.
//!
//! Credentials and endpoints come from the variables that the vendors' own tools read (`AWS_*`, `GOOGLE_*`, `AZURE_*`),
//! or from what those name: mounted token files, instance roles, workload identities. An endpoint without TLS needs
//! `AWS_ALLOW_HTTP=true` (or its kin).

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

use super::Tools;
use super::error::{Problem, kind_of};
use super::settings::{Limits, StoreVariables};
use super::source::{Meta, Opened, Version};
use super::web::judge;
use crate::paths::{ObjectAddress, Store};

/// Buckets whose connections are kept.
const KEPT: usize = 64;

/// A connection pool per bucket.
#[derive(Debug)]
pub(crate) struct Stores {
    variables: StoreVariables,
    connect: Duration,
    open: Mutex<HashMap<(Store, String), Arc<dyn ObjectStore>>>,
}

impl Stores {
    pub(crate) fn new(variables: StoreVariables, limits: &Limits) -> Self {
        Self { variables, connect: limits.connect, open: Mutex::default() }
    }

    /// The bucket of an address, and the object's key in it.
    pub(crate) fn find(&self, address: &ObjectAddress) -> Result<(Arc<dyn ObjectStore>, Key), Problem> {
        let key = Key::parse(&address.key)
            .map_err(|_| Problem::NotFound("no object can have this name".to_owned()))?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (address.store, address.bucket.clone());
        if let Some(store) = open.get(&place) {
            return Ok((Arc::clone(store), key));
        }
        let store = self.connect(address).map_err(|_| {
            let scheme = address.store.scheme();
            Problem::Settings(format!("the settings for {scheme}:// on this node cannot be used"))
        })?;
        // Names of buckets come with jobs: whoever invents them must not fill the memory.
        if open.len() >= KEPT {
            open.clear();
        }
        open.insert(place, Arc::clone(&store));
        Ok((store, key))
    }

    fn connect(&self, address: &ObjectAddress) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
        // Bodies take as long as they take: silence and the whole are bounded by the download.
        let client = ClientOptions::new().with_timeout_disabled().with_connect_timeout(self.connect);
        // Attempts are the download's as well; one more here smooths over a stale pooled connection.
        let backoff = BackoffConfig { init_backoff: Duration::from_millis(50), ..BackoffConfig::default() };
        let retry = RetryConfig { max_retries: 1, retry_timeout: Duration::from_secs(10), backoff };
        let bucket = &address.bucket;
        macro_rules! connect {
            ($builder:ty, $prefix:literal, $with_bucket:ident) => {{
                // The variables come after the options, since AWS_ALLOW_HTTP and its kin change these.
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
            Store::S3 => connect!(AmazonS3Builder, "AWS_", with_bucket_name),
            Store::Gcs => connect!(GoogleCloudStorageBuilder, "GOOGLE_", with_bucket_name),
            Store::Azure => connect!(MicrosoftAzureBuilder, "AZURE_", with_container_name),
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
    pub(super) fn new(tools: &Tools, address: &ObjectAddress) -> Result<Self, Problem> {
        let (store, key) = tools.stores.find(address)?;
        Ok(Self { store, key, headers: tools.limits.headers })
    }

    pub(super) async fn open(&self, from: u64, version: Option<&Version>) -> Result<Opened, Problem> {
        let tag = version.and_then(|version| version.0.strip_prefix("tag "));
        let part = tag.filter(|_| from > 0);
        let options = GetOptions {
            if_match: part.map(str::to_owned),
            range: part.map(|_| GetRange::Offset(from)),
            ..GetOptions::default()
        };
        let result = self.get(options).await?;
        let (meta, start) = (meta(&result.meta), result.range.start);
        let body =
            result.into_stream().map(|piece| piece.map_err(|_| Problem::Cut { got: 0, of: String::new() }));
        Ok(Opened { meta, start, body: body.boxed() })
    }

    pub(super) async fn probe(&self) -> Result<Meta, Problem> {
        let result = self.get(GetOptions { head: true, ..GetOptions::default() }).await?;
        Ok(meta(&result.meta))
    }

    async fn get(&self, options: GetOptions) -> Result<GetResult, Problem> {
        let silent = Problem::Silent { what: "the store", limit: self.headers };
        let answer =
            timeout(self.headers, self.store.get_opts(&self.key, options)).await.map_err(|_| silent)?;
        answer.map_err(|error| of_store(&error))
    }
}

fn meta(meta: &ObjectMeta) -> Meta {
    let version = match &meta.e_tag {
        Some(tag) if !tag.starts_with("W/") => format!("tag {tag}"),
        _ => format!("{} {}", meta.last_modified, meta.size),
    };
    Meta { length: Some(meta.size), version: Some(Version(version)) }
}

/// What a store's error means; its text is left out, because it may quote a signed address.
pub(crate) fn of_store(error: &object_store::Error) -> Problem {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => Problem::NotFound("no such object or bucket".to_owned()),
        Error::PermissionDenied { .. } => {
            Problem::Denied("the credentials of this node do not suffice".to_owned())
        }
        Error::Unauthenticated { .. } => {
            Problem::Denied("the store does not know the credentials of this node".to_owned())
        }
        Error::Precondition { .. } | Error::NotModified { .. } => Problem::Changed,
        other => match status(&other.to_string()) {
            Some(status) => judge(status),
            None => Problem::Unreachable(kind_of(other)),
        },
    }
}

/// The status in the text of an error, which has no other way out of the library.
fn status(text: &str) -> Option<StatusCode> {
    let (_, after) = text.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}
