//! What a watch has seen, as far as its readers need it.
//!
//! Our own writes are put in too, as the API server answered them. Without that a reconcile that follows a write would
//! see the object from before it, and do the same again. So an entry is replaced only by a newer one of the same object;
//! versions are numbers that grow, which Kubernetes promises. A new list replaces everything: after a restore from a
//! backup versions begin again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use kube::runtime::watcher::Event;

use super::identity::Identity;
use crate::key::ObjectKey;

/// Something that can be kept.
pub trait Cached: Send + Sync + 'static {
    /// Its name.
    fn key(&self) -> ObjectKey;
    /// Tells two objects of one name apart.
    fn uid(&self) -> &str;
    /// Its resource version.
    fn version(&self) -> &str;
    /// What it is one of several of, if it is looked for by that. It never changes.
    fn group(&self) -> Option<ObjectKey> {
        None
    }
}

/// Shared by the watch that fills it and those who read it.
#[derive(Debug)]
pub struct Cache<V>(Arc<RwLock<State<V>>>);

#[derive(Debug)]
struct State<V> {
    objects: HashMap<ObjectKey, Arc<V>>,
    /// The objects of each group.
    groups: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// A list that is on its way.
    listed: Option<HashMap<ObjectKey, Arc<V>>>,
    /// Put in by ourselves since the list began; the list may be older.
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
    /// The object, if there is one.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<V>> {
        self.read(|state| state.objects.get(key).cloned())
    }

    /// The objects of a group, by name.
    pub fn of_group(&self, group: &ObjectKey) -> Vec<Arc<V>> {
        self.read(|state| {
            let keys = state.groups.get(group).into_iter().flatten();
            keys.filter_map(|key| state.objects.get(key).cloned()).collect()
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read(|state| state.objects.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<V>> {
        self.read(|state| state.objects.values().cloned().collect())
    }

    /// What the API server answered to a write of ours.
    pub fn put(&self, object: V) {
        let object = Arc::new(object);
        self.write(|state| {
            if state.listed.is_some() {
                state.written.insert(object.key(), Arc::clone(&object));
            }
            state.keep_newer(object);
        });
    }

    /// Takes what the watch says; the objects that are new, changed or gone.
    pub fn take(&self, event: Event<V>) -> Vec<Arc<V>> {
        self.write(|state| match event {
            Event::Apply(object) => {
                let object = Arc::new(object);
                state.keep_newer(Arc::clone(&object));
                vec![object]
            }
            Event::Delete(object) => {
                state.forget(&object.key(), object.uid());
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
            Event::InitDone => {
                let Some(listed) = state.listed.take() else { return Vec::new() };
                let before = std::mem::take(&mut state.objects);
                state.groups.clear();
                for object in listed.into_values() {
                    state.insert(object);
                }
                for (_, object) in std::mem::take(&mut state.written) {
                    if state.objects.contains_key(&object.key()) {
                        state.keep_newer(object);
                    }
                }
                let gone = before.into_iter().filter(|(key, _)| !state.objects.contains_key(key));
                let gone: Vec<_> = gone.map(|(_, object)| object).collect();
                state.objects.values().cloned().chain(gone).collect()
            }
        })
    }

    /// An object is gone whose last version nobody can read; what was known of it.
    pub fn forget(&self, gone: &Identity) -> Option<Arc<V>> {
        self.write(|state| state.forget(&gone.key, &gone.uid))
    }

    /// The list that is on its way has an object that nobody can read; what was known of it stays.
    pub fn stays(&self, unread: &Identity) {
        self.write(|state| {
            let Some(listed) = state.listed.as_mut() else { return };
            let known = state.objects.get(&unread.key).filter(|known| known.uid() == unread.uid);
            listed.extend(known.map(|known| (unread.key.clone(), Arc::clone(known))));
        });
    }

    fn read<T>(&self, look: impl FnOnce(&State<V>) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut State<V>) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<V: Cached> State<V> {
    fn keep_newer(&mut self, object: Arc<V>) {
        let key = object.key();
        let known = self.objects.get(&key);
        if known.is_none_or(|known| is_newer(object.version(), known.version())) {
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

    /// Only that one: a later one of the same name may be known already, by our own write.
    fn forget(&mut self, key: &ObjectKey, uid: &str) -> Option<Arc<V>> {
        self.objects.get(key).filter(|known| known.uid() == uid)?;
        let gone = self.objects.remove(key)?;
        if let Some(group) = gone.group()
            && let Some(keys) = self.groups.get_mut(&group)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.groups.remove(&group);
            }
        }
        Some(gone)
    }
}

/// Whether a version is newer than, or the same as, another. What is no number is taken as it comes.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version >= than,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Thing(&'static str, &'static str, &'static str);

    impl Cached for Thing {
        fn key(&self) -> ObjectKey {
            ObjectKey::new("video", self.0)
        }

        fn uid(&self) -> &str {
            self.1
        }

        fn version(&self) -> &str {
            self.2
        }
    }

    fn shown(cache: &Cache<Thing>, name: &str) -> Option<&'static str> {
        cache.get(&ObjectKey::new("video", name)).map(|thing| thing.2)
    }

    /// One that is found by its last letter.
    #[derive(Debug, PartialEq, Eq)]
    struct Grouped(Thing);

    impl Cached for Grouped {
        fn key(&self) -> ObjectKey {
            self.0.key()
        }

        fn uid(&self) -> &str {
            self.0.uid()
        }

        fn version(&self) -> &str {
            self.0.version()
        }

        fn group(&self) -> Option<ObjectKey> {
            Some(ObjectKey::new("video", &self.0.0[1..]))
        }
    }

    #[test]
    fn a_group_has_what_there_is_of_it() {
        let cache = Cache::default();
        let members = |cache: &Cache<Grouped>, group: &str| {
            cache.of_group(&ObjectKey::new("video", group)).iter().map(|one| one.0.0).collect::<Vec<_>>()
        };
        for name in ["ax", "bx", "ay"] {
            cache.take(Event::Apply(Grouped(Thing(name, "u", "5"))));
        }
        assert_eq!((members(&cache, "x"), members(&cache, "y")), (vec!["ax", "bx"], vec!["ay"]));
        cache.take(Event::Delete(Grouped(Thing("ax", "u", "6"))));
        cache.take(Event::Delete(Grouped(Thing("ay", "u", "6"))));
        assert_eq!((members(&cache, "x"), members(&cache, "y")), (vec!["bx"], vec![]));
        let groups = |cache: &Cache<Grouped>| cache.0.read().unwrap().groups.len();
        assert_eq!(groups(&cache), 1, "one without members is none");
        cache.take(Event::Init);
        cache.take(Event::InitApply(Grouped(Thing("cx", "u", "9"))));
        cache.take(Event::InitDone);
        assert_eq!(members(&cache, "x"), ["cx"]);
        assert_eq!((groups(&cache), cache.len()), (1, 1), "nothing is left behind");
    }

    #[test]
    fn an_older_event_does_not_hide_what_we_wrote() {
        let cache = Cache::default();
        cache.take(Event::Apply(Thing("a", "u", "9")));
        cache.put(Thing("a", "u", "10"));
        let changed = cache.take(Event::Apply(Thing("a", "u", "9")));
        assert_eq!(changed.len(), 1, "readers are told all the same");
        assert_eq!(shown(&cache, "a"), Some("10"));
        cache.take(Event::Apply(Thing("a", "u", "11")));
        assert_eq!(shown(&cache, "a"), Some("11"));
    }

    #[test]
    fn the_end_of_one_object_is_not_the_end_of_its_successor() {
        let cache = Cache::default();
        cache.take(Event::Apply(Thing("a", "old", "5")));
        cache.put(Thing("a", "new", "7"));
        cache.take(Event::Delete(Thing("a", "old", "6")));
        assert_eq!(shown(&cache, "a"), Some("7"));
        cache.take(Event::Delete(Thing("a", "new", "8")));
        assert_eq!(shown(&cache, "a"), None);
    }

    #[test]
    fn a_new_list_replaces_everything_and_names_what_is_gone() {
        let cache = Cache::default();
        cache.take(Event::Apply(Thing("gone", "u", "900")));
        cache.take(Event::Apply(Thing("kept", "v", "900")));
        cache.take(Event::Init);
        cache.take(Event::InitApply(Thing("kept", "v", "3")));
        assert_eq!(shown(&cache, "gone"), Some("900"), "until the list is complete");
        let mut told: Vec<_> = cache.take(Event::InitDone).iter().map(|thing| thing.0).collect();
        told.sort_unstable();
        assert_eq!(told, ["gone", "kept"]);
        assert_eq!(shown(&cache, "gone"), None);
        assert_eq!(shown(&cache, "kept"), Some("3"), "versions may begin again");
    }

    #[test]
    fn what_nobody_can_read_stays_as_it_was_known_until_it_is_gone() {
        let identity = |name: &str, uid: &str| Identity {
            key: ObjectKey::new("video", name),
            uid: uid.to_owned(),
            ..Identity::default()
        };
        let cache = Cache::default();
        cache.take(Event::Apply(Thing("a", "u", "5")));
        cache.take(Event::Apply(Thing("b", "old", "5")));
        cache.take(Event::Init);
        cache.stays(&identity("a", "u"));
        cache.stays(&identity("b", "new"));
        cache.stays(&identity("c", "unknown"));
        cache.take(Event::InitDone);
        assert_eq!((shown(&cache, "a"), shown(&cache, "b"), cache.len()), (Some("5"), None, 1));
        assert_eq!(cache.forget(&identity("a", "another")), None);
        assert_eq!(cache.forget(&identity("a", "u")).map(|thing| thing.0), Some("a"));
        assert!(cache.is_empty());
    }

    #[test]
    fn what_we_wrote_during_a_list_is_not_undone_by_it() {
        let cache = Cache::default();
        cache.take(Event::Init);
        cache.take(Event::InitApply(Thing("a", "u", "5")));
        cache.put(Thing("a", "u", "6"));
        cache.take(Event::InitDone);
        assert_eq!(shown(&cache, "a"), Some("6"));
    }
}
