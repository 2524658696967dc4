//! Answers about the tree, and a tree that is shown.

use super::{ago, live, press, session};
use crate::tui::app::{App, Effect, Event, TreeAnswer, TreeWish, Update};
use lockscope_base::znode::{ZnodeStat, Zxid};

/// Returns the wish of an update.
pub fn wished(update: &Update) -> Option<TreeWish> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::ReadTree(Some((_, wish))) => Some(wish.clone()),
        _ => None,
    })
}

/// Answers the wish of an update.
pub fn answer(app: &mut App, update: &Update, answer: TreeAnswer) -> Update {
    let asked = update.effects.iter().find_map(|effect| match effect {
        Effect::ReadTree(Some((number, _))) => Some(*number),
        _ => None,
    });
    let number = asked.unwrap_or_else(|| panic!("nothing was asked: {update:?}"));
    app.update(Event::TreeRead { number, answer: Box::new(answer) }, app.clock())
}

/// Returns the names of one node's children.
pub fn children(names: &[&str]) -> TreeAnswer {
    TreeAnswer::Children(vec![Some(names.iter().map(|name| (*name).to_owned()).collect())])
}

/// Returns the stat of a child with that many children, made ten minutes ago.
pub fn child_stat(num_children: i32, owner: Option<i64>) -> ZnodeStat {
    ZnodeStat { num_children, ..ZnodeStat::of_new(Zxid(9), ago(600), owner.map(session)) }
}

/// Returns a console that shows the children of `/apps`: a node with children, a lock that is known,
/// an ephemeral node, one with control characters, one that is gone, and one that was not read.
pub fn in_tree(size: (u16, u16)) -> App {
    let mut app = live(size);
    let update = press(&mut app, ":tree /apps/catalogue\n");
    let mut names = vec!["config", "index-rebuild", "leader", "old\u{1b}[2J", "went"];
    let unread: Vec<_> = (0..60).map(|number| format!("zone-{number:02}")).collect();
    names.extend(unread.iter().map(String::as_str));
    let update = answer(&mut app, &update, children(&names));
    let mut stats = vec![
        Some(ZnodeStat { data_length: 12_345, ..child_stat(1_204, None) }),
        Some(child_stat(4, None)),
        Some(ZnodeStat { data_length: 9, ..child_stat(0, Some(0x1b)) }),
        Some(ZnodeStat { ephemeral_owner: Some(lockscope_base::znode::SessionId(i64::MIN)), ..child_stat(0, None) }),
        None,
    ];
    stats.extend(vec![Some(child_stat(0, None)); 58]);
    answer(&mut app, &update, TreeAnswer::Stats(stats));
    app
}
