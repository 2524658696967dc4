//! The screen's picture of a real fleet, frame by frame, compared with the clients' own traces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use lockscope::tui::ThemeName;
use lockscope::tui::app::{App, Event, FleetSide, FleetView, Key, Settings};
use lockscope::tui::picture::{Flight, ReplayGap, RequestFlight, RowId, RowState};
use lockscope::tui::theme::Theme;
use lockscope::tui::view::draw;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetStatus, LinkState, RequestKind, TraceEntry, TraceStep, WatchPlace,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// The time between two frames of the program.
const FRAME: Duration = Duration::from_micros(16_667);

/// The console without its terminal, fed with a fleet's reports. Its clock is the fleet's, and
/// stops whenever the fleet's does.
pub struct ShownFleet {
    app: App,
    terminal: Terminal<TestBackend>,
    now: Timestamp,
    last_frame: Timestamp,
    is_frame_wanted: bool,
    /// The whole trace so far, from the fleet's start.
    trace: Vec<TraceEntry>,
    /// How many entries came before the picture was open.
    before: usize,
    /// The watch events and requests that appeared in a frame, by number.
    pub events: BTreeMap<u64, Flight>,
    pub requests: BTreeMap<u64, RequestFlight>,
    /// The number of events that frames reported as too fast.
    pub too_fast: u64,
}

impl ShownFleet {
    /// Creates a console in which these keys set the speed.
    pub fn new(speed: &str, size: (u16, u16)) -> Self {
        let settings = Settings { write: true, ..Settings::default() };
        let mut app = App::new(settings, size, Timestamp(0));
        for key in "5c5".chars().map(Key::Char).chain([Key::Enter, Key::Char('w')]).chain(speed.chars().map(Key::Char))
        {
            app.update(Event::Key(key), Timestamp(0));
        }
        Self {
            app,
            terminal: Terminal::new(TestBackend::new(size.0, size.1)).expect("a surface"),
            now: Timestamp(0),
            last_frame: Timestamp(0),
            is_frame_wanted: true,
            trace: Vec::new(),
            before: 0,
            events: BTreeMap::new(),
            requests: BTreeMap::new(),
            too_fast: 0,
        }
    }

    pub fn fleet(&self) -> &FleetView {
        self.app.fleets().fleet(FleetSide::Left).expect("a fleet")
    }

    /// Opens the picture: the earlier statuses are known, and only the last is shown.
    pub fn open(&mut self, mut statuses: Vec<Arc<FleetStatus>>) {
        let last = statuses.pop().expect("a status");
        self.trace.extend(statuses.iter().flat_map(|status| status.trace.iter().cloned()));
        self.take([last]);
        self.catch_up();
    }

    /// Takes statuses in, each at its time.
    pub fn take(&mut self, statuses: impl IntoIterator<Item = Arc<FleetStatus>>) {
        for status in statuses {
            let age = Timestamp(i64::try_from(status.age.as_millis()).expect("short"));
            self.run_until(age.max(self.now));
            self.take_at_once([status]);
        }
    }

    /// Takes statuses in all at once, as if the console had not run for a while.
    pub fn take_at_once(&mut self, statuses: impl IntoIterator<Item = Arc<FleetStatus>>) {
        for status in statuses {
            self.trace.extend(status.trace.iter().cloned());
            if self.fleet().status().is_none() || !status.stepped {
                // The picture starts from the present state if nothing is known yet, or without
                // slow motion.
                self.before = self.trace.len();
            }
            let had_more = self.fleet().replay.next().is_some();
            let flying: Vec<u64> = self.fleet().replay.flying().iter().map(|flight| flight.number).collect();
            let wakes = status.trace.iter().any(|entry| matches!(entry.step, TraceStep::Woken(_)));
            self.update(Event::Fleet { side: FleetSide::Left, status });
            // The picture has started anew where events were left out and none are left out any
            // more.
            if let Some(ReplayGap::TooFast(events)) = self.fleet().replay.gap()
                && self.fleet().replay.next().is_none()
                && (had_more || wakes)
            {
                self.too_fast += events;
                self.events.retain(|number, _| !flying.contains(number));
            }
        }
    }

    /// Lets time pass until everything is shown.
    pub fn catch_up(&mut self) {
        while let Some(next) = self.fleet().replay.next() {
            self.run_until(next.max(self.now.plus(Duration::from_millis(1))));
        }
        self.run_until(self.now.plus(FRAME * 2));
    }

    fn update(&mut self, event: Event) {
        let now = self.now;
        self.is_frame_wanted |= self.app.update(event, now).redraw;
    }

    fn run_until(&mut self, end: Timestamp) {
        loop {
            let frame = self.last_frame.plus(FRAME + Duration::from_millis(1));
            if self.is_frame_wanted && frame <= self.now {
                self.look();
            }
            if self.now >= end {
                return;
            }
            let frame = Some(frame).filter(|_| self.is_frame_wanted);
            let due = self.app.next_due().filter(|due| *due > self.now);
            self.now = [frame, due, Some(end)].into_iter().flatten().min().unwrap_or(end);
            if due.is_some_and(|due| due <= self.now) {
                self.update(Event::Due);
            }
        }
    }

    /// Draws a frame, and checks that it has arrows if and only if something is in flight.
    fn look(&mut self) {
        (self.is_frame_wanted, self.last_frame) = (false, self.now);
        let (app, theme) = (&self.app, Theme::new(ThemeName::Terminal, false));
        self.terminal.draw(|frame| draw(frame, app, &theme)).expect("a frame");
        let buffer = self.terminal.backend().buffer();
        // The line before the last is the border with the legend.
        let cells = &buffer.content()[..usize::from(buffer.area.width) * usize::from(buffer.area.height - 2)];
        let count = |arrows: &str| cells.iter().filter(|cell| arrows.contains(cell.symbol())).count();
        let replay = &self.fleet().replay;
        let (events, requests) = (replay.flying(), replay.requests());
        let (arrows, hollow) = (count("▲▶▼◀"), count("△▷▽◁"));
        assert!(arrows <= events.len() && (arrows > 0) != events.is_empty(), "{arrows} arrows: {events:#?}");
        assert!(hollow <= requests.len(), "{hollow} hollow arrows: {requests:#?}");
        assert!(hollow > 0 || requests.is_empty() || !events.is_empty(), "{requests:#?}");
        let now = self.now;
        let (events, requests) = (events.to_vec(), requests.to_vec());
        for flight in events {
            assert!(flight.start <= now && now <= flight.end, "{flight:?} at {now:?}");
            let before = self.events.insert(flight.number, flight.clone());
            assert!(before.is_none_or(|before| before == flight), "an event stays what it is: {flight:?}");
        }
        for request in requests {
            assert!(request.start <= now && now <= request.end, "{request:?} at {now:?}");
            let before = self.requests.insert(request.number, request);
            assert!(before.is_none_or(|before| before == request), "a request stays what it is: {request:?}");
        }
    }

    /// Returns the events delivered since the picture was open: the client and the watch.
    pub fn delivered(&self) -> Vec<(ClientId, WatchPlace)> {
        let woken = |entry: &TraceEntry| match &entry.step {
            TraceStep::Woken(place) => Some((entry.client, place.clone())),
            _ => None,
        };
        self.trace[self.before..].iter().filter_map(woken).collect()
    }

    /// Returns the events seen in flight, in the order of their start.
    pub fn seen(&self) -> Vec<(ClientId, WatchPlace)> {
        let mut flights: Vec<&Flight> = self.events.values().collect();
        flights.sort_by_key(|flight| (flight.start, flight.number));
        flights.into_iter().map(|flight| (flight.to, flight.place.clone())).collect()
    }

    /// Checks that exactly the delivered events were seen, in order.
    pub fn check_events(&self) {
        assert_eq!(self.fleet().replay.gap(), None);
        assert_eq!((self.seen(), self.too_fast), (self.delivered(), 0), "{:#?}", &self.trace[self.before..]);
    }

    /// Checks that each event came from a client whose node was created or deleted at the watched
    /// place; if only one client qualifies, from that client.
    pub fn check_causes(&self) {
        let changes = changes(&self.trace);
        for flight in self.events.values() {
            let possible: BTreeSet<ClientId> =
                changes.iter().filter(|(place, _)| *place == flight.place).map(|(_, client)| *client).collect();
            // In a herd, no trace entry may exist for a session that ended.
            let Some(from) = flight.from.or_else(|| possible.iter().next().copied()) else { continue };
            assert!(possible.contains(&from), "{flight:?}, of {possible:?}");
        }
    }

    /// Checks that each request seen was sent by a woken client. With `all`, also checks that each
    /// such request was seen.
    pub fn check_requests(&self, all: bool) {
        let sent = |entry: &TraceEntry| match entry.step {
            TraceStep::Sent(kind) => Some((entry.client, kind)),
            _ => None,
        };
        let sent: Vec<(ClientId, RequestKind)> = self.trace[self.before..].iter().filter_map(sent).collect();
        for request in self.requests.values() {
            let at = usize::try_from(request.number).expect("few");
            assert_eq!(Some(&(request.client, request.kind)), sent.get(at), "{request:?}");
        }
        if all {
            let woken = sent_by_woken(&self.trace[self.before..]);
            let seen: BTreeSet<usize> = self.requests.keys().map(|at| usize::try_from(*at).expect("few")).collect();
            assert_eq!(seen, woken, "{:#?}", &self.trace[self.before..]);
        }
    }

    /// Checks that the picture equals the clients' state once everything is shown.
    pub fn check_rows(&self) {
        let status = self.fleet().status().expect("a status");
        let rows = &self.fleet().replay.picture().rows;
        for client in &status.clients {
            if client.state == ClientState::Crashed {
                continue;
            }
            let id = RowId::Client(u64::from(client.id.0));
            let row = rows.iter().find(|row| row.id == id);
            let is_there = client.node.is_some() || matches!(client.state, ClientState::Holding | ClientState::Waiting);
            assert_eq!(row.is_some(), is_there, "{client:#?}");
            let Some(row) = row else { continue };
            let holds = matches!(row.state, RowState::Holds | RowState::ThinksItHolds);
            assert_eq!(holds, client.state == ClientState::Holding, "{row:#?}");
            if client.frozen || client.link == LinkState::Cut {
                continue;
            }
            let mut expected: BTreeSet<RowId> = BTreeSet::new();
            expected.extend(client.watches.iter().filter_map(|place| watched(status, rows, client, place)));
            let lines: BTreeSet<RowId> = row.lines.iter().map(|line| line.to).collect();
            assert!(expected.is_subset(&lines), "{client:#?} has the row {row:#?}, and not {expected:?}");
        }
    }

    /// Returns the number of watch events in the trace since the picture was open.
    pub fn events_so_far(&self) -> usize {
        self.delivered().len()
    }

    /// Returns the events seen after the first `before` events.
    pub fn events_since(&self, before: usize) -> impl Iterator<Item = &Flight> {
        self.events.values().filter(move |flight| flight.number >= before as u64)
    }

    /// Returns a client's row as drawn; empty if the client has none.
    pub fn row(&self, id: ClientId) -> String {
        let signs = ["○", "●", "!"];
        let letters = ["", "R ", "W "];
        let wanted: Vec<String> = signs
            .iter()
            .flat_map(|sign| letters.iter().map(move |access| format!("{sign} {access}client-{id} ")))
            .collect();
        let frame = self.frame();
        let line = frame.lines().find(|line| wanted.iter().any(|text| line.contains(text)));
        line.unwrap_or_default().to_owned()
    }

    /// Returns the whole frame as text.
    pub fn frame(&self) -> String {
        self.terminal.backend().to_string()
    }
}

/// Returns the row to which a client's line must lead; `None` where the watched node has no row or
/// is the client's own.
fn watched(
    status: &FleetStatus,
    rows: &[lockscope::tui::picture::PictureRow],
    client: &ClientStatus,
    place: &WatchPlace,
) -> Option<RowId> {
    match place {
        WatchPlace::Children(path) => {
            let parent =
                |row: &&lockscope::tui::picture::PictureRow| row.state == RowState::Parent && row.name == path.name();
            Some(rows.iter().find(parent).unwrap_or_else(|| panic!("no row for {path}")).id)
        }
        WatchPlace::Node(path) => {
            if client.node.as_ref() == Some(path) {
                return None;
            }
            let owns = |other: &&ClientStatus| other.node.as_ref() == Some(path) && other.id != client.id;
            // If two clients think they own a node, the silent one does not own it.
            let is_silent = |other: &ClientStatus| other.frozen || other.link == LinkState::Cut;
            let owner = status.clients.iter().filter(owns).min_by_key(|other| is_silent(other))?;
            Some(RowId::Client(u64::from(owner.id.0)))
        }
    }
}

/// Returns the watches that could fire, each with the client whose node changed.
fn changes(trace: &[TraceEntry]) -> Vec<(WatchPlace, ClientId)> {
    let mut owners: BTreeMap<ZnodePath, ClientId> = BTreeMap::new();
    let mut changes = Vec::new();
    for entry in trace {
        match &entry.step {
            TraceStep::Created(path) => {
                owners.insert(path.clone(), entry.client);
                changes.push((WatchPlace::Children(path.parent().expect("no lock is the root")), entry.client));
                changes.push((WatchPlace::Node(path.clone()), entry.client));
            }
            TraceStep::Deleted(path) => {
                changes.push((WatchPlace::Children(path.parent().expect("no lock is the root")), entry.client));
                changes.push((WatchPlace::Node(path.clone()), entry.client));
            }
            _ => {}
        }
    }
    changes
}

/// Returns the indexes of the requests that woken clients sent before they knew their new state.
fn sent_by_woken(trace: &[TraceEntry]) -> BTreeSet<usize> {
    let (mut woken, mut numbers, mut at) = (BTreeSet::new(), BTreeSet::new(), 0);
    for entry in trace {
        match &entry.step {
            TraceStep::Woken(_) => {
                woken.insert(entry.client);
            }
            TraceStep::Watches(_) | TraceStep::Acquires(_) => {
                woken.remove(&entry.client);
            }
            TraceStep::Asks(_) | TraceStep::Releases | TraceStep::Crashes | TraceStep::Expires => woken.clear(),
            TraceStep::Sent(_) => {
                if woken.contains(&entry.client) {
                    numbers.insert(at);
                }
                at += 1;
            }
            _ => {}
        }
    }
    numbers
}
