//! The directory: the names that a process sees, and which of them a crash may undo.

use super::inode::Inode;
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

pub(super) type Node = Arc<Mutex<Inode>>;
pub(super) type Names = BTreeMap<String, Node>;

#[derive(Debug, Default)]
pub(super) struct Directory {
    visible: Names,
    durable: Names,
    /// The changes from the durable names to the visible ones, oldest first.
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// The operation that made it.
    number: u64,
    change: Change,
    /// A sync of it has failed: no later one makes it durable.
    doubtful: bool,
}

#[derive(Debug)]
enum Change {
    Create { name: String, node: Node },
    Rename { from: String, to: String, node: Node },
    Remove { name: String },
}

impl Change {
    fn names(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Self::Create { name, .. } | Self::Remove { name } => (name, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [Some(one), other].into_iter().flatten().map(String::as_str)
    }

    /// A rename is one change of two names, so a crash does both or neither.
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Create { name, node } => {
                names.insert(name.clone(), Arc::clone(node));
            }
            Self::Rename { from, to, node } => {
                names.remove(from);
                names.insert(to.clone(), Arc::clone(node));
            }
            Self::Remove { name } => {
                names.remove(name);
            }
        }
    }
}

/// Which pending changes survive a crash.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameSurvival {
    Nothing,
    Everything,
    /// All but the operation with this number.
    AllBut(u64),
    Random,
}

impl Directory {
    /// A directory that is durable as it is.
    pub(super) fn durable(names: Names) -> Self {
        Self { visible: names.clone(), durable: names, pending: Vec::new() }
    }

    pub(super) fn visible(&self) -> &Names {
        &self.visible
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.visible.get(name)
    }

    pub(super) fn create(&mut self, name: &str, number: u64) -> Node {
        let node = Node::default();
        self.change(number, Change::Create { name: name.to_owned(), node: Arc::clone(&node) });
        node
    }

    /// Returns whether there was a file to rename.
    pub(super) fn rename(&mut self, from: &str, to: &str, number: u64) -> bool {
        let Some(node) = self.visible.get(from).map(Arc::clone) else { return false };
        self.change(number, Change::Rename { from: from.to_owned(), to: to.to_owned(), node });
        true
    }

    /// Returns whether there was a file to remove.
    pub(super) fn remove(&mut self, name: &str, number: u64) -> bool {
        let there = self.visible.contains_key(name);
        if there {
            self.change(number, Change::Remove { name: name.to_owned() });
        }
        there
    }

    /// Gives a file a second name that is durable at once; false if another file has that name.
    pub(super) fn link(&mut self, node: &Node, name: &str) -> bool {
        if let Some(other) = self.visible.get(name) {
            // Images of a crash have copies of a file with two names.
            return Arc::ptr_eq(node, other) || super::lock(node).bytes() == super::lock(other).bytes();
        }
        self.visible.insert(name.to_owned(), Arc::clone(node));
        self.durable.insert(name.to_owned(), Arc::clone(node));
        true
    }

    fn change(&mut self, number: u64, change: Change) {
        change.apply(&mut self.visible);
        self.pending.push(Pending { number, change, doubtful: false });
    }

    /// Replaces a file by a durable one, and makes all names durable.
    pub(super) fn replace(&mut self, name: &str, inode: Inode) {
        self.visible.insert(name.to_owned(), Arc::new(Mutex::new(inode)));
        self.durable.clone_from(&self.visible);
        self.pending.clear();
    }

    /// Makes every change durable except those that an earlier sync failed on, and those of the same names after them.
    pub(super) fn sync(&mut self) {
        let mut in_doubt = BTreeSet::new();
        for pending in core::mem::take(&mut self.pending) {
            let stuck = pending.doubtful || pending.change.names().any(|name| in_doubt.contains(name));
            if stuck {
                in_doubt.extend(pending.change.names().map(str::to_owned));
                self.pending.push(Pending { doubtful: true, ..pending });
            } else {
                pending.change.apply(&mut self.durable);
            }
        }
    }

    /// Marks every pending change as doubtful for good.
    pub(super) fn doubt(&mut self) {
        for pending in &mut self.pending {
            pending.doubtful = true;
        }
    }

    /// The number of the last change that is not durable.
    pub(super) fn last_pending(&self) -> Option<u64> {
        self.pending.last().map(|pending| pending.number)
    }

    /// The names that a crash leaves. A change survives only with every earlier change of the same names: each name is
    /// as it was at some time since it was last durable, but different names may be so of different times.
    pub(super) fn after_crash(&self, survival: NameSurvival, random: &mut Random) -> Names {
        let mut names = self.durable.clone();
        let mut undone: BTreeSet<&str> = BTreeSet::new();
        // Few, about half, or most of them.
        let done_of_8 = [1, 4, 7][random.index(3)];
        for Pending { number, change, .. } in &self.pending {
            let done = match survival {
                NameSurvival::Nothing => false,
                NameSurvival::Everything => true,
                NameSurvival::AllBut(last) => *number != last,
                NameSurvival::Random => random.index(8) < done_of_8,
            };
            if done && !change.names().any(|name| undone.contains(name)) {
                change.apply(&mut names);
            } else {
                undone.extend(change.names());
            }
        }
        names
    }
}
