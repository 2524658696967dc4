//! By what a list is sorted: a column, and another one for rows that are equal there.

/// A column that a list can be sorted by.
pub trait ListOrder: Copy + PartialEq + 'static {
    /// Every one, in the order in which `s` goes through them.
    const ALL: &'static [Self];
    /// Whether the sign of an order that is not reversed points down: its greatest values come first.
    const POINTS_DOWN: bool;

    /// The name on the command line and in the title.
    fn id(self) -> &'static str;

    /// The column of that name, or the first whose name begins so.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let exact = Self::ALL.iter().find(|order| order.id() == name);
        exact.or_else(|| Self::ALL.iter().find(|order| !name.is_empty() && order.id().starts_with(&name))).copied()
    }

    /// The next one of those that pass, from here; from the last one on to the first.
    #[must_use]
    fn next(self, passes: impl Fn(Self) -> bool) -> Option<Self> {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        let (before, behind) = Self::ALL.split_at((at + 1).min(Self::ALL.len()));
        behind.iter().chain(before).copied().find(|order| passes(*order))
    }
}

/// The order of a list whose rows have only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedOrder {}

impl ListOrder for FixedOrder {
    const ALL: &'static [Self] = &[];
    const POINTS_DOWN: bool = false;

    fn id(self) -> &'static str {
        match self {}
    }
}

/// One column, and whether its order is turned around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directed<O> {
    pub by: O,
    pub reversed: bool,
}

/// By what rows are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorting<O> {
    pub first: Directed<O>,
    /// What decides between rows that are equal there.
    pub then: Option<Directed<O>>,
}

impl<O: ListOrder> Sorting<O> {
    /// By one column, in its usual direction.
    pub fn by(order: O) -> Self {
        Self { first: Directed { by: order, reversed: false }, then: None }
    }

    /// Whether a column has a part in it.
    pub fn has(&self, order: O) -> bool {
        self.place_of(order).is_some()
    }

    /// Whether a column is the first or the second, and whether it is reversed.
    pub fn place_of(&self, order: O) -> Option<(usize, bool)> {
        let keys = [Some(self.first), self.then];
        keys.into_iter()
            .enumerate()
            .find_map(|(at, key)| key.filter(|key| key.by == order).map(|key| (at, key.reversed)))
    }

    /// All of it turned around.
    #[must_use]
    pub fn turned(self) -> Self {
        let turn = |key: Directed<O>| Directed { reversed: !key.reversed, ..key };
        Self { first: turn(self.first), then: self.then.map(turn) }
    }

    /// Reads `held`, `held waiting` or `held,-lock`. The error is the word that is no column.
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
