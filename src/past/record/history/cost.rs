//! What waiting cost in the past: waiter-seconds of locks, holders and clients.
//!
//! The waiter-seconds of a lock are the sum over time of the number of contenders that waited for
//! it. Those of a holder are what others waited while it held; several holders of one time share
//! them equally, so that the holders and the time without any add up to the lock.
//!
//! - A contender waits from its arrival to its acquisition, or to its end. A time that is known by
//!   bounds counts as far as it is certain.
//! - [Those who stand by](stand_by) wait only while nobody holds. In a queue of unknown rules nobody
//!   waits.
//! - Only [`CountedTime`] counts: what the recording does not cover costs nothing.
//!
//! A sweep over the changes of one lock adds up three integrals; a holder takes the difference of
//! one of them between its acquisition and its end.

use std::cmp::Reverse;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;

use super::rows;
use super::rows::window;
use super::scan::ScannedRows;
use super::{HistoryQuery, MAX_RANKED, PastContender, PastGap, PastWindow, RankBy, Ranking};
use crate::record::memory::RowMemory;
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp, ZnodePath};
use lockscope_model::queue::{WaiterTime, stand_by};

/// The parts of a time range that a recording covers.
#[derive(Clone, Debug, Default)]
pub struct CountedTime {
    /// The parts in order, each with the length of those before it in milliseconds.
    parts: Vec<(TimeRange, u64)>,
}

impl CountedTime {
    /// Returns the range without the gaps, which are ordered by their beginnings.
    pub fn without_gaps(range: TimeRange, gaps: &[PastGap]) -> Self {
        let (mut counted, mut from) = (Self::default(), range.from);
        for gap in gaps {
            counted.add(TimeRange { from, to: gap.from.min(range.to) });
            from = from.max(gap.to.unwrap_or(range.to));
        }
        counted.add(TimeRange { from, to: range.to });
        counted
    }

    fn add(&mut self, part: TimeRange) {
        if part.from < part.to {
            self.parts.push((part, self.length_ms()));
        }
    }

    fn length_ms(&self) -> u64 {
        self.parts.last().map_or(0, |(part, before)| before.saturating_add(ms(part.length())))
    }

    /// Returns how much time counts.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.length_ms())
    }

    /// Returns how much of it is before a moment, in milliseconds.
    fn until(&self, at: Timestamp) -> u64 {
        let begun = self.parts.partition_point(|(part, _)| part.from < at);
        let last = begun.checked_sub(1).and_then(|last| self.parts.get(last));
        last.map_or(0, |(part, before)| before.saturating_add(ms(at.min(part.to).since(part.from))))
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// When a contender waited and held. A time that does not end ends with the counted time.
#[derive(Clone, Copy, Debug)]
struct StayRow {
    id: i64,
    waits: Option<(Timestamp, Timestamp)>,
    holds: Option<(Timestamp, Timestamp)>,
}

impl StayRow {
    /// Takes the certain times. Where others stand by, a hold is taken for as long as it can have
    /// been.
    fn new(
        id: i64,
        enqueued: Option<i64>,
        acquired: Option<(i64, i64)>,
        ended: Option<(i64, i64)>,
        stand_by: bool,
    ) -> Self {
        let (ended_after, ended_before) = ended.unwrap_or((i64::MAX, i64::MAX));
        let range = |from: i64, to: i64| (from < to).then_some((Timestamp(from), Timestamp(to)));
        let held = |(after, before): (i64, i64)| {
            if stand_by { range(after, ended_before) } else { range(before, ended_after) }
        };
        Self {
            id,
            waits: enqueued.and_then(|came| range(came, acquired.map_or(ended_after, |(after, _)| after))),
            holds: acquired.and_then(held),
        }
    }
}

/// What waiting for a lock cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockCost {
    /// What all contenders waited.
    pub waited: WaiterTime,
    /// What they waited while nobody is known to have held.
    pub unheld: WaiterTime,
    /// What they waited for each holder, by the id of its row. Those who made nobody wait are left out.
    pub holders: Vec<HolderCost>,
}

/// What others waited while a contender held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderCost {
    /// The id of its row.
    pub id: i64,
    /// What they waited; several holders of one time share it equally.
    pub waited: WaiterTime,
    /// How many waited meanwhile.
    pub waiters: u64,
}

/// What changes at a moment. Of one moment, who leaves the queue comes before who enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    WaitEnds,
    HoldEnds(usize),
    WaitBegins,
    HoldBegins(usize),
}

/// The integrals of a sweep up to its moment, in waiter-microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Integrals {
    waited: u128,
    unheld: u128,
    /// Of those who wait for each holder.
    share: u128,
    /// How many have come.
    came: u64,
}

fn sweep(stays: &[StayRow], stand_by: bool, counted: &CountedTime) -> LockCost {
    let mut turns = Vec::new();
    for (at, stay) in stays.iter().enumerate() {
        let waits = stay.waits.map(|(from, to)| [(from, Turn::WaitBegins), (to, Turn::WaitEnds)]);
        let holds = stay.holds.map(|(from, to)| [(from, Turn::HoldBegins(at)), (to, Turn::HoldEnds(at))]);
        turns.extend([waits, holds].into_iter().flatten().flatten());
    }
    turns.sort_unstable();
    let (mut sums, mut waiting, mut holding, mut last) = (Integrals::default(), 0_u64, 0_u128, 0);
    let mut begun: FxHashMap<usize, (Integrals, u64)> = FxHashMap::default();
    let mut holders = Vec::new();
    for (at, turn) in turns {
        let now = counted.until(at);
        let cost = u128::from(now.saturating_sub(last)) * u128::from(waiting) * 1000;
        last = now;
        match holding {
            0 => (sums.waited, sums.unheld) = (sums.waited + cost, sums.unheld + cost),
            _ if stand_by => {}
            holding => (sums.waited, sums.share) = (sums.waited + cost, sums.share + cost / holding),
        }
        match turn {
            Turn::WaitBegins => (waiting, sums.came) = (waiting + 1, sums.came + 1),
            Turn::WaitEnds => waiting = waiting.saturating_sub(1),
            Turn::HoldBegins(stay) => {
                holding += 1;
                begun.insert(stay, (sums, waiting));
            }
            Turn::HoldEnds(stay) => {
                holding = holding.saturating_sub(1);
                let Some((first, waited)) = begun.remove(&stay).filter(|(first, _)| first.share < sums.share) else {
                    continue;
                };
                let waiters = waited + (sums.came - first.came);
                holders.push(HolderCost { id: stays[stay].id, waited: time(sums.share - first.share), waiters });
            }
        }
    }
    LockCost { waited: time(sums.waited), unheld: time(sums.unheld), holders }
}

fn time(micros: u128) -> WaiterTime {
    WaiterTime(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
}

/// Returns how the contenders of a lock wait: `None` where nobody is known to, else whether they stand
/// by.
fn how_they_wait(path: &str, recipe: &str) -> Option<bool> {
    let recipe = Recipe::named(recipe).filter(|recipe| *recipe != Recipe::UnknownQueue)?;
    Some(ZnodePath::new(path).is_ok_and(|path| stand_by(recipe, &path)))
}

impl PastWindow {
    /// Returns what waiting for a lock cost; `of` are the places of its contenders.
    pub fn cost(&self, counted: &CountedTime, of: &[usize]) -> LockCost {
        let contenders: Vec<(i64, &PastContender)> =
            of.iter().filter_map(|at| Some((i64::try_from(*at).ok()?, self.contenders.get(*at)?))).collect();
        let first = contenders.first().and_then(|(_, past)| how_they_wait(&past.lock, &past.recipe));
        let Some(stand_by) = first else { return LockCost::default() };
        let stay = |(at, past): &(i64, &PastContender)| {
            let times = |bounds: Option<TimeBounds>| bounds.map(|bounds| (bounds.after.0, bounds.before.0));
            StayRow::new(*at, past.enqueued_at.map(|came| came.0), times(past.acquired), times(past.ended), stand_by)
        };
        let stays: Vec<StayRow> = contenders.iter().map(stay).collect();
        sweep(&stays, stand_by, counted)
    }

    /// Returns the time that counts.
    pub fn counted(&self) -> CountedTime {
        CountedTime::without_gaps(TimeRange { from: self.from, to: self.to.min(self.known_until) }, &self.gaps)
    }
}

/// Ranks the locks and clients that a scan found, and their holders, by what others waited for them
/// within a time.
pub fn rank(
    connection: &Connection,
    query: &HistoryQuery,
    [from, to, until]: [Option<Timestamp>; 3],
    gaps: &[PastGap],
    found: &mut ScannedRows,
) -> rusqlite::Result<Ranking> {
    let mut gaps = gaps.to_vec();
    rows::coverage(connection, query.from, query.to, &mut gaps)?;
    let range = from.zip(to.min(until)).map(|(from, to)| TimeRange { from, to });
    let counted = range.map(|range| CountedTime::without_gaps(range, &gaps)).unwrap_or_default();
    let costs = add_costs(connection, query, &counted, found)?;
    let ids: Vec<i64> = costs.iter().map(|cost| cost.id).collect();
    let mut read = rows::contenders(connection, &ids, until)?.into_iter().peekable();
    let holder = |cost: HolderCost| Some((read.next_if(|past| past.id == cost.id)?, cost));
    let holders = costs.into_iter().filter_map(holder).collect();
    Ok(Ranking { holders, counted: Some(counted.length()), ..super::rank(connection, found, RankBy::Cost)? })
}

/// Adds what waiting cost to the locks and clients that a scan found, lock by lock. Returns the
/// costliest holders. All contenders of a lock count as waiting, and the rows that were found as
/// holders.
fn add_costs(
    connection: &Connection,
    query: &HistoryQuery,
    counted: &CountedTime,
    found: &mut ScannedRows,
) -> rusqlite::Result<Vec<HolderCost>> {
    let wanted = found.sorted_ids();
    let mut ids: Vec<i64> = found.locks.keys().copied().collect();
    ids.sort_unstable();
    let mut costliest = Vec::new();
    for lock in ids {
        let text = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let named = connection.query_row("SELECT path, recipe FROM lock WHERE id = ?1", [lock], text).optional()?;
        let how = named.and_then(|(path, recipe)| how_they_wait(&path, &recipe));
        let (stays, clients) = match how {
            Some(stand_by) => stays_of(connection, query, lock, stand_by)?,
            None => Default::default(),
        };
        let cost = sweep(&stays, how == Some(true), counted);
        if let Some(sums) = found.locks.get_mut(&lock) {
            (sums.waiter_seconds, sums.waiter_seconds_unheld) = (Some(cost.waited), Some(cost.unheld));
        }
        for holder in cost.holders.into_iter().filter(|holder| wanted.binary_search(&holder.id).is_ok()) {
            if let Some(sums) = clients.get(&holder.id).and_then(|client| found.clients.get_mut(client)) {
                let cost = sums.waiter_seconds.get_or_insert_default();
                *cost = cost.plus(holder.waited);
            }
            costliest.push(holder);
        }
        if costliest.len() > 50 * MAX_RANKED {
            keep_costliest(&mut costliest);
        }
    }
    keep_costliest(&mut costliest);
    Ok(costliest)
}

fn keep_costliest(holders: &mut Vec<HolderCost>) {
    holders.sort_unstable_by_key(|holder| (Reverse(holder.waited), holder.id));
    holders.truncate(MAX_RANKED);
}

/// Reads all contenders of a lock within the requested time, and the clients of those that held.
fn stays_of(
    connection: &Connection,
    query: &HistoryQuery,
    lock: i64,
    stand_by: bool,
) -> rusqlite::Result<(Vec<StayRow>, FxHashMap<i64, i64>)> {
    let mut statement = connection.prepare_cached(
        "SELECT id, client_id, enqueued_at, acquired_after, acquired_before, ended_after, ended_before FROM contender
         WHERE lock_id = ?1 AND ifnull(ended_before, 9223372036854775807) >= ?2 AND ifnull(enqueued_at, first_seen_at) <= ?3",
    )?;
    let [from, to] = window(query.from, query.to);
    let (mut stays, mut clients, memory) = (Vec::new(), FxHashMap::default(), RowMemory::default());
    let mut rows = statement.query(params![lock, from, to])?;
    while let Some(row) = rows.next()? {
        memory.charge(row)?;
        let bounds = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.zip(row.get(at + 1)?));
        let (id, acquired) = (row.get(0)?, bounds(3)?);
        if let Some(client) = row.get::<_, Option<i64>>(1)?.filter(|_| acquired.is_some()) {
            clients.insert(id, client);
        }
        stays.push(StayRow::new(id, row.get(2)?, acquired, bounds(5)?, stand_by));
    }
    Ok((stays, clients))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::history::{History, HistoryFacts, lines};
    use crate::record::store::Store;

    /// Writes a recording of 100 s with a gap from 40 s to 50 s, and a history of it.
    ///
    /// | lock | who | came, acquired, ended |
    /// | --- | --- | --- |
    /// | `/a` | 1 | 0, 0, 30 |
    /// | | 2 | 10, 32, 60 |
    /// | | 3 | 20, 60, - |
    /// | | 1 | 50, -, 55 |
    /// | `/leader` | 1 | 0, 0, 50 |
    /// | | 2 | 0, 70, - |
    /// | `/unknown` | 1 | 0, 0, - |
    /// | | 2 | 0, -, - |
    fn history(query: HistoryQuery) -> History {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(&folder.path().join("locks.db"), false).unwrap();
        let rows = "INSERT INTO run (connect, version) VALUES ('zk1', '1');
            INSERT INTO recording (tables_version, began_at, until_at) VALUES (2, 0, 100000);
            INSERT INTO segment (run, from_ms, until_ms, entries) VALUES (1, 0, 100000, 1);
            INSERT INTO gap VALUES (1, 40000, 50000, 'cut');
            INSERT INTO lock VALUES (1, '/a', NULL, 'curator-mutex', 'exclusive'), (2, '/leader', NULL, 'curator-latch', 'election'),
                (3, '/unknown', NULL, 'unknown-queue', 'exclusive');
            INSERT INTO client VALUES (1, '10.0.0.1:1', 'one'), (2, '10.0.0.2:2', 'two'), (3, '10.0.0.3:3', 'three');";
        store.sql(|sql| sql.execute_batch(rows)).unwrap();
        let stays = [
            (1, 1, [Some(0), Some(0), Some(30)]),
            (1, 2, [Some(10), Some(32), Some(60)]),
            (1, 3, [Some(20), Some(60), None]),
            (1, 1, [Some(50), None, Some(55)]),
            (2, 1, [Some(0), Some(0), Some(50)]),
            (2, 2, [Some(0), Some(70), None]),
            (3, 1, [Some(0), Some(0), None]),
            (3, 2, [Some(0), None, None]),
        ];
        for (lock, client, times) in stays {
            let [came, acquired, ended] = times.map(|time| time.map(|seconds: i64| seconds * 1000));
            let row = "INSERT INTO contender (lock_id, client_id, session, first_seen_at, enqueued_at, acquired_after, acquired_before,
                ended_after, ended_before, ending, mode, node) VALUES (?1, ?2, ?2, ?3, ?3, ?4, ?4, ?5, ?5, 'gone', 'exclusive', 'n')";
            store.sql(|sql| sql.execute(row, params![lock, client, came, acquired, ended])).unwrap();
        }
        History::read(&mut store, &HistoryQuery { rank_by: Some(RankBy::Cost), limit: 100, ..query }).unwrap()
    }

    /// Returns the waiter-seconds of locks, clients and holders, each in the order of the ranking.
    fn seconds(history: &History) -> [Vec<(String, f64)>; 3] {
        let facts = serde_json::to_value(HistoryFacts::from(history)).unwrap();
        [("locks", "lock"), ("clients", "client_name"), ("holders", "client_name")].map(|(list, name)| {
            let rows = facts["top"][list].as_array().unwrap().iter();
            let row = |row: &serde_json::Value| Some((row[name].as_str()?.to_owned(), row["waiter_seconds"].as_f64()?));
            rows.filter_map(row).collect()
        })
    }

    fn named<const N: usize>(rows: [(&str, f64); N]) -> Vec<(String, f64)> {
        rows.map(|(name, seconds)| (name.to_owned(), seconds)).to_vec()
    }

    #[test]
    fn locks_clients_and_holders_are_ranked_by_what_others_waited_outside_of_gaps() {
        let history = history(HistoryQuery::default());
        let [locks, clients, holders] = seconds(&history);
        assert_eq!(locks, named([("/a", 57.0), ("/leader", 20.0), ("/unknown", 0.0)]));
        assert_eq!(clients, named([("one", 30.0), ("two", 23.0)]));
        assert_eq!(holders, named([("one", 30.0), ("two", 23.0)]));
        let facts = serde_json::to_value(HistoryFacts::from(&history)).unwrap();
        let top = &facts["top"];
        let unheld = |at: usize| top["locks"][at]["waiter_seconds_unheld"].as_f64();
        assert_eq!((unheld(0), unheld(1)), (Some(4.0), Some(20.0)));
        assert_eq!((top["counted_seconds"].as_f64(), top["holders"][0]["waiters"].as_u64()), (Some(90.0), Some(2)));
        let mut out = Vec::new();
        lines(&mut out, &history, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("Only the 1m30s that are recorded count") && text.contains("Nothing was seen from"),
            "{text}"
        );
    }

    #[test]
    fn only_the_requested_time_counts_and_a_client_is_ranked_by_its_own_holds() {
        let [locks, _, holders] = seconds(&history(HistoryQuery {
            from: Some(Timestamp(20_000)),
            to: Some(Timestamp(55_000)),
            ..HistoryQuery::default()
        }));
        assert_eq!(locks[0], ("/a".to_owned(), 42.0));
        assert_eq!(holders, named([("one", 20.0), ("two", 18.0)]));
        let of_two = HistoryQuery { client: Some("two".to_owned()), ..HistoryQuery::default() };
        let [locks, clients, holders] = seconds(&history(of_two));
        assert_eq!(locks[0], ("/a".to_owned(), 57.0), "all waiters of its locks");
        assert_eq!((&clients, &holders), (&named([("two", 23.0)]), &clients));
    }

    /// A stay in seconds: how long after the last one it came, waited and held.
    fn random_stays() -> impl Strategy<Value = Vec<(i64, i64, Option<i64>)>> {
        proptest::collection::vec((0..4_i64, 0..9_i64, proptest::option::of(0..9_i64)), 0..20)
    }

    proptest! {
        #[test]
        fn the_sweep_adds_up_what_each_second_has(random in random_stays(), gap in (0..40_i64, 0..20_i64), stand_by: bool) {
            let mut came = 0;
            let mut stays = Vec::new();
            for (id, (after, waits, holds)) in (0..).zip(&random) {
                came += after;
                let acquired = holds.map(|_| ((came + waits) * 1000, (came + waits) * 1000));
                let ended = (came + waits + holds.unwrap_or(0)) * 1000;
                stays.push(StayRow::new(id, Some(came * 1000), acquired, Some((ended, ended)), stand_by));
            }
            let gap = PastGap { from: Timestamp(gap.0 * 1000), to: Some(Timestamp((gap.0 + gap.1) * 1000)), reason: String::new() };
            let counted = CountedTime::without_gaps(TimeRange { from: Timestamp(5_000), to: Timestamp(60_000) }, std::slice::from_ref(&gap));
            let (mut waited, mut unheld, mut of) = (0.0, 0.0, FxHashMap::<i64, f64>::default());
            for second in 5..60_i64 {
                let middle = Timestamp(second * 1000 + 500);
                let is_in = |time: Option<(Timestamp, Timestamp)>| time.is_some_and(|(from, to)| from < middle && middle < to);
                let holders: Vec<i64> = stays.iter().filter(|stay| is_in(stay.holds)).map(|stay| stay.id).collect();
                let waiting = u32::try_from(stays.iter().filter(|stay| is_in(stay.waits)).count()).unwrap();
                if is_in(gap.to.map(|to| (gap.from, to))) || stand_by && !holders.is_empty() {
                    continue;
                }
                waited += f64::from(waiting);
                unheld += if holders.is_empty() { f64::from(waiting) } else { 0.0 };
                let share = f64::from(waiting) / f64::from(u32::try_from(holders.len()).unwrap());
                for id in &holders {
                    *of.entry(*id).or_default() += share;
                }
            }
            let cost = sweep(&stays, stand_by, &counted);
            let is = |cost: WaiterTime, expected: f64| (cost.0.as_secs_f64() - expected).abs() < 0.001;
            prop_assert!(is(cost.waited, waited) && is(cost.unheld, unheld), "{cost:?}: {waited}, {unheld}");
            for stay in &stays {
                let found = cost.holders.iter().find(|holder| holder.id == stay.id).map_or_else(WaiterTime::default, |holder| holder.waited);
                prop_assert!(is(found, of.get(&stay.id).copied().unwrap_or(0.0)), "{stay:?} {cost:?} {of:?}");
            }
        }
    }
}
