//! Tests of `clients`.

use std::num::NonZeroU32;

use super::*;
use crate::testing::path;
use crate::tui::testing::fleets::{client, status, totals};
use lockscope_lab::contend::Scenario;

#[test]
fn a_semaphore_shows_its_leases_then_the_next_client_then_the_queue() {
    let holding = |id, node| ClientStatus { node: Some(path(node)), ..client(id, ClientState::Holding) };
    let waiting = |id, node, watches: WatchPlace| ClientStatus {
        node: Some(path(node)),
        watches: vec![watches],
        ..client(id, ClientState::Waiting)
    };
    let clients = vec![
        waiting(1, "/s/locks/lock-0000000005", WatchPlace::Node(path("/s/locks/lock-0000000004"))),
        waiting(2, "/s/locks/lock-0000000004", WatchPlace::Node(path("/s/locks/lock-0000000003"))),
        waiting(3, "/s/leases/lease-0000000009", WatchPlace::Children(path("/s/leases"))),
        holding(4, "/s/leases/lease-0000000008"),
        holding(5, "/s/leases/lease-0000000007"),
    ];
    let scenario = Scenario::new(Algorithm::Semaphore(NonZeroU32::new(2).unwrap()), path("/s"), 5);
    let status = status(&scenario, 5_000, clients, totals(7, 1));
    let shown: Vec<ShownClient> = status.clients.iter().map(ShownClient::of).collect();
    let facts = FleetFacts::of(&status);
    let fleet = ShownFleet { clients: shown.iter().collect(), gone: &[], somebody_woke: false, facts };
    let picture = fleet.picture();
    let ids: Vec<RowId> = picture.rows.iter().map(|row| row.id).collect();
    let client = RowId::Client;
    assert_eq!(ids, [RowId::Parent(0), client(5), client(4), client(3), client(2), client(1)]);
    let lines: Vec<Option<RowId>> = picture.rows.iter().map(|row| row.lines.first().map(|line| line.to)).collect();
    let expected = [None, None, None, Some(RowId::Parent(0)), Some(client(3)), Some(client(2))];
    assert_eq!(lines, expected);
    assert!(picture.rows[1..3].iter().all(|row| row.state == RowState::Holds), "both hold");
}
