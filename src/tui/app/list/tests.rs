//! Lists of fruit: what every list does, whatever its rows are.

use super::{List, ListOrder, ListScreen, Pressed};
use crate::tui::app::{Cursor, Filter, Rows};

/// A basket: its fruit in the order and through the filter that were chosen.
struct Basket {
    fruit: Vec<&'static str>,
    listed: Vec<&'static str>,
    filter: Filter,
    order: (FruitOrder, bool),
    cursor: Cursor<&'static str>,
    eaten: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FruitOrder {
    Name,
    Length,
}

impl ListOrder for FruitOrder {
    const ALL: &'static [Self] = &[Self::Name, Self::Length];
    const POINTS_DOWN: bool = false;

    fn id(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Length => "length",
        }
    }
}

impl Basket {
    fn of(fruit: &[&'static str]) -> Self {
        let mut basket = Self {
            fruit: fruit.to_vec(),
            listed: Vec::new(),
            filter: Filter::none(),
            order: (FruitOrder::Name, false),
            cursor: Cursor::first(),
            eaten: Vec::new(),
        };
        basket.list();
        basket
    }

    fn list(&mut self) {
        self.listed = self.fruit.iter().copied().filter(|fruit| fruit.contains(self.filter.text())).collect();
        match self.order.0 {
            FruitOrder::Name => self.listed.sort_unstable(),
            FruitOrder::Length => self.listed.sort_by_key(|fruit| (fruit.len(), *fruit)),
        }
        if self.order.1 {
            self.listed.reverse();
        }
    }

    /// Other fruit is in it from now on, and four rows show.
    fn become_of(&mut self, fruit: &[&'static str]) {
        self.fruit = fruit.to_vec();
        self.list();
        FruitList.settle(self, 4);
    }

    fn selected(&self) -> Option<String> {
        List::copied(&FruitList, self)
    }
}

impl Rows<&'static str> for Vec<&'static str> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn rank(&self, id: &&'static str) -> Option<usize> {
        self.iter().position(|row| row == id)
    }

    fn id(&self, rank: usize) -> Option<&'static str> {
        self.get(rank).copied()
    }
}

struct FruitList;

impl ListScreen<Basket> for FruitList {
    type Id = &'static str;
    type Row<'a> = &'a str;
    type Order = FruitOrder;

    fn rows<'a>(&self, basket: &'a Basket) -> impl Rows<&'static str> + 'a {
        &basket.listed
    }

    fn row<'a>(&self, basket: &'a Basket, rank: usize) -> Option<&'a str> {
        basket.listed.get(rank).copied()
    }

    fn cursor<'a>(&self, basket: &'a Basket) -> &'a Cursor<&'static str> {
        &basket.cursor
    }

    fn cursor_mut<'a>(&self, basket: &'a mut Basket) -> &'a mut Cursor<&'static str> {
        &mut basket.cursor
    }

    fn copied(&self, _: &Basket, fruit: &str) -> Option<String> {
        Some(fruit.to_owned())
    }

    fn open(&self, basket: &mut Basket) {
        basket.eaten.extend(basket.cursor.selected(&basket.listed));
    }

    fn filter<'a>(&self, basket: &'a Basket) -> Option<&'a Filter> {
        Some(&basket.filter)
    }

    fn set_filter(&self, basket: &mut Basket, filter: Filter) {
        basket.filter = filter;
        basket.list();
    }

    fn order(&self, basket: &Basket) -> Option<(FruitOrder, bool)> {
        Some(basket.order)
    }

    fn sort(&self, basket: &mut Basket, order: FruitOrder, reversed: bool) {
        basket.order = (order, reversed);
        basket.list();
    }
}

const FRUIT: &[&str] = &["apple", "banana", "cherry", "date", "elderberry", "fig", "grape"];

#[test]
fn moving_selects_rows_and_shows_them_and_stops_at_the_ends() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 5, 4);
    assert_eq!((basket.selected().as_deref(), basket.cursor.top()), (Some("fig"), 2));
    FruitList.step(&mut basket, 50, 4);
    assert_eq!((basket.selected().as_deref(), basket.cursor.top()), (Some("grape"), 3));
    FruitList.step(&mut basket, -50, 4);
    assert_eq!((basket.selected().as_deref(), basket.cursor.top()), (Some("apple"), 0));
}

#[test]
fn the_selection_stays_with_its_row_while_others_come_and_go() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 3, 4);
    basket.become_of(&["apricot", "avocado", "date", "fig", "grape"]);
    assert_eq!(basket.selected().as_deref(), Some("date"));
    basket.become_of(&["apricot", "avocado", "fig", "grape"]);
    assert_eq!(basket.selected().as_deref(), Some("fig"), "the row that took its place");
    basket.become_of(&["fig"]);
    assert_eq!((basket.selected().as_deref(), basket.cursor.top()), (Some("fig"), 0));
    basket.become_of(&[]);
    assert_eq!(basket.selected(), None);
}

#[test]
fn the_end_is_followed_until_somebody_moves() {
    let mut basket = Basket::of(FRUIT);
    FruitList.go_to_end(&mut basket, true);
    basket.become_of(&["apple", "melon", "zucchini"]);
    assert_eq!(basket.selected().as_deref(), Some("zucchini"));
    FruitList.step(&mut basket, -1, 4);
    basket.become_of(&["apple", "melon", "nectarine", "zucchini"]);
    assert_eq!(basket.selected().as_deref(), Some("melon"));
}

#[test]
fn a_press_selects_a_row_and_tells_when_it_was_selected_already() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 5, 4);
    assert_eq!(FruitList.press(&mut basket, 1), Pressed::Row);
    assert_eq!(basket.selected().as_deref(), Some("date"), "the second row that shows");
    assert_eq!(FruitList.press(&mut basket, 1), Pressed::SelectedRow);
    assert_eq!(FruitList.press(&mut basket, 6), Pressed::Nothing, "below the last row");
    List::open(&FruitList, &mut basket);
    assert_eq!(basket.eaten, ["date"]);
}

#[test]
fn a_filter_keeps_the_selection_when_its_row_passes() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 4, 4);
    List::set_filter(&FruitList, &mut basket, Filter::new("e"));
    FruitList.settle(&mut basket, 4);
    assert_eq!(basket.listed, ["apple", "cherry", "date", "elderberry", "grape"]);
    assert_eq!(basket.selected().as_deref(), Some("elderberry"));
    assert_eq!(List::filter(&FruitList, &basket).map(Filter::text), Some("e"));
}

#[test]
fn sorting_goes_through_the_orders_or_to_a_named_one_and_back_to_the_first_row() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 2, 4);
    assert_eq!(FruitList.sort_by(&mut basket, None), Ok(()));
    FruitList.settle(&mut basket, 4);
    assert_eq!(basket.selected().as_deref(), Some("fig"), "the shortest");
    FruitList.reverse(&mut basket);
    FruitList.settle(&mut basket, 4);
    assert_eq!(basket.selected().as_deref(), Some("elderberry"));
    assert_eq!(FruitList.sort_by(&mut basket, Some("Na")), Ok(()));
    assert_eq!(basket.order, (FruitOrder::Name, false), "a new order is not reversed");
    assert_eq!(FruitList.sort_by(&mut basket, Some("colour")), Err("name, length".to_owned()));
    assert_eq!(FruitList.sort_by(&mut basket, None), Ok(()));
    assert_eq!(FruitList.sort_by(&mut basket, None), Ok(()));
    assert_eq!(basket.order.0, FruitOrder::Name, "after the last comes the first");
}
