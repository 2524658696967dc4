//! Transaction logs as a busy ensemble writes them: for benchmarks of the import.
//!
//! Applications keep locks with Curator's names, and other data. Of 100 transactions, about 64
//! create and delete contenders, 20 write a status of 200 to 1,000 bytes, 6 begin or end a session
//! with a contender of its own, 6 are refused, and 4 create and delete other nodes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use adler2::adler32_slice;
use lockscope_base::wire::{ErrorCode, Writer, op};

/// The locks of each application.
const LOCKS: usize = 20;

/// The transactions in each log: `snapCount` of the sample configuration.
const IN_EACH_LOG: u64 = 100_000;

/// The transactions in each second.
const PER_SECOND: i64 = 1_000;

/// The time of the first transaction.
const BEGAN_AT: i64 = 1_777_601_400_000;

/// How much is going on.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of applications, each with its locks below `/apps/NUMBER`.
    pub applications: usize,
    /// The number of contenders for each lock.
    pub contenders: usize,
}

impl Load {
    /// Returns the root of one application.
    pub fn root(application: usize) -> String {
        format!("/apps/{application:04}")
    }

    /// Writes logs with about so many bytes into a folder. Returns the number of transactions.
    pub fn write(self, folder: &Path, bytes: u64) -> io::Result<u64> {
        let mut ensemble = Ensemble::new(self);
        let (mut written, mut in_log, mut log) = (0, 0, new_log(folder, 1)?);
        while written < bytes || !ensemble.has_all() {
            if in_log == IN_EACH_LOG {
                log.flush()?;
                (in_log, log) = (0, new_log(folder, ensemble.zxid + 1)?);
            }
            ensemble.next();
            log.write_all(&ensemble.record)?;
            written += ensemble.record.len() as u64;
            in_log += 1;
        }
        log.flush()?;
        Ok(ensemble.zxid.unsigned_abs())
    }
}

fn new_log(folder: &Path, first: i64) -> io::Result<BufWriter<File>> {
    let mut log = BufWriter::with_capacity(1 << 20, File::create_new(folder.join(format!("log.{first:x}")))?);
    log.write_all(&[&b"ZKLG\0\0\0\x02"[..], &[0; 8]].concat())?;
    Ok(log)
}

struct Lock {
    path: String,
    /// The number of contenders that came.
    ever: i32,
    /// The contenders with their sessions.
    queue: VecDeque<(String, i64)>,
}

/// What the servers know.
struct Ensemble {
    load: Load,
    random: fastrand::Rng,
    zxid: i64,
    locks: Vec<Lock>,
    /// Nodes that are still to be created before the first contender comes.
    parents: VecDeque<(String, i32)>,
    /// The locks that have not all of their contenders yet.
    growing: usize,
    /// Sessions with one contender each, in these locks.
    visitors: VecDeque<(i64, usize)>,
    tasks: VecDeque<String>,
    entry: Vec<u8>,
    record: Vec<u8>,
}

impl Ensemble {
    fn new(load: Load) -> Self {
        let mut parents =
            VecDeque::from([("/apps".to_owned(), 1), ("/status".to_owned(), 2), ("/tasks".to_owned(), 3)]);
        let mut locks = Vec::new();
        for application in 0..load.applications {
            let root = Load::root(application);
            parents.push_back((root.clone(), 1));
            parents.push_back((format!("/status/{application:04}"), 1));
            for lock in 0..LOCKS {
                let path = format!("{root}/lock-of-part-{lock:02}");
                parents.push_back((path.clone(), 1));
                locks.push(Lock { path, ever: 0, queue: VecDeque::new() });
            }
        }
        Self {
            load,
            random: fastrand::Rng::with_seed(7),
            zxid: 0,
            locks,
            parents,
            growing: 0,
            visitors: VecDeque::new(),
            tasks: VecDeque::new(),
            entry: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Returns whether each lock has its contenders.
    fn has_all(&self) -> bool {
        self.growing == self.locks.len()
    }

    /// Makes the record of the next transaction.
    fn next(&mut self) {
        self.zxid += 1;
        if let Some((path, ever)) = self.parents.pop_front() {
            return self.creates(0x0100_0000_0000_0001, &path, b"", None, ever);
        }
        if let Some(lock) = self.locks.get(self.growing) {
            if lock.queue.len() + 1 >= self.load.contenders {
                self.growing += 1;
            }
            return self.comes(self.growing.min(self.locks.len() - 1), None);
        }
        match self.random.u8(..100) {
            0..64 => {
                let lock = self.random.usize(..self.locks.len());
                if self.locks[lock].queue.len() < self.load.contenders {
                    self.comes(lock, None);
                } else {
                    self.goes(lock);
                }
            }
            64..84 => self.sets(),
            84..90 => self.visits(),
            90..96 => self.is_refused(),
            _ => self.other_node(),
        }
    }

    fn client(&mut self) -> i64 {
        0x0100_002b_de40_0000 + self.random.i64(0..1_000)
    }

    /// A contender comes.
    fn comes(&mut self, lock: usize, session: Option<i64>) {
        let session = session.unwrap_or_else(|| self.client());
        let id = uuid::Builder::from_random_bytes(self.random.u128(..).to_ne_bytes()).into_uuid();
        let lock = &mut self.locks[lock];
        lock.ever += 1;
        let (path, ever) = (format!("{}/_c_{id}-lock-{:010}", lock.path, lock.ever - 1), lock.ever);
        lock.queue.push_back((path.clone(), session));
        self.creates(session, &path, b"10.0.4.170", Some(()), ever);
    }

    /// The first contender releases its lock, or sometimes another one leaves.
    fn goes(&mut self, lock: usize) {
        let queue = &mut self.locks[lock].queue;
        let at = if self.random.u8(..8) == 0 { self.random.usize(..queue.len()) } else { 0 };
        let (path, session) = queue.remove(at).expect("a contender");
        self.writes(session, 9, op::DELETE, |out| out.put_text(&path));
    }

    fn sets(&mut self) {
        let path = format!("/status/{:04}", self.random.usize(..self.load.applications));
        let data = [b'x'; 1_000];
        let (session, length) = (self.client(), self.random.usize(200..1_000));
        let version = i32::try_from(self.zxid).expect("small");
        self.writes(session, 9, op::SET_DATA, |out| {
            out.put_text(&path);
            out.put_buffer(Some(&data[..length]));
            out.put_int(version);
        });
    }

    /// A session begins, contends, and is closed or expires.
    fn visits(&mut self) {
        let is_next = self.visitors.front().is_some_and(|(_, lock)| *lock != usize::MAX);
        if self.visitors.len() >= 30 && is_next {
            let (session, lock) = self.visitors.pop_front().expect("a session");
            let queue = &mut self.locks[lock].queue;
            let at = queue.iter().position(|(_, owner)| *owner == session);
            let gone = at.and_then(|at| queue.remove(at));
            let cxid = self.random.i32(0..2);
            self.writes(session, cxid, op::CLOSE_SESSION, |out| {
                out.put_length(usize::from(gone.is_some()));
                if let Some((path, _)) = &gone {
                    out.put_text(path);
                }
            });
        } else if let Some(at) = self.visitors.iter().position(|(_, lock)| *lock == usize::MAX) {
            let lock = self.random.usize(..self.locks.len());
            self.visitors[at].1 = lock;
            let session = self.visitors[at].0;
            self.comes(lock, Some(session));
        } else {
            let session = 0x0100_0100_0000_0000 + self.zxid;
            self.visitors.push_back((session, usize::MAX));
            self.writes(session, 0, op::CREATE_SESSION, |out| out.put_int(30_000));
        }
    }

    fn is_refused(&mut self) {
        let session = self.client();
        self.writes(session, 9, op::ERROR, |out| out.put_int(ErrorCode::NodeExists.number()));
    }

    fn other_node(&mut self) {
        let session = self.client();
        if self.tasks.len() < 100 {
            let path = format!("/tasks/task-{:012}", self.zxid);
            self.tasks.push_back(path.clone());
            self.creates(session, &path, b"a task of some words, as they are", None, 1);
        } else {
            let path = self.tasks.pop_front().expect("a task");
            self.writes(session, 9, op::DELETE, |out| out.put_text(&path));
        }
    }

    fn creates(&mut self, session: i64, path: &str, data: &[u8], ephemeral: Option<()>, ever: i32) {
        self.writes(session, 9, op::CREATE, |out| {
            out.put_text(path);
            out.put_buffer(Some(data));
            out.put_int(1);
            out.put_int(31);
            out.put_text("world");
            out.put_text("anyone");
            out.put_bool(ephemeral.is_some());
            out.put_int(ever);
        });
    }

    /// Makes a record as servers of 3.6 and later write it, with a digest.
    fn writes(&mut self, session: i64, cxid: i32, kind: i32, body: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.entry;
        out.clear();
        out.put_long(session);
        out.put_int(cxid);
        out.put_long(self.zxid);
        out.put_long(BEGAN_AT + self.zxid * 1_000 / PER_SECOND);
        out.put_int(kind);
        body(out);
        out.put_int(2);
        out.put_long(self.zxid);
        self.record.clear();
        self.record.put_long(i64::from(adler32_slice(&self.entry)));
        self.record.put_buffer(Some(&self.entry));
        self.record.push(b'B');
    }
}
