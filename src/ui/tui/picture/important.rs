//! Chooses the rows of a queue that are shown where not all fit.

use super::queue::{PictureRow, RowState, WakeEffect};

/// Returns `room` rows in the order of the queue. Their priority: watched parents, the first holder
/// and the first waiter, nodes just deleted, other holders, woken clients, then the rest from the
/// front.
pub(super) fn most_important(rows: &[PictureRow], room: usize) -> Vec<&PictureRow> {
    if rows.len() <= room {
        return rows.iter().collect();
    }
    let first = |wanted: fn(RowState) -> bool| rows.iter().position(|row| wanted(row.state));
    let holder = first(|state| matches!(state, RowState::Holds | RowState::ThinksItHolds));
    let waiter = first(|state| state == RowState::Waits);
    let rank = |at: usize| match rows[at].state {
        RowState::Parent => 0,
        _ if Some(at) == holder || Some(at) == waiter => 1,
        RowState::Gone(_) => 2,
        RowState::Holds | RowState::ThinksItHolds => 3,
        _ if rows[at].effect.is_some_and(|effect| effect != WakeEffect::SleepsOn) => 4,
        _ => 5,
    };
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|at| rank(*at));
    places.truncate(room);
    places.sort_unstable();
    places.into_iter().map(|at| &rows[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::queue::{Departure, RowId};
    use super::*;

    fn row(number: u64, state: RowState, effect: Option<WakeEffect>) -> PictureRow {
        PictureRow {
            id: RowId::Client(number),
            name: number.to_string(),
            state,
            access: None,
            lines: Vec::new(),
            troubles: Vec::new(),
            effect,
            token: None,
        }
    }

    #[test]
    fn a_long_queue_shows_the_holder_the_next_and_the_woken_before_sleeping_clients() {
        let sleeps = Some(WakeEffect::SleepsOn);
        let mut rows = vec![row(1, RowState::Gone(Departure::Released), None), row(2, RowState::Holds, None)];
        rows.extend((3..50).map(|number| row(number, RowState::Waits, sleeps)));
        rows[40].effect = Some(WakeEffect::InVain);
        rows.push(row(50, RowState::ThinksItHolds, None));
        let shown = |room| most_important(&rows, room).iter().map(|row| row.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!([2, 3, 4, 5, 7].map(shown), ["2 3", "1 2 3", "1 2 3 50", "1 2 3 41 50", "1 2 3 4 5 41 50"]);
        assert_eq!(most_important(&rows, 100).len(), 50);
    }
}
