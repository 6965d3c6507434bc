//! What is known of a resource and not written yet. All of it can be found out again: a submission is repeated under the
//! same key, and jobs of resources that are gone are swept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::plan::Why;
use crate::key::ObjectKey;

/// What is known of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Which resource of that name.
    pub uid: String,
    /// Its job at the controller, or none yet.
    pub id: Option<String>,
    /// The job before that, if the controller does not know it any more and nobody was told.
    pub forgotten: Option<String>,
    /// Since when its status is behind.
    pub behind: Option<Instant>,
    /// A ground truth that the controller does not take.
    pub refused: Option<f64>,
    /// Why it waits, and when that was asked.
    pub waiting: Option<(Instant, Option<Why>)>,
}

/// By name; several of one name only until the jobs of the earlier ones are ended.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<ObjectKey, Vec<Known>>>);

impl Memory {
    /// What is known of a resource.
    pub fn of(&self, key: &ObjectKey, uid: &str) -> Known {
        let known = self.all().get(key).and_then(|all| all.iter().find(|one| one.uid == uid).cloned());
        known.unwrap_or_else(|| Known { uid: uid.to_owned(), ..Known::default() })
    }

    /// Remembers it.
    pub fn keep(&self, key: &ObjectKey, known: Known) {
        let mut all = self.all();
        let same_name = all.entry(key.clone()).or_default();
        same_name.retain(|one| one.uid != known.uid);
        same_name.push(known);
    }

    /// Those of this name with another UID: they are gone.
    pub fn others(&self, key: &ObjectKey, uid: Option<&str>) -> Vec<Known> {
        let others =
            |all: &Vec<Known>| all.iter().filter(|one| Some(one.uid.as_str()) != uid).cloned().collect();
        self.all().get(key).map(others).unwrap_or_default()
    }

    /// Forgets it.
    pub fn forget(&self, key: &ObjectKey, uid: &str) {
        let mut all = self.all();
        if let Some(same_name) = all.get_mut(key) {
            same_name.retain(|one| one.uid != uid);
            if same_name.is_empty() {
                all.remove(key);
            }
        }
    }

    /// How many resources it knows: those that are open.
    pub fn len(&self) -> usize {
        self.all().len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ObjectKey, Vec<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namesake_is_another_one() {
        let (memory, key) = (Memory::default(), ObjectKey::new("video", "a"));
        let old = Known { uid: "old".to_owned(), id: Some("1".to_owned()), ..Known::default() };
        memory.keep(&key, old.clone());
        assert_eq!(memory.of(&key, "new").id, None);
        memory.keep(&key, Known { uid: "new".to_owned(), ..Known::default() });
        assert_eq!(memory.others(&key, Some("new")), [old]);
        assert_eq!(memory.others(&key, None).len(), 2);
        memory.forget(&key, "old");
        assert_eq!(memory.others(&key, Some("new")), []);
        memory.forget(&key, "new");
        assert!(memory.is_empty());
    }
}
