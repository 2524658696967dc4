//! What a watcher on duty says and hands over, on a clock of its own.

use lockscope_base::znode::{ZnodeStat, Zxid};
use lockscope_model::queue::LockQueue;

use super::*;
use crate::testing::{lost, seen, table, uuid};

const SECOND: Duration = Duration::from_secs(1);

/// A duty over one lock with two nodes.
struct DutyFixture {
    on_duty: FindingsOnDuty,
    waiting: mpsc::Receiver<WaitingFinding>,
    table: LockTable,
    nodes: Vec<Arc<str>>,
    now: Instant,
}

impl DutyFixture {
    fn new() -> Self {
        let stat = |number| ZnodeStat::of_new(Zxid(number), Timestamp(1), None);
        let name = |number: i64| format!("_c_{}-lock-{number:010}", uuid(number.try_into().expect("small")));
        let nodes = [1, 2].map(|number| seen(&format!("/a/{}", name(number)), stat(number), b""));
        let table = table([seen("/a", stat(0), b"")].into_iter().chain(nodes), Timestamp(1));
        let (sender, waiting) = mpsc::channel(2);
        let program = Some(ProgramQueue { sender, left_out: Arc::default() });
        let on_duty = FindingsOnDuty {
            duty: Duty { fail_on: Severity::Warning, cool_down: 60 * SECOND, program },
            context: None,
            thresholds: Thresholds::default(),
            kinds: BTreeMap::new(),
            next_sweep: None,
        };
        let nodes = [1, 2].map(|number| name(number).into()).to_vec();
        Self { on_duty, waiting, table, nodes, now: Instant::now() }
    }

    fn finding(&self, code: Code, severity: Severity, node: usize) -> Arc<Finding> {
        let lock = self.table.locks().next().map(LockQueue::lock_name).expect("a lock");
        let (summary, remedy) = (String::new(), "".into());
        let node = Some(self.nodes[node].clone());
        Arc::new(Finding { code, severity, lock, node, client: None, summary, remedy, muted: None })
    }

    /// Lets some seconds pass, takes news, and returns what is printed.
    fn take(&mut self, seconds: u32, news: &[(FindingNews, &Arc<Finding>)]) -> Vec<(FindingNews, usize)> {
        self.now += seconds * SECOND;
        let event = |(news, finding): &(_, &Arc<_>)| TableEvent::Finding {
            finding: Arc::clone(finding),
            news: *news,
            at: Timestamp(1),
        };
        let told = self.on_duty.take(news.iter().map(event).collect(), &self.table, self.now);
        let node = |finding: &Finding| self.nodes.iter().position(|node| Some(node) == finding.node.as_ref());
        let told = told.iter().filter_map(|event| match event {
            TableEvent::Finding { finding, news, .. } => Some((*news, node(finding)?)),
            _ => None,
        });
        told.collect()
    }

    /// Returns the nodes and severities that the program is run for.
    fn handed(&mut self) -> Vec<(usize, Severity)> {
        let handed = std::iter::from_fn(|| self.waiting.try_recv().ok()).collect::<Vec<_>>();
        let node = |finding: &Finding| self.nodes.iter().position(|node| Some(node) == finding.node.as_ref());
        handed.iter().filter_map(|of| Some((node(&of.finding)?, of.finding.severity))).collect()
    }
}

use FindingNews::{Cleared, Forgotten, Raised};
use Severity::{Critical, Info, Warning};

#[test]
fn a_finding_is_news_once_although_it_is_forgotten_at_each_cut() {
    let mut duty = DutyFixture::new();
    let ghost = duty.finding(Code::Ghost, Warning, 0);
    assert_eq!(duty.take(0, &[(Raised, &ghost)]), [(Raised, 0)]);
    for _ in 0..3 {
        assert_eq!(duty.take(600, &[(Forgotten, &ghost)]), []);
        assert_eq!(duty.take(9, &[(Raised, &ghost)]), []);
    }
    assert_eq!(duty.handed(), [(0, Warning)]);
    assert_eq!(duty.take(1, &[(Cleared, &ghost)]), [(Cleared, 0)]);
    assert_eq!(duty.take(1, &[(Cleared, &ghost)]), [], "it is cleared once");
}

#[test]
fn what_was_forgotten_is_cleared_when_it_is_not_found_again_or_its_node_is_gone() {
    let mut duty = DutyFixture::new();
    let (stays, gone) = (duty.finding(Code::Ghost, Warning, 0), duty.finding(Code::Ghost, Warning, 1));
    duty.take(0, &[(Raised, &stays), (Raised, &gone)]);
    // Nothing is known while the connection is cut, for however long.
    duty.table.apply(lost(), Timestamp(2));
    assert_eq!(duty.take(1, &[(Forgotten, &stays), (Forgotten, &gone)]), []);
    assert_eq!(duty.take(3600, &[]), []);
    let node = format!("/a/{}", duty.nodes[0]);
    let stat = ZnodeStat::of_new(Zxid(1), Timestamp(1), None);
    for change in crate::testing::reading([seen("/a", stat, b""), seen(&node, stat, b"")]) {
        duty.table.apply(change, Timestamp(3));
    }
    assert_eq!(duty.take(1, &[]), [(Cleared, 1)]);
    assert_eq!(duty.take(19, &[]), [], "a ghost is found after 11 s, and the servers are asked at intervals");
    assert_eq!(duty.take(2, &[]), [(Cleared, 0)]);
}

#[test]
fn the_program_rests_after_a_run_unless_it_gets_worse_and_is_run_later_for_what_stands() {
    let mut duty = DutyFixture::new();
    let (first, second) = (duty.finding(Code::Ghost, Warning, 0), duty.finding(Code::Ghost, Warning, 1));
    let milder = duty.finding(Code::Orphan, Info, 0);
    assert_eq!(duty.take(0, &[(Raised, &first), (Raised, &milder)]), [(Raised, 0)], "an info is below --fail-on");
    assert_eq!(duty.handed(), [(0, Warning)]);
    for _ in 0..5 {
        duty.take(1, &[(Cleared, &first)]);
        assert_eq!(duty.take(1, &[(Raised, &first)]), [(Raised, 0)], "it is printed each time");
    }
    assert_eq!(duty.handed(), []);
    let worse = duty.finding(Code::Ghost, Critical, 1);
    assert_eq!(duty.take(1, &[(Raised, &second), (Raised, &worse)]), [(Raised, 1), (Raised, 1)]);
    assert_eq!(duty.handed(), [(1, Critical)]);
    duty.take(59, &[(Cleared, &first)]);
    duty.take(0, &[(Raised, &first)]);
    assert_eq!(duty.handed(), []);
    duty.take(1, &[]);
    assert_eq!(duty.handed(), [(0, Warning)], "it stands at the end of the rest");
    duty.take(3600, &[]);
    assert_eq!(duty.handed(), [], "it is told once");
}

#[test]
fn what_finds_no_place_is_counted() {
    let mut duty = DutyFixture::new();
    for code in [Code::Ghost, Code::Orphan, Code::Stuck, Code::Deadlock] {
        let finding = duty.finding(code, Critical, 0);
        duty.take(1, &[(Raised, &finding)]);
    }
    assert_eq!(duty.handed().len(), 2);
    let program = duty.on_duty.duty.program.as_ref().expect("a program");
    assert_eq!(program.left_out.load(Ordering::Relaxed), 2);
}

#[test]
fn a_command_is_split_into_words_and_nothing_in_it_is_expanded() {
    let words = |text| command(text).map(|command| [vec![command.program], command.arguments].concat());
    assert_eq!(
        words("page --team 'a b' \"c $HOME\" d\\ e *"),
        Ok(["page", "--team", "a b", "c $HOME", "d e", "*"].map(str::to_owned).to_vec())
    );
    for wrong in ["", "  ", "''", "page 'a"] {
        assert!(words(wrong).is_err(), "{wrong:?}");
    }
}
