//! The behaviour of every list, shown by a list of fruit.

use super::{Directed, Find, List, ListOrder, ListScreen, Pressed, Sorting};
use crate::tui::app::filter::Matching;
use crate::tui::app::{Cursor, Filter, Rows};
use crate::tui::screen::Column;

/// The source of the rows: fruit, and what is listed of it in the chosen order and filter.
struct Basket {
    fruit: Vec<&'static str>,
    listed: Vec<&'static str>,
    filter: Filter,
    order: Sorting<FruitOrder>,
    cursor: Cursor<&'static str>,
    eaten: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FruitOrder {
    Name,
    Length,
    Colour,
}

impl ListOrder for FruitOrder {
    type Column = Self;
    const TABLE: &'static [(Self, &'static str, Self)] = &[
        (Self::Name, "name", Self::Name),
        (Self::Length, "length", Self::Length),
        (Self::Colour, "colour", Self::Colour),
    ];
    const POINTS_DOWN: bool = false;
}

impl Basket {
    fn of(fruit: &[&'static str]) -> Self {
        let mut basket = Self {
            fruit: fruit.to_vec(),
            listed: Vec::new(),
            filter: Filter::none(),
            order: Sorting::by(FruitOrder::Name),
            cursor: Cursor::first(),
            eaten: Vec::new(),
        };
        basket.list();
        basket
    }

    fn list(&mut self) {
        self.listed = self.fruit.iter().copied().filter(|fruit| fruit.contains(self.filter.text())).collect();
        match self.order.first.by {
            FruitOrder::Name => self.listed.sort_unstable(),
            FruitOrder::Colour => {}
            FruitOrder::Length => self.listed.sort_by_key(|fruit| (fruit.len(), *fruit)),
        }
        if self.order.first.reversed {
            self.listed.reverse();
        }
    }

    /// Replaces the fruit, and settles the selection in a list of four visible rows.
    fn become_of(&mut self, fruit: &[&'static str]) {
        self.fruit = fruit.to_vec();
        self.list();
        FruitList.reanchor(self, 4);
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

const COLUMNS: &[Column<FruitOrder>] = &[
    Column::text(FruitOrder::Name, "FRUIT", 10, 20, 0),
    Column::number(FruitOrder::Length, "LENGTH", 6, 1),
    Column::number(FruitOrder::Colour, "COLOUR", 6, 2),
];

/// A terminal width at which all titles fit, in columns.
const WIDE: u16 = 80;

impl ListScreen<Basket> for FruitList {
    type Id = &'static str;
    type Row<'a> = &'a str;
    type Order = FruitOrder;
    type Column = FruitOrder;

    fn columns(&self) -> &'static [Column<FruitOrder>] {
        COLUMNS
    }

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

    fn search(&self, _: &Basket, fruit: &&str, matching: &mut Matching<'_>) {
        matching.text(fruit);
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

    fn order(&self, basket: &Basket) -> Option<Sorting<FruitOrder>> {
        Some(basket.order)
    }

    fn sort(&self, basket: &mut Basket, sorting: Sorting<FruitOrder>) {
        basket.order = sorting;
        basket.list();
    }
}

const FRUIT: &[&str] = &["apple", "banana", "cherry", "date", "elderberry", "fig", "grape"];

#[test]
fn moving_scrolls_to_the_selected_row_and_stops_at_the_ends() {
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
fn the_selection_follows_the_last_row_until_it_is_moved() {
    let mut basket = Basket::of(FRUIT);
    FruitList.go_to_end(&mut basket, true);
    basket.become_of(&["apple", "melon", "zucchini"]);
    assert_eq!(basket.selected().as_deref(), Some("zucchini"));
    FruitList.step(&mut basket, -1, 4);
    basket.become_of(&["apple", "melon", "nectarine", "zucchini"]);
    assert_eq!(basket.selected().as_deref(), Some("melon"));
}

#[test]
fn a_press_selects_a_row_and_reports_one_that_was_already_selected() {
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
    FruitList.reanchor(&mut basket, 4);
    assert_eq!(basket.listed, ["apple", "cherry", "date", "elderberry", "grape"]);
    assert_eq!(basket.selected().as_deref(), Some("elderberry"));
    assert_eq!(List::filter(&FruitList, &basket).map(Filter::text), Some("e"));
}

#[test]
fn sorting_cycles_through_visible_columns_or_takes_a_name_and_selects_the_first_row() {
    let mut basket = Basket::of(FRUIT);
    FruitList.step(&mut basket, 2, 4);
    assert_eq!(FruitList.sort_by(&mut basket, None, WIDE), Ok(()));
    FruitList.reanchor(&mut basket, 4);
    assert_eq!(basket.selected().as_deref(), Some("fig"), "the shortest");
    FruitList.reverse(&mut basket);
    FruitList.reanchor(&mut basket, 4);
    assert_eq!(basket.selected().as_deref(), Some("elderberry"));
    assert_eq!(FruitList.sort_by(&mut basket, Some("Na"), WIDE), Ok(()));
    assert_eq!(basket.order, Sorting::by(FruitOrder::Name), "a new order is not reversed");
    assert_eq!(FruitList.sort_by(&mut basket, Some("fruit"), WIDE), Ok(()), "by its title");
    assert_eq!(FruitList.sort_by(&mut basket, Some("taste"), WIDE), Err("taste".to_owned()));
    let mut seen = Vec::new();
    for width in [WIDE, WIDE, WIDE, 22, 22] {
        FruitList.sort_by(&mut basket, None, width).unwrap();
        seen.push(basket.order.first.by);
    }
    let (name, length, colour) = (FruitOrder::Name, FruitOrder::Length, FruitOrder::Colour);
    assert_eq!(
        seen,
        [length, colour, name, length, name],
        "after the last comes the first, and what is hidden is skipped"
    );
}

#[test]
fn the_second_column_cycles_through_the_visible_columns_and_then_to_none() {
    let mut basket = Basket::of(FRUIT);
    let mut seen = Vec::new();
    for width in [WIDE, WIDE, WIDE, 22, 22] {
        FruitList.then_by(&mut basket, None, width).unwrap();
        seen.push(basket.order.then.map(|then| then.by));
    }
    let (length, colour) = (Some(FruitOrder::Length), Some(FruitOrder::Colour));
    assert_eq!(seen, [length, colour, None, length, None]);
    FruitList.sort_by(&mut basket, Some("colour,-name"), WIDE).unwrap();
    let then = Some(Directed { by: FruitOrder::Name, reversed: true });
    assert_eq!(basket.order, Sorting { then, ..Sorting::by(FruitOrder::Colour) });
    FruitList.reverse(&mut basket);
    assert!(basket.order.first.reversed && !basket.order.then.unwrap().reversed, "all of it turns around");
    FruitList.then_by(&mut basket, Some("colour"), WIDE).unwrap();
    assert_eq!(basket.order.then, None, "what is equal in a column is so a second time");
}

#[test]
fn a_search_wraps_around_and_reports_it() {
    let mut basket = Basket::of(FRUIT);
    let filter = Filter::new("an");
    assert_eq!(FruitList.find(&mut basket, &filter, Find::Next, 4), Some(false));
    assert_eq!(basket.selected().as_deref(), Some("banana"));
    assert_eq!(FruitList.find(&mut basket, &Filter::new("rr"), Find::Previous, 4), Some(true));
    assert_eq!(basket.selected().as_deref(), Some("elderberry"));
    assert_eq!(FruitList.find(&mut basket, &Filter::new("rr"), Find::Here, 4), Some(false));
    assert_eq!(FruitList.find(&mut basket, &Filter::new("melon"), Find::Next, 4), None);
}
