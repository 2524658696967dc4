//! Servers that violate the protocol.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::headless::program::{lockscope, run};

/// Returns the answer to a request with this xid.
type Answer = fn(i32) -> Vec<u8>;

/// Starts a server that grants a session and answers heartbeats; `answer` produces the answers to
/// all other requests from their xids. The connection stays open. The server ends with the test's
/// process.
fn server(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream, answer));
        }
    });
    at
}

fn serve(mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
    let mut first = true;
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
        stream.read_exact(&mut frame)?;
        let xid = i32::from_be_bytes(frame[..4].try_into().expect("four bytes"));
        let said = if first {
            let mut greeting = vec![0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0x27, 0x10, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 16];
            greeting.extend([5; 17]);
            greeting[40] = 0;
            greeting
        } else if xid == -2 {
            reply(xid, &[])
        } else {
            answer(xid)
        };
        first = false;
        stream.write_all(&said)?;
    }
}

fn reply(xid: i32, body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(16 + body.len()).expect("it is short");
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(xid.to_be_bytes());
    frame.extend([0; 12]);
    frame.extend(body);
    frame
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_violates_the_protocol_is_named_in_one_sentence_with_the_violation() {
    let cases: [(Answer, &str); 6] = [
        (|_| vec![0x7f, 0xff, 0xff, 0xff], "sent a reply of 2147483647 bytes, more than the bound of 64 MiB"),
        (|_| vec![0xff; 4], "sent a reply of negative length (-1)"),
        (|xid| reply(xid + 1000, &[]), "answered a request that was never sent"),
        (|xid| reply(xid, &[0; 3])[..].to_vec(), "cut a reply short"),
        (|xid| reply(xid, &10_000_000_i32.to_be_bytes()), "sent a list of 10000000 names, more than the bound"),
        (|_| reply(-1, &[0, 0, 0, 9, 0, 0, 0, 3]), "sent a reply with an impossible value (9)"),
    ];
    for (answer, sentence) in cases {
        let at = server(answer);
        let reported =
            run(lockscope(&["snapshot", "--connect", &at, "--server-view", "off", "--timeout", "3s"])).await.refused();
        assert!(reported.contains(&format!("{at} {sentence}")), "{sentence:?} is not in: {reported}");
        assert!(!reported.contains("silent"), "{reported}");
    }
}
