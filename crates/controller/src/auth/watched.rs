//! A file that is read again when it changes.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::document::{self, DocumentError};

/// Makes a value of a text, or says what is wrong with it.
type Parse<T> = Box<dyn Fn(&str) -> Result<T, String> + Send + Sync>;

/// The value of a file. A file that becomes unusable changes nothing but a log line.
pub(super) struct Watched<T> {
    file: PathBuf,
    variable: &'static str,
    parse: Parse<T>,
    /// The value, and how often it changed.
    current: RwLock<(Arc<T>, u64)>,
    /// The text that was looked at last; none when it could not be read.
    seen: tokio::sync::Mutex<Option<String>>,
}

impl<T> Watched<T> {
    /// The file must be good to begin with.
    pub(super) async fn open(
        file: PathBuf,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, DocumentError> {
        let text = document::read(&file, variable).await?;
        let value = parse(&text).map_err(|problem| DocumentError::Content {
            variable,
            file: file.clone(),
            problem,
        })?;
        let current = RwLock::new((Arc::new(value), 0));
        Ok(Self {
            file,
            variable,
            parse: Box::new(parse),
            current,
            seen: tokio::sync::Mutex::new(Some(text)),
        })
    }

    /// The value, and a number that is another one after each change.
    pub(super) fn get(&self) -> (Arc<T>, u64) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current.0), current.1)
    }

    /// Looks whether the file changed.
    pub(super) async fn look(&self) {
        let mut seen = self.seen.lock().await;
        let file = self.file.display();
        match document::read(&self.file, self.variable).await {
            Ok(text) if seen.as_ref() == Some(&text) => {}
            Ok(text) => {
                match (self.parse)(&text) {
                    Ok(value) => {
                        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                        *current = (Arc::new(value), current.1 + 1);
                        tracing::info!(%file, "the file changed and is in use");
                    }
                    Err(problem) => {
                        tracing::error!(%file, problem, "the file changed and cannot be used; what was before stays");
                    }
                }
                *seen = Some(text);
            }
            Err(error) => {
                if seen.take().is_some() {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, "the file is gone; what was in it stays");
                }
            }
        }
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("file", &self.file).finish_non_exhaustive()
    }
}
