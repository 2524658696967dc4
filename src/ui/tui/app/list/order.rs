//! The order of a list: the column to sort by, and a second one for rows that are equal in the
//! first.

/// A column that a list can be sorted by.
pub trait ListOrder: Copy + PartialEq + 'static {
    /// All orders, in the sequence in which `s` cycles through them.
    const ALL: &'static [Self];
    /// Whether an order that is not reversed puts the greatest values first. Its sign then points
    /// down.
    const POINTS_DOWN: bool;

    /// Returns the name on the command line and in the title.
    fn id(self) -> &'static str;

    /// Returns the column with this name, or the first whose name starts with it. Ignores case.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let exact = Self::ALL.iter().find(|order| order.id() == name);
        exact.or_else(|| Self::ALL.iter().find(|order| !name.is_empty() && order.id().starts_with(&name))).copied()
    }

    /// Returns the next column that passes. Wraps around after the last one and tries this column
    /// last.
    #[must_use]
    fn next(self, passes: impl Fn(Self) -> bool) -> Option<Self> {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        let (before, behind) = Self::ALL.split_at((at + 1).min(Self::ALL.len()));
        behind.iter().chain(before).copied().find(|order| passes(*order))
    }
}

/// The order of a list that cannot be sorted: it has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedOrder {}

impl ListOrder for FixedOrder {
    const ALL: &'static [Self] = &[];
    const POINTS_DOWN: bool = false;

    fn id(self) -> &'static str {
        match self {}
    }
}

/// One column, and whether its order is reversed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directed<O> {
    pub by: O,
    pub reversed: bool,
}

/// The columns that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorting<O> {
    pub first: Directed<O>,
    /// The column that decides between rows that are equal in the first.
    pub then: Option<Directed<O>>,
}

impl<O: ListOrder> Sorting<O> {
    /// Sorts by one column, in its usual direction.
    pub fn by(order: O) -> Self {
        Self { first: Directed { by: order, reversed: false }, then: None }
    }

    /// Returns whether a column is the first or the second.
    pub fn has(&self, order: O) -> bool {
        self.place_of(order).is_some()
    }

    /// Returns whether a column is the first (0) or the second (1), and whether it is reversed;
    /// `None` when it is neither.
    pub fn place_of(&self, order: O) -> Option<(usize, bool)> {
        let keys = [Some(self.first), self.then];
        keys.into_iter()
            .enumerate()
            .find_map(|(at, key)| key.filter(|key| key.by == order).map(|key| (at, key.reversed)))
    }

    /// Reverses both columns.
    #[must_use]
    pub fn turned(self) -> Self {
        let turn = |key: Directed<O>| Directed { reversed: !key.reversed, ..key };
        Self { first: turn(self.first), then: self.then.map(turn) }
    }

    /// Parses `held`, `held waiting` or `held,-lock`. The error is the word that is not a column,
    /// or the whole text when it has no column or more than two.
    pub fn read(text: &str, named: impl Fn(&str) -> Option<O>) -> Result<Self, String> {
        let mut keys = Vec::new();
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let (reversed, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
            let by = named(name).ok_or_else(|| word.to_owned())?;
            if keys.iter().all(|key: &Directed<O>| key.by != by) {
                keys.push(Directed { by, reversed });
            }
        }
        match keys[..] {
            [first] => Ok(Self { first, then: None }),
            [first, then] => Ok(Self { first, then: Some(then) }),
            _ => Err(text.to_owned()),
        }
    }
}
