//! Answers that break the protocol, or nearly do.

/// The next answer of the server, and whether the connection closes after it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The pieces of the answer, each written on its own.
    pub(super) parts: Vec<Vec<u8>>,
    pub(super) closes: bool,
}

/// Returns the body of a valid answer to an operation.
fn right(operation: i32) -> Vec<u8> {
    let text = |text: &str| [&u32::try_from(text.len()).expect("short").to_be_bytes()[..], text.as_bytes()].concat();
    let names = || [&3_u32.to_be_bytes()[..], &text("a"), &text("lock-0000000001"), &text("\u{20ac}")].concat();
    let stat = [1_u8; 68];
    let result = |op: i32, done: u8| [&op.to_be_bytes()[..], &[done], &(-1_i32).to_be_bytes()].concat();
    match operation {
        1 | 9 => text("/a"),
        15 => [text("/a"), stat.to_vec()].concat(),
        3 | 5 => stat.to_vec(),
        4 => [text("some data"), stat.to_vec()].concat(),
        6 => [&1_u32.to_be_bytes()[..], &31_u32.to_be_bytes(), &text("world"), &text("anyone"), &stat].concat(),
        8 => names(),
        12 => [names(), stat.to_vec()].concat(),
        14 => [result(13, 0), result(5, 0), stat.to_vec(), result(-1, 1)].concat(),
        22 => [result(4, 0), text("d"), stat.to_vec(), result(8, 0), names(), result(-1, 1)].concat(),
        107 => [&1_u32.to_be_bytes()[..], &text("digest"), &text("bob")].concat(),
        _ => Vec::new(),
    }
}

pub(super) fn frame(xid: i32, error: i32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).expect("short");
    [&length.to_be_bytes()[..], &xid.to_be_bytes(), &7_i64.to_be_bytes(), &error.to_be_bytes(), body].concat()
}

/// Values for the places of lengths and counts.
pub(super) const ODD: [i32; 10] = [-1, -2, i32::MIN, i32::MAX, 10_000_000, 1 << 26, (1 << 26) + 1, 1 << 24, 0, 255];

pub(super) fn garbage(chance: &mut fastrand::Rng) -> Vec<u8> {
    let length = chance.usize(1..200);
    std::iter::repeat_with(|| chance.u8(..)).take(length).collect()
}

pub(super) fn malformed(chance: &mut fastrand::Rng, xid: i32, operation: i32) -> Said {
    let body = right(operation);
    let mut whole = frame(xid, 0, &body);
    let odd = |chance: &mut fastrand::Rng| ODD[chance.usize(..ODD.len())];
    let mut closes = false;
    match chance.u8(..13) {
        // Cut short, with a matching length or with the end of the connection.
        0 | 1 => whole = frame(xid, 0, &body[..chance.usize(..=body.len().saturating_sub(1))]),
        2 => (closes, whole) = (true, whole[..chance.usize(1..whole.len())].to_vec()),
        3 => whole[..4].copy_from_slice(&odd(chance).to_be_bytes()),
        4 | 5 => {
            let at = 20 + 4 * chance.usize(..=body.len() / 4);
            if at + 4 <= whole.len() {
                whole[at..at + 4].copy_from_slice(&odd(chance).to_be_bytes());
            } else {
                whole.push(0);
                whole[3] += 1;
            }
        }
        6 => whole = frame(*[xid + 1, xid - 1, 0, -3, -2, -1, i32::MAX].get(chance.usize(..7)).expect("one"), 0, &body),
        7 => whole = frame(xid, *[1, -999, i32::MIN, i32::MAX].get(chance.usize(..4)).expect("one"), &body),
        8 => whole = garbage(chance),
        9 => {
            if !body.is_empty() {
                whole[20 + chance.usize(..body.len())] = chance.u8(..);
            }
            closes = true;
        }
        10 => whole = frame(-1, 0, &[&chance.i32(-1..7).to_be_bytes()[..], &odd(chance).to_be_bytes(), &body].concat()),
        11 if chance.u8(..8) == 0 => return Said { parts: Vec::new(), closes: false },
        11 => whole = frame(xid, *[0, -1, -101, -199].get(chance.usize(..4)).expect("one"), &body),
        _ => whole = frame(xid, 0, &[&body[..], &[0, 0, 0, 1, 0xff]].concat()),
    }
    // The client waits for the rest of a frame that announces more bytes than arrive. Nine in ten
    // of these end with the connection.
    let announced = whole.first_chunk().map_or(0, |head| i32::from_be_bytes(*head));
    let waits = usize::try_from(announced).is_ok_and(|length| length + 4 > whole.len());
    closes |= waits && chance.u8(..10) > 0;
    let cut = chance.usize(..=whole.len());
    let (one, other) = whole.split_at(cut);
    Said { parts: vec![one.to_vec(), other.to_vec()], closes }
}
