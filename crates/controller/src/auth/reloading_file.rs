//! A configuration file that is reloaded when its text changes.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::config_file::{self, ConfigFileError};

/// The error says what is wrong with the text.
type Parse<T> = Box<dyn Fn(&str) -> Result<T, String> + Send + Sync>;

/// The parsed value of a file. If the file becomes invalid or disappears, the last valid value stays in use.
pub(super) struct ReloadingFile<T> {
    file: PathBuf,
    variable: &'static str,
    parse: Parse<T>,
    /// The value and its generation.
    current: RwLock<(Arc<T>, u64)>,
    /// The text of the last read, valid or not, so that each change is logged once; none if the read failed.
    last_text: tokio::sync::Mutex<Option<String>>,
}

impl<T> ReloadingFile<T> {
    /// Fails unless the file is valid now.
    pub(super) async fn open(
        file: PathBuf,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, ConfigFileError> {
        let text = config_file::read(&file, variable).await?;
        let value = parse(&text).map_err(|problem| ConfigFileError::Content {
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
            last_text: tokio::sync::Mutex::new(Some(text)),
        })
    }

    /// The value, and a generation that increases with each change.
    pub(super) fn get(&self) -> (Arc<T>, u64) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current.0), current.1)
    }

    pub(super) async fn reload_if_changed(&self) {
        let mut last_text = self.last_text.lock().await;
        let file = self.file.display();
        match config_file::read(&self.file, self.variable).await {
            Ok(text) if last_text.as_ref() == Some(&text) => {}
            Ok(text) => {
                match (self.parse)(&text) {
                    Ok(value) => {
                        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                        *current = (Arc::new(value), current.1 + 1);
                        tracing::info!(%file, "reloaded a changed file");
                    }
                    Err(problem) => {
                        tracing::error!(%file, problem, "cannot use the changed file; its previous content stays in use");
                    }
                }
                *last_text = Some(text);
            }
            Err(error) => {
                if last_text.take().is_some() {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, "cannot read the file again; its previous content stays in use");
                }
            }
        }
    }
}

impl<T> fmt::Debug for ReloadingFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingFile").field("file", &self.file).finish_non_exhaustive()
    }
}
