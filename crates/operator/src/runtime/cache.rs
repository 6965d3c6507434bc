//! What a watch has delivered of one kind, reduced to what its readers need.
//!
//! The operator's own writes are put in too, as the API server answered them. Without that, a reconcile that follows a
//! write would read the object from before it and do the same again. So an entry is replaced only by a newer version of
//! the same object; Kubernetes promises that resource versions are numbers that grow. A new list replaces everything,
//! because resource versions start again after a restore from a backup.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use kube::runtime::watcher::Event;

use super::identity::ObjectIdentity;
use crate::key::ObjectKey;

/// What a cache holds of an object.
pub trait Cached: Send + Sync + 'static {
    fn identity(&self) -> &ObjectIdentity;

    /// Secondary index key; never changes.
    fn group(&self) -> Option<ObjectKey> {
        None
    }

    fn key(&self) -> ObjectKey {
        self.identity().key.clone()
    }

    fn uid(&self) -> &str {
        &self.identity().uid
    }
}

/// Clones share one map, which the watch fills and reconcilers read.
#[derive(Debug)]
pub struct Cache<V>(Arc<RwLock<State<V>>>);

#[derive(Debug)]
struct State<V> {
    objects: HashMap<ObjectKey, Arc<V>>,
    groups: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// The part of an unfinished list that has arrived.
    listed: Option<HashMap<ObjectKey, Arc<V>>>,
    /// Own writes since the unfinished list began, which may be newer than the list.
    written: HashMap<ObjectKey, Arc<V>>,
}

impl<V> Clone for Cache<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> Default for Cache<V> {
    fn default() -> Self {
        let state =
            State { objects: HashMap::new(), groups: HashMap::new(), listed: None, written: HashMap::new() };
        Self(Arc::new(RwLock::new(state)))
    }
}

impl<V: Cached> Cache<V> {
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<V>> {
        self.read(|state| state.objects.get(key).cloned())
    }

    /// The objects with this secondary index key, ordered by name.
    pub fn of_group(&self, group: &ObjectKey) -> Vec<Arc<V>> {
        self.read(|state| {
            let keys = state.groups.get(group).into_iter().flatten();
            keys.filter_map(|key| state.objects.get(key).cloned()).collect()
        })
    }

    pub fn len(&self) -> usize {
        self.read(|state| state.objects.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn all(&self) -> Vec<Arc<V>> {
        self.read(|state| state.objects.values().cloned().collect())
    }

    /// Stores what the API server answered to a read or write of the operator.
    pub fn put(&self, object: V) {
        let object = Arc::new(object);
        self.write(|state| {
            if state.listed.is_some() {
                state.written.insert(object.key(), Arc::clone(&object));
            }
            state.insert_if_newer(object);
        });
    }

    /// Applies a watch event and returns the objects that are new, changed or deleted.
    pub fn handle(&self, event: Event<V>) -> Vec<Arc<V>> {
        self.write(|state| match event {
            Event::Apply(object) => {
                let object = Arc::new(object);
                state.insert_if_newer(Arc::clone(&object));
                vec![object]
            }
            Event::Delete(object) => {
                state.remove(object.identity());
                vec![Arc::new(object)]
            }
            Event::Init => {
                state.listed = Some(HashMap::new());
                state.written.clear();
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(listed) = state.listed.as_mut() {
                    listed.insert(object.key(), Arc::new(object));
                }
                Vec::new()
            }
            Event::InitDone => state.finish_list(),
        })
    }

    /// Removes an object whose last version could not be decoded; what was cached of it.
    pub fn remove(&self, deleted: &ObjectIdentity) -> Option<Arc<V>> {
        self.write(|state| state.remove(deleted))
    }

    /// The unfinished list contains an object that cannot be decoded: its cached version survives the list.
    pub fn keep_undecodable(&self, undecodable: &ObjectIdentity) {
        self.write(|state| {
            let Some(listed) = state.listed.as_mut() else { return };
            let cached = state.objects.get(&undecodable.key);
            let cached = cached.filter(|cached| cached.uid() == undecodable.uid);
            listed.extend(cached.map(|cached| (undecodable.key.clone(), Arc::clone(cached))));
        });
    }

    fn read<T>(&self, read: impl FnOnce(&State<V>) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut State<V>) -> T) -> T {
        write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<V: Cached> State<V> {
    fn insert_if_newer(&mut self, object: Arc<V>) {
        let cached = self.objects.get(&object.identity().key);
        let version = &object.identity().version;
        if cached.is_none_or(|cached| is_not_older(version, &cached.identity().version)) {
            self.insert(object);
        }
    }

    fn insert(&mut self, object: Arc<V>) {
        let key = object.key();
        if let Some(group) = object.group() {
            self.groups.entry(group).or_default().insert(key.clone());
        }
        self.objects.insert(key, object);
    }

    /// Removes only the object with this UID: its successor of the same name may be cached already, by an own write.
    fn remove(&mut self, deleted: &ObjectIdentity) -> Option<Arc<V>> {
        self.objects.get(&deleted.key).filter(|cached| cached.uid() == deleted.uid)?;
        let removed = self.objects.remove(&deleted.key)?;
        if let Some(group) = removed.group()
            && let Some(keys) = self.groups.get_mut(&group)
        {
            keys.remove(&deleted.key);
            if keys.is_empty() {
                self.groups.remove(&group);
            }
        }
        Some(removed)
    }

    fn finish_list(&mut self) -> Vec<Arc<V>> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let before = std::mem::take(&mut self.objects);
        self.groups.clear();
        for object in listed.into_values() {
            self.insert(object);
        }
        for (key, object) in std::mem::take(&mut self.written) {
            if self.objects.contains_key(&key) {
                self.insert_if_newer(object);
            }
        }
        let deleted = before.into_iter().filter(|(key, _)| !self.objects.contains_key(key));
        let deleted: Vec<_> = deleted.map(|(_, object)| object).collect();
        self.objects.values().cloned().chain(deleted).collect()
    }
}

/// Resource versions that are not numbers cannot be compared; the last one to arrive counts then.
fn is_not_older(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version >= than,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its secondary index key is its name without the first letter.
    #[derive(Debug, PartialEq, Eq)]
    struct Object(ObjectIdentity);

    impl Cached for Object {
        fn identity(&self) -> &ObjectIdentity {
            &self.0
        }

        fn group(&self) -> Option<ObjectKey> {
            Some(ObjectKey::new("video", &self.0.key.name[1..]))
        }
    }

    fn object(name: &str, uid: &str, version: &str) -> Object {
        let key = ObjectKey::new("video", name);
        Object(ObjectIdentity { key, uid: uid.to_owned(), version: version.to_owned() })
    }

    fn version(cache: &Cache<Object>, name: &str) -> Option<String> {
        cache.get(&ObjectKey::new("video", name)).map(|object| object.0.version.clone())
    }

    fn names(objects: &[Arc<Object>]) -> Vec<&str> {
        objects.iter().map(|object| object.0.key.name.as_str()).collect()
    }

    #[test]
    fn a_group_has_what_there_is_of_it() {
        let cache = Cache::default();
        let group = |name: &str| cache.of_group(&ObjectKey::new("video", name));
        for name in ["ax", "bx", "ay"] {
            cache.handle(Event::Apply(object(name, "u", "5")));
        }
        assert_eq!((names(&group("x")), names(&group("y"))), (vec!["ax", "bx"], vec!["ay"]));
        cache.handle(Event::Delete(object("ax", "u", "6")));
        cache.handle(Event::Delete(object("ay", "u", "6")));
        assert_eq!((names(&group("x")), names(&group("y"))), (vec!["bx"], vec![]));
        let groups = || cache.0.read().unwrap().groups.len();
        assert_eq!(groups(), 1, "an empty group is removed");
        cache.handle(Event::Init);
        cache.handle(Event::InitApply(object("cx", "u", "9")));
        cache.handle(Event::InitDone);
        assert_eq!(names(&group("x")), ["cx"]);
        assert_eq!((groups(), cache.len()), (1, 1), "nothing is left behind");
    }

    #[test]
    fn an_older_event_does_not_hide_what_we_wrote() {
        let cache = Cache::default();
        cache.handle(Event::Apply(object("a", "u", "9")));
        cache.put(object("a", "u", "10"));
        let changed = cache.handle(Event::Apply(object("a", "u", "9")));
        assert_eq!(changed.len(), 1, "subscribers are notified all the same");
        assert_eq!(version(&cache, "a").as_deref(), Some("10"));
        cache.handle(Event::Apply(object("a", "u", "11")));
        assert_eq!(version(&cache, "a").as_deref(), Some("11"));
    }

    #[test]
    fn the_end_of_one_object_is_not_the_end_of_its_successor() {
        let cache = Cache::default();
        cache.handle(Event::Apply(object("a", "old", "5")));
        cache.put(object("a", "new", "7"));
        cache.handle(Event::Delete(object("a", "old", "6")));
        assert_eq!(version(&cache, "a").as_deref(), Some("7"));
        cache.handle(Event::Delete(object("a", "new", "8")));
        assert_eq!(version(&cache, "a"), None);
    }

    #[test]
    fn a_new_list_replaces_everything_and_names_what_is_gone() {
        let cache = Cache::default();
        cache.handle(Event::Apply(object("gone", "u", "900")));
        cache.handle(Event::Apply(object("kept", "v", "900")));
        cache.handle(Event::Init);
        cache.handle(Event::InitApply(object("kept", "v", "3")));
        assert_eq!(version(&cache, "gone").as_deref(), Some("900"), "until the list is complete");
        let changed = cache.handle(Event::InitDone);
        let mut changed = names(&changed);
        changed.sort_unstable();
        assert_eq!(changed, ["gone", "kept"]);
        assert_eq!(version(&cache, "gone"), None);
        assert_eq!(version(&cache, "kept").as_deref(), Some("3"), "versions may start again");
    }

    #[test]
    fn what_cannot_be_decoded_stays_as_it_was_until_it_is_deleted() {
        let identity = |name: &str, uid: &str| object(name, uid, "6").0;
        let cache = Cache::default();
        cache.handle(Event::Apply(object("a", "u", "5")));
        cache.handle(Event::Apply(object("b", "old", "5")));
        cache.handle(Event::Init);
        cache.keep_undecodable(&identity("a", "u"));
        cache.keep_undecodable(&identity("b", "new"));
        cache.keep_undecodable(&identity("c", "unknown"));
        cache.handle(Event::InitDone);
        assert_eq!(
            (version(&cache, "a").as_deref(), version(&cache, "b"), cache.len()),
            (Some("5"), None, 1)
        );
        assert_eq!(cache.remove(&identity("a", "another")), None);
        assert_eq!(cache.remove(&identity("a", "u")).as_deref(), Some(&object("a", "u", "5")));
        assert!(cache.is_empty());
    }

    #[test]
    fn what_we_wrote_during_a_list_is_not_undone_by_it() {
        let cache = Cache::default();
        cache.handle(Event::Init);
        cache.handle(Event::InitApply(object("a", "u", "5")));
        cache.put(object("a", "u", "6"));
        cache.handle(Event::InitDone);
        assert_eq!(version(&cache, "a").as_deref(), Some("6"));
    }
}
