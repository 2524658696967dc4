//! A server's answers to requests, from a small tree, and in what they may differ from right ones.

use lockscope_base::wire::{ErrorCode, Malformed, Reader, Writer, op};

use crate::scripted_peer::PeerState;

const TIME: i64 = 1_714_574_467_250;

/// In what an answer differs from the right one.
#[derive(Default)]
pub enum Twist {
    #[default]
    None,
    /// The request fails.
    Error(i32),
    /// The fields of stats whose bits are set have this number.
    Stat(u8, i32),
    /// Lists have another name this often.
    Names(u8, Vec<u8>),
    /// Nodes have as much data.
    Data(usize),
    /// Results of a transaction or of several reads are left out, doubled or of another kind.
    Results(u8),
    /// The answer goes on with these bytes.
    Trailing(Vec<u8>),
}

impl Twist {
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// A node of the server.
#[derive(Clone)]
pub struct PeerNode {
    czxid: i64,
    mzxid: i64,
    version: i32,
    owner: i64,
    data: Vec<u8>,
}

impl PeerNode {
    pub fn new(path: &str, czxid: i64) -> Self {
        let owner = if path.contains("lock-") || path.contains("lease-") || path.ends_with("held") { 7 } else { 0 };
        Self { czxid, mzxid: czxid, version: 0, owner, data: b"10.0.0.1".to_vec() }
    }

    pub fn write(&mut self, data: &[u8], zxid: i64) {
        (self.data, self.mzxid) = (data.to_vec(), zxid);
        self.version = self.version.wrapping_add(1);
    }
}

type Answered = Result<Vec<u8>, ErrorCode>;

/// Returns the error and the body of the answer to a request.
pub fn answer(state: &mut PeerState, operation: i32, body: &[u8], twist: &Twist) -> (i32, Vec<u8>) {
    if let Twist::Error(error) = twist {
        return (*error, Vec::new());
    }
    let mut from = Reader::new(body);
    let answered = match operation {
        op::MULTI => Ok(transaction(state, &mut from, twist)),
        op::MULTI_READ => Ok(reads(state, &mut from, twist)),
        _ => one(state, operation, &mut from, twist),
    };
    match answered {
        Ok(mut out) => {
            if let Twist::Trailing(bytes) = twist {
                out.extend(bytes);
            }
            (0, out)
        }
        Err(code) => (code.number(), Vec::new()),
    }
}

fn one(state: &mut PeerState, operation: i32, from: &mut Reader<'_>, twist: &Twist) -> Answered {
    let path = match operation {
        op::AUTH | op::SET_WATCHES | op::SET_WATCHES2 | op::PING | op::WHO_AM_I => String::new(),
        _ => from.text().ok().flatten().unwrap_or_default().into_owned(),
    };
    let mut out = Vec::new();
    match operation {
        op::EXISTS => put_stat(&mut out, state, &path, twist)?,
        op::GET_DATA => {
            let node = state.nodes.get(path.as_str()).ok_or(ErrorCode::NoNode)?;
            match twist {
                Twist::Data(length) => out.put_buffer(Some(&vec![b'x'; *length])),
                _ => out.put_buffer(Some(&node.data)),
            }
            put_stat(&mut out, state, &path, twist)?;
        }
        op::GET_CHILDREN | op::GET_CHILDREN2 => {
            put_names(&mut out, state, &path, twist)?;
            if operation == op::GET_CHILDREN2 {
                put_stat(&mut out, state, &path, twist)?;
            }
        }
        op::SET_DATA | op::DELETE | op::CHECK => write(state, operation, &path, from, &mut out, twist)?,
        op::CREATE | op::CREATE2 => {
            state.writes.push((operation, path.clone()));
            return Err(ErrorCode::NodeExists);
        }
        op::SYNC => out.put_text(&path),
        op::GET_ACL => {
            out.put_int(1);
            out.put_int(31);
            out.put_text("world");
            out.put_text("anyone");
            put_stat(&mut out, state, &path, twist)?;
        }
        op::GET_ALL_CHILDREN_NUMBER => out.put_int(i32::try_from(state.nodes.len()).expect("a few")),
        op::WHO_AM_I => out.put_int(0),
        _ => {}
    }
    Ok(out)
}

fn write(
    state: &mut PeerState,
    operation: i32,
    path: &str,
    from: &mut Reader<'_>,
    out: &mut Vec<u8>,
    twist: &Twist,
) -> Result<(), ErrorCode> {
    let malformed = |_: Malformed| ErrorCode::MarshallingError;
    let data = match operation {
        op::SET_DATA => from.buffer().map_err(malformed)?.unwrap_or_default().to_vec(),
        _ => Vec::new(),
    };
    let version = from.int().map_err(malformed)?;
    if operation != op::CHECK {
        state.writes.push((operation, path.to_owned()));
    }
    let zxid = state.zxid + 1;
    let has_children = !names(state, path).is_empty();
    let node = state.nodes.get_mut(path).ok_or(ErrorCode::NoNode)?;
    if version != -1 && version != node.version {
        return Err(ErrorCode::BadVersion);
    }
    match operation {
        op::SET_DATA => node.write(&data, zxid),
        op::DELETE if has_children => return Err(ErrorCode::NotEmpty),
        op::DELETE => drop(state.nodes.remove(path)),
        _ => return Ok(()),
    }
    state.zxid = zxid;
    if operation == op::SET_DATA { put_stat(out, state, path, twist) } else { Ok(()) }
}

/// Carries out a transaction. Returns its results.
fn transaction(state: &mut PeerState, from: &mut Reader<'_>, twist: &Twist) -> Vec<u8> {
    let before = state.nodes.clone();
    let mut results = Vec::new();
    let mut failed = None;
    while let Some(operation) = next_operation(from) {
        // The arguments of what comes after a failure are not read, as its results are not.
        match one(state, operation, from, twist) {
            Ok(body) => results.push((operation, body)),
            Err(code) => {
                failed = Some(code);
                break;
            }
        }
    }
    let Some(code) = failed else { return put_results(results, twist) };
    state.nodes = before;
    let mut errors = vec![(op::ERROR, 0_i32.to_be_bytes().to_vec()); results.len()];
    errors.push((op::ERROR, code.number().to_be_bytes().to_vec()));
    while let Some(operation) = next_operation(from) {
        let _ = skip(operation, from);
        errors.push((op::ERROR, ErrorCode::RuntimeInconsistency.number().to_be_bytes().to_vec()));
    }
    put_results(errors, twist)
}

fn skip(operation: i32, from: &mut Reader<'_>) -> Result<(), Malformed> {
    from.buffer()?;
    if operation == op::SET_DATA {
        from.buffer()?;
    }
    from.int().map(drop)
}

fn reads(state: &mut PeerState, from: &mut Reader<'_>, twist: &Twist) -> Vec<u8> {
    let mut results = Vec::new();
    while let Some(operation) = next_operation(from) {
        let result = match one(state, operation, from, twist) {
            Ok(body) => (operation, body),
            Err(code) => (op::ERROR, code.number().to_be_bytes().to_vec()),
        };
        let _ = from.bool();
        results.push(result);
    }
    put_results(results, twist)
}

/// Reads the head of the next part of a request with several; `None` at its end.
fn next_operation(from: &mut Reader<'_>) -> Option<i32> {
    let (operation, is_end, _) = (from.int().ok()?, from.bool().ok()?, from.int().ok()?);
    (!is_end).then_some(operation)
}

fn put_results(mut results: Vec<(i32, Vec<u8>)>, twist: &Twist) -> Vec<u8> {
    if let Twist::Results(choice) = twist {
        let at = usize::from(choice >> 3) % results.len().max(1);
        match choice % 8 {
            0 => drop(results.pop()),
            1 => results.extend(results.last().cloned()),
            2 => results.reverse(),
            3 => results.clear(),
            4 => results[at..].iter_mut().take(1).for_each(|result| *result = (op::DELETE, Vec::new())),
            5 => results[at..].iter_mut().take(1).for_each(|result| *result = (op::ERROR, vec![0xff; 4])),
            6 => results[at..].iter_mut().take(1).for_each(|result| *result = (op::CHECK, Vec::new())),
            _ => results[at..].iter_mut().take(1).for_each(|result| *result = (op::GET_CHILDREN, vec![0; 4])),
        }
    }
    let mut out = Vec::new();
    for (operation, body) in results {
        out.put_int(operation);
        out.put_bool(false);
        out.put_int(if operation == op::ERROR { -1 } else { 0 });
        out.extend(body);
    }
    out.put_int(op::ERROR);
    out.put_bool(true);
    out.put_int(-1);
    out
}

/// Returns the names of a node's children.
fn names<'a>(state: &'a PeerState, path: &str) -> Vec<&'a str> {
    let above = if path == "/" { "" } else { path };
    let name = |child: &&'a str| child.strip_prefix(above)?.strip_prefix('/').filter(|name| !name.is_empty());
    state.nodes.keys().filter_map(|child| name(child)).filter(|name| !name.contains('/')).collect()
}

fn put_names(out: &mut Vec<u8>, state: &PeerState, path: &str, twist: &Twist) -> Result<(), ErrorCode> {
    if !state.nodes.contains_key(path) {
        return Err(ErrorCode::NoNode);
    }
    let mut names: Vec<&[u8]> = names(state, path).into_iter().map(str::as_bytes).collect();
    if let Twist::Names(count, name) = twist {
        names.extend(vec![&name[..]; usize::from(*count)]);
    }
    out.put_length(names.len());
    names.iter().for_each(|name| out.put_buffer(Some(name)));
    Ok(())
}

fn put_stat(out: &mut Vec<u8>, state: &PeerState, path: &str, twist: &Twist) -> Result<(), ErrorCode> {
    let node = state.nodes.get(path).ok_or(ErrorCode::NoNode)?;
    let (bits, number) = if let Twist::Stat(bits, number) = twist { (*bits, *number) } else { (0, 0) };
    let long = |bit: u8, right: i64| if bits & bit == 0 { right } else { i64::from(number) << 32 | 5 };
    let int = |bit: u8, right: i32| if bits & bit == 0 { right } else { number };
    let count = |length: usize| i32::try_from(length).expect("a few");
    out.put_long(long(1, node.czxid));
    out.put_long(long(2, node.mzxid));
    out.put_long(long(4, TIME));
    out.put_long(long(4, TIME));
    out.put_int(int(8, node.version));
    out.put_int(int(16, 0));
    out.put_int(int(16, 0));
    out.put_long(long(32, node.owner));
    out.put_int(int(64, count(node.data.len())));
    out.put_int(int(128, count(names(state, path).len())));
    out.put_long(long(2, node.czxid));
    Ok(())
}
