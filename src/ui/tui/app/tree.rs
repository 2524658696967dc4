//! The tree of nodes as far as one screen shows it: the children of one node, or what a search found
//! below it.
//!
//! Nothing here waits: [`Tree::next_wish`] says what to read next, and [`Tree::answered`] takes the
//! answer in. One wish is under way at a time, so leaving the screen ends the reading. First come the
//! names, with one request; then the stats in slices, those of the visible rows first.
//!
//! Architecture invariant: the memory is bounded. At most [`MAX_CHILDREN`] children are kept, in about
//! 100 bytes each with a usual name, and a search keeps at most [`MAX_VISITED`] paths.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::Filter;
use super::list::{Directed, Rows, Sorting};
use lockscope_base::recipe::Definition;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The most children that are kept, the first by name.
pub const MAX_CHILDREN: usize = 500_000;

/// The most nodes that a search looks at.
pub const MAX_VISITED: usize = 200_000;

/// The most nodes that a search finds.
pub const MAX_FOUND: usize = 1_000;

/// The longest data that is searched, in bytes.
const MAX_SEARCHED_DATA: i32 = 16 * 1024;

/// The most nodes of one wish.
const MAX_WISHED: usize = 64;

/// The most children of the nodes that are listed by one wish, unless it is one node.
const MAX_LISTED: i32 = 2_000;

/// Lists of up to this many rows are sorted again with each slice of stats.
const FEW_ROWS: usize = 4_096;

/// What to read from the ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeWish {
    /// The names of the children of each node.
    Children(Vec<ZnodePath>),
    Stats(Vec<ZnodePath>),
    Data(Vec<ZnodePath>),
}

/// The answer to a [`TreeWish`], in its order. A node that is gone or may not be read has none.
#[derive(Clone, Debug)]
pub enum TreeAnswer {
    Children(Vec<Option<Vec<String>>>),
    Stats(Vec<Option<ZnodeStat>>),
    Data(Vec<Option<Vec<u8>>>),
    /// Nothing could be read: the reason, as a sentence.
    Failed(String),
}

/// What the stat of a child tells, in little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildStat {
    pub children: i32,
    pub data_length: i32,
    pub owner: Option<SessionId>,
    pub created_at: Timestamp,
}

impl From<&ZnodeStat> for ChildStat {
    fn from(stat: &ZnodeStat) -> Self {
        Self {
            children: stat.num_children,
            data_length: stat.data_length,
            owner: stat.ephemeral_owner,
            created_at: stat.ctime,
        }
    }
}

impl ChildStat {
    /// Returns a stat with these fields, for the facts of a child.
    pub fn whole(self) -> ZnodeStat {
        let (num_children, data_length) = (self.children, self.data_length);
        ZnodeStat { num_children, data_length, ..ZnodeStat::of_new(Zxid(0), self.created_at, self.owner) }
    }
}

/// How far a node is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildState {
    Unread,
    Gone,
    Read(ChildStat),
}

/// A row: a child of the open node, or a node that a search found.
#[derive(Clone, Copy, Debug)]
pub struct TreeRow<'a> {
    /// The path below the open node.
    pub name: &'a str,
    pub state: ChildState,
}

/// The columns to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeOrder {
    #[default]
    Name,
    Children,
    Owner,
    Age,
    Data,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// Every node was looked at.
    Complete,
    /// The user stopped it.
    Stopped,
    /// It looked at `MAX_VISITED` nodes.
    Visited,
    /// It found `MAX_FOUND` nodes.
    Found,
}

/// A search below a node, by name and by data.
#[derive(Debug)]
pub struct TreeSearch {
    pub filter: Filter,
    /// Nodes whose children are to be listed, those with the fewest first: one with very many would use
    /// up the bound before the others.
    to_list: BTreeSet<(i32, ZnodePath)>,
    to_stat: VecDeque<ZnodePath>,
    to_read: VecDeque<(ZnodePath, ChildStat)>,
    pub visited: usize,
    /// Nodes whose data was not searched, or whose children were not listed.
    pub unsearched: usize,
    /// Whether nodes were left out beyond [`MAX_VISITED`].
    is_cut: bool,
    pub end: Option<SearchEnd>,
}

impl TreeSearch {
    fn new(filter: Filter, base: ZnodePath) -> Self {
        Self {
            filter,
            to_list: BTreeSet::from([(0, base)]),
            to_stat: VecDeque::new(),
            to_read: VecDeque::new(),
            visited: 0,
            unsearched: 0,
            is_cut: false,
            end: None,
        }
    }

    /// Returns what to read next; ends the search where nothing is left.
    fn next_wish(&mut self) -> Option<TreeWish> {
        if self.end.is_some() {
            return None;
        }
        if !self.to_read.is_empty() {
            let wished = self.to_read.iter().take(MAX_WISHED);
            return Some(TreeWish::Data(wished.map(|(path, _)| path.clone()).collect()));
        }
        if !self.to_stat.is_empty() {
            return Some(TreeWish::Stats(self.to_stat.iter().take(MAX_WISHED).cloned().collect()));
        }
        let mut children = 0_i32;
        let few = self.to_list.iter().take(MAX_WISHED).take_while(|(count, _)| {
            let is_first = children == 0;
            children = children.saturating_add((*count).max(1));
            is_first || children <= MAX_LISTED
        });
        let wished: Vec<_> = few.map(|(_, path)| path.clone()).collect();
        if wished.is_empty() {
            self.end = Some(if self.is_cut { SearchEnd::Visited } else { SearchEnd::Complete });
            return None;
        }
        Some(TreeWish::Children(wished))
    }

    fn listed(&mut self, listed: Vec<Option<Vec<String>>>) {
        for names in listed {
            let Some((_, parent)) = self.to_list.pop_first() else { return };
            let Some(mut names) = names else {
                self.unsearched += 1;
                continue;
            };
            names.sort_unstable();
            let room = MAX_VISITED.saturating_sub(self.visited + self.to_stat.len());
            self.is_cut |= names.len() > room;
            self.to_stat.extend(names.iter().take(room).map(|name| parent.child(name)));
        }
    }

    /// Takes stats in. Returns the nodes that were found by their names alone.
    fn looked(&mut self, stats: Vec<Option<ZnodeStat>>) -> Vec<(ZnodePath, ChildStat)> {
        let mut found = Vec::new();
        for stat in stats {
            let Some(path) = self.to_stat.pop_front() else { break };
            self.visited += 1;
            let Some(stat) = stat.as_ref().map(ChildStat::from) else { continue };
            if stat.children > 0 {
                self.to_list.insert((stat.children, path.clone()));
            }
            let is_long = stat.data_length > MAX_SEARCHED_DATA;
            self.unsearched += usize::from(is_long);
            if stat.data_length > 0 && !is_long {
                self.to_read.push_back((path, stat));
            } else if self.filter.takes(path.name()) {
                found.push((path, stat));
            }
        }
        found
    }

    /// Takes data in. Returns the nodes that were found.
    fn read(&mut self, read: Vec<Option<Vec<u8>>>) -> Vec<(ZnodePath, ChildStat)> {
        let mut found = Vec::new();
        for data in read {
            let Some((path, stat)) = self.to_read.pop_front() else { break };
            self.unsearched += usize::from(data.is_none());
            let mut matching = self.filter.matching();
            if matching.text(path.name()).bytes(data.as_deref().unwrap_or_default()).passes() {
                found.push((path, stat));
            }
        }
        found
    }
}

/// What is under way: the number of the wish, and the rows that it is for.
#[derive(Debug)]
struct Asked {
    number: u64,
    rows: Vec<u32>,
}

/// The state of the screen.
#[derive(Debug)]
pub struct Tree {
    /// The open node.
    pub path: ZnodePath,
    /// The names in order, or the paths that were found below the node.
    names: Vec<Box<str>>,
    states: Vec<ChildState>,
    /// The rows that pass the filter, in the chosen order.
    shown: Vec<u32>,
    /// The position of each row in `shown`; the largest number where the filter hides it.
    places: Vec<u32>,
    /// Before this position, the stats of all shown rows were asked for.
    looked_to: usize,
    read: usize,
    /// How many stats were read when the rows were sorted last.
    sorted_at: usize,
    pub left_out: usize,
    has_persistent: bool,
    /// The child to select when the names come.
    select: Option<String>,
    /// A recipe that would read the children.
    pub suggested: Option<Definition>,
    pub listed_at: Option<Timestamp>,
    /// Why nothing more is read, as a sentence.
    pub trouble: Option<String>,
    pub filter: Filter,
    pub sorting: Sorting<TreeOrder>,
    pub search: Option<TreeSearch>,
    asked: Option<Asked>,
    number: u64,
    /// Whether the reader may have a session.
    is_reading: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new(ZnodePath::root())
    }
}

impl Tree {
    fn new(path: ZnodePath) -> Self {
        Self {
            path,
            names: Vec::new(),
            states: Vec::new(),
            shown: Vec::new(),
            places: Vec::new(),
            looked_to: 0,
            read: 0,
            sorted_at: 0,
            left_out: 0,
            has_persistent: false,
            select: None,
            suggested: None,
            listed_at: None,
            trouble: None,
            filter: Filter::none(),
            sorting: Sorting::default(),
            search: None,
            asked: None,
            number: 0,
            is_reading: false,
        }
    }

    /// The number of children or found nodes, whether the filter hides them or not.
    pub fn all(&self) -> usize {
        self.names.len()
    }

    /// The number of shown rows whose stats were read, and of all shown rows.
    pub fn progress(&self) -> (usize, usize) {
        (self.read, self.shown.len())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    pub fn row(&self, rank: usize) -> Option<TreeRow<'_>> {
        let index = *self.shown.get(rank)? as usize;
        Some(TreeRow { name: self.names.get(index)?, state: *self.states.get(index)? })
    }

    /// The path of a row.
    pub fn path_of(&self, row: TreeRow<'_>) -> ZnodePath {
        self.path.child(row.name)
    }

    /// The recipe that would read the children, as lines of the config file.
    pub fn suggestion(&self) -> Option<Vec<String>> {
        let suggested = self.suggested.clone().filter(|_| self.search.is_none())?;
        Definition { persistent: self.has_persistent, ..suggested }.in_config()
    }

    /// Opens a node, whose children are read anew. `select` is the child to select.
    pub fn open(&mut self, path: ZnodePath, select: Option<String>) {
        let filter = if path == self.path { std::mem::take(&mut self.filter) } else { Filter::none() };
        let (sorting, number, is_reading) = (self.sorting, self.number, self.is_reading);
        *self = Self { select, filter, sorting, number, is_reading, ..Self::new(path) };
    }

    /// Goes up to the parent. Returns `false` at the root.
    pub fn go_up(&mut self) -> bool {
        let Some(parent) = self.path.parent() else { return false };
        let from = self.path.name().to_owned();
        self.open(parent, Some(from));
        true
    }

    /// Looks for nodes below the open one.
    pub fn find(&mut self, filter: Filter) {
        let path = self.path.clone();
        let search = TreeSearch::new(filter, path.clone());
        self.open(path, None);
        (self.search, self.filter) = (Some(search), Filter::none());
    }

    /// Stops a search under way, or returns from its results to the children. Returns `false` where
    /// there is none.
    pub fn end_search(&mut self) -> bool {
        match &mut self.search {
            None => return false,
            Some(search) if search.end.is_none() => {
                search.end = Some(SearchEnd::Stopped);
                self.asked = None;
            }
            Some(_) => self.open(self.path.clone(), None),
        }
        true
    }

    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.arrange();
    }

    pub fn sort(&mut self, sorting: Sorting<TreeOrder>) {
        self.sorting = sorting;
        self.arrange();
    }

    /// Filters and sorts the rows again.
    fn arrange(&mut self) {
        let count = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let mut shown: Vec<u32> = (0..count).filter(|at| self.filter.takes(&self.names[*at as usize])).collect();
        let Sorting { first, then } = self.sorting;
        if first.by == TreeOrder::Name {
            shown.sort_by(|one, other| self.names[*one as usize].cmp(&self.names[*other as usize]));
            if first.reversed {
                shown.reverse();
            }
        } else {
            shown.sort_by_cached_key(|at| (self.key(first, *at), then.map(|then| self.key(then, *at))));
        }
        self.places = vec![u32::MAX; self.names.len()];
        for (rank, at) in (0..).zip(&shown) {
            self.places[*at as usize] = rank;
        }
        let is_known = |at: &&u32| self.states[**at as usize] != ChildState::Unread;
        (self.read, self.looked_to) = (shown.iter().filter(is_known).count(), 0);
        (self.sorted_at, self.shown) = (self.read, shown);
    }

    /// Returns what orders a row by a column. Rows that were not read come last.
    fn key(&self, Directed { by, reversed }: Directed<TreeOrder>, at: u32) -> (bool, i64) {
        let ChildState::Read(stat) = self.states[at as usize] else { return (true, 0) };
        let value = match by {
            TreeOrder::Name => i64::from(at),
            TreeOrder::Children => stat.children.into(),
            TreeOrder::Owner => stat.owner.map_or(i64::MAX, |owner| owner.0),
            TreeOrder::Age => stat.created_at.0.saturating_neg(),
            TreeOrder::Data => stat.data_length.into(),
        };
        (false, if reversed { value.saturating_neg() } else { value })
    }

    /// Returns what to read next, with its number; `None` while a wish is under way, and when there is
    /// nothing to read. `visible` are the positions of the rows on the screen.
    pub fn next_wish(&mut self, visible: Range<usize>) -> Option<(u64, TreeWish)> {
        if self.asked.is_some() || self.trouble.is_some() {
            return None;
        }
        let mut rows = Vec::new();
        let wish = match &mut self.search {
            Some(search) => search.next_wish()?,
            None if self.listed_at.is_none() => TreeWish::Children(vec![self.path.clone()]),
            None => {
                rows = self.unread_rows(visible);
                let path = |at: &u32| self.path.child(&self.names[*at as usize]);
                Some(rows.iter().map(path).collect()).filter(|paths: &Vec<_>| !paths.is_empty()).map(TreeWish::Stats)?
            }
        };
        self.number += 1;
        self.is_reading = true;
        self.asked = Some(Asked { number: self.number, rows });
        Some((self.number, wish))
    }

    /// Forgets the wish under way. Returns whether the reader has to end.
    pub fn stop_reading(&mut self) -> bool {
        if self.asked.take().is_some() {
            self.looked_to = 0;
        }
        std::mem::take(&mut self.is_reading)
    }

    /// Returns the next rows to look at: the visible ones, then the others in their order.
    fn unread_rows(&mut self, visible: Range<usize>) -> Vec<u32> {
        let is_unread = |at: &u32| self.states[*at as usize] == ChildState::Unread;
        let visible = visible.start.min(self.shown.len())..visible.end.min(self.shown.len());
        let mut rows: Vec<u32> = self.shown[visible].iter().copied().filter(is_unread).take(MAX_WISHED).collect();
        while rows.len() < MAX_WISHED && self.looked_to < self.shown.len() {
            let at = self.shown[self.looked_to];
            if is_unread(&at) && !rows.contains(&at) {
                rows.push(at);
            }
            self.looked_to += 1;
        }
        rows
    }

    /// Takes an answer in. Returns the row to select, or `None` where the selection stays. The answer
    /// to an earlier wish is ignored.
    pub fn answered(&mut self, number: u64, answer: TreeAnswer, now: Timestamp) -> Option<u32> {
        let asked = self.asked.take_if(|asked| asked.number == number)?;
        match (answer, &mut self.search) {
            (TreeAnswer::Failed(why), _) => self.trouble = Some(why),
            (TreeAnswer::Children(listed), Some(search)) => search.listed(listed),
            (TreeAnswer::Children(listed), None) => return self.listed(listed, now),
            (TreeAnswer::Stats(stats), Some(search)) => {
                let found = search.looked(stats);
                self.found(found, now);
            }
            (TreeAnswer::Data(read), Some(search)) => {
                let found = search.read(read);
                self.found(found, now);
            }
            (TreeAnswer::Stats(stats), None) => self.looked(&asked.rows, &stats),
            (TreeAnswer::Data(_), None) => {}
        }
        None
    }

    fn listed(&mut self, listed: Vec<Option<Vec<String>>>, now: Timestamp) -> Option<u32> {
        let Some(mut names) = listed.into_iter().next().flatten() else {
            self.trouble = Some(format!("{} is gone, or this console may not list it: READ is missing.", self.path));
            return None;
        };
        names.sort_unstable();
        self.left_out = names.len().saturating_sub(MAX_CHILDREN);
        names.truncate(MAX_CHILDREN);
        self.names = names.into_iter().map(String::into_boxed_str).collect();
        self.states = vec![ChildState::Unread; self.names.len()];
        self.listed_at = Some(now);
        self.arrange();
        let select = self.select.take()?;
        u32::try_from(self.names.binary_search_by(|name| (**name).cmp(&*select)).ok()?).ok()
    }

    fn looked(&mut self, rows: &[u32], stats: &[Option<ZnodeStat>]) {
        for (at, stat) in rows.iter().zip(stats) {
            let stat = stat.as_ref().map(ChildStat::from);
            self.has_persistent |= stat.is_some_and(|stat| stat.owner.is_none());
            if let Some(state) = self.states.get_mut(*at as usize) {
                *state = stat.map_or(ChildState::Gone, ChildState::Read);
            }
        }
        self.read += rows.len();
        // Sorting very many rows for each slice would take longer than a frame.
        let is_due = self.shown.len() <= FEW_ROWS || self.read >= 2 * self.sorted_at || self.read == self.shown.len();
        if self.sorting.first.by != TreeOrder::Name && is_due {
            self.arrange();
        }
    }

    fn found(&mut self, found: Vec<(ZnodePath, ChildStat)>, now: Timestamp) {
        self.listed_at = Some(now);
        let above = if self.path.is_root() { 1 } else { self.path.as_str().len() + 1 };
        let is_new = !found.is_empty();
        for (path, stat) in found.into_iter().take(MAX_FOUND.saturating_sub(self.names.len())) {
            self.names.push(path.as_str().get(above..).unwrap_or_default().into());
            self.states.push(ChildState::Read(stat));
        }
        if let Some(search) = self.search.as_mut().filter(|_| self.names.len() >= MAX_FOUND) {
            search.end = Some(SearchEnd::Found);
        }
        if is_new {
            self.arrange();
        }
    }
}

impl Rows<u32> for Tree {
    fn len(&self) -> usize {
        self.shown.len()
    }

    fn rank(&self, id: &u32) -> Option<usize> {
        self.places.get(*id as usize).filter(|place| **place != u32::MAX).map(|place| *place as usize)
    }

    fn id(&self, rank: usize) -> Option<u32> {
        self.shown.get(rank).copied()
    }
}
