//! Tests of `stream`.

use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::*;

#[test]
fn config_addresses_of_this_machine_its_link_or_cloud_metadata_are_not_followed() {
    for (address, followed) in [
        ("10.0.0.7", true),
        ("192.168.1.7", true),
        ("203.0.113.7", true),
        ("fd00::7", true),
        ("2001:db8::7", true),
        ("127.0.0.1", false),
        ("127.9.9.9", false),
        ("::1", false),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("::", false),
        ("169.254.169.254", false),
        ("fe80::1", false),
        ("::ffff:169.254.169.254", false),
        ("::ffff:127.0.0.1", false),
        ("::169.254.169.254", false),
        ("64:ff9b::169.254.169.254", false),
        ("2002:a9fe:a9fe::", false),
        ("fd00:ec2::254", false),
        ("100.100.100.200", false),
        ("168.63.129.16", false),
        ("192.0.0.192", false),
        ("224.0.0.1", false),
        ("ff02::1", false),
        ("255.255.255.255", false),
    ] {
        assert_eq!(is_followed(address.parse().expect("an address"), false), followed, "{address}");
    }
    assert!(is_followed(Ipv4Addr::new(127, 0, 0, 2).into(), true));
    assert!(!is_followed(Ipv4Addr::new(169, 254, 169, 254).into(), true));
}

#[tokio::test]
async fn a_config_address_on_this_machine_is_called_only_when_the_ensemble_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("a bound listener").to_string();
    let away = NamedBy::Config { on_this_machine: false };
    for address in [&address, &address.replace("127.0.0.1", "localhost")] {
        assert!(matches!(call(address, away).await, Err(NotCalled::NotFollowed)), "{address}");
    }
    for named_by in [NamedBy::User, NamedBy::Config { on_this_machine: true }] {
        call(&address, named_by).await.expect("a listener");
    }
}

proptest! {
    #[test]
    fn no_way_to_write_a_link_local_or_loopback_address_is_followed(low in any::<u32>(), way in 0..4) {
        let four = Ipv4Addr::from(if way % 2 == 0 { 0xa9fe_0000 | low & 0xffff } else { 0x7f00_0000 | low & 0xff_ffff });
        let nat = Ipv6Addr::from(0x0064_ff9b_u128 << 96 | u128::from(u32::from(four)));
        for address in [IpAddr::V4(four), four.to_ipv6_mapped().into(), four.to_ipv6_compatible().into(), nat.into()] {
            prop_assert!(!is_followed(address, false), "{}", address);
        }
    }
}

async fn pair() -> (QuietStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    (QuietStream::new(near.expect("a connection")).expect("a socket"), far.expect("a connection").0)
}

#[tokio::test]
async fn data_before_during_and_after_a_read_is_read_in_order() {
    let (mut near, mut far) = pair().await;
    let mut three = [0; 3];
    far.write_all(b"one").await.expect("a reader");
    near.read_exact(&mut three).await.expect("written bytes");
    assert_eq!(&three, b"one");
    let (read, written) = tokio::join!(near.read_exact(&mut three), async {
        tokio::task::yield_now().await;
        far.write_all(b"two").await
    });
    read.and(written.map(|()| 3)).expect("no error");
    assert_eq!(&three, b"two");
    assert!(matches!(near.state, State::Unnoticed(_)), "nobody waits");
    far.write_all(b"end").await.expect("a reader");
    drop(far);
    let mut rest = Vec::new();
    near.read_to_end(&mut rest).await.expect("an end");
    assert_eq!(rest, b"end");
}

#[tokio::test]
async fn the_pieces_of_one_message_leave_together() {
    let (mut near, _far) = pair().await;
    let pieces = [IoSlice::new(b"certificate"), IoSlice::new(b"finished")];
    assert_eq!(near.write_vectored(&pieces).await.expect("a reader"), 19);
}

#[tokio::test]
async fn a_cancelled_read_loses_no_data() {
    let (mut near, mut far) = pair().await;
    let mut one = [0];
    assert!(timeout(Duration::from_millis(1), near.read_exact(&mut one)).await.is_err(), "there is nothing");
    far.write_all(b"x").await.expect("a reader");
    near.read_exact(&mut one).await.expect("written bytes");
    assert_eq!(&one, b"x");
}

#[tokio::test]
async fn a_waiting_write_continues_while_the_other_side_reads() {
    let (near, mut far) = pair().await;
    let (mut reads, mut writes) = tokio::io::split(near);
    let much = vec![7; 16 << 20];
    let sends = async { writes.write_all(&much).await.expect("a reader") };
    let echoes = async {
        let mut piece = vec![0; 64 << 10];
        let mut left = much.len();
        while left > 0 {
            left -= far.read(&mut piece).await.expect("a writer");
            far.write_all(b"!").await.expect("a reader");
        }
        far.shutdown().await.expect("an open connection");
    };
    let mut answers = Vec::new();
    let ((), (), read) = tokio::join!(sends, echoes, reads.read_to_end(&mut answers));
    assert!(read.expect("an end") >= much.len() / (64 << 10));
}

async fn refusal(files: TlsFiles) -> ConnectError {
    tls_connector(&files).await.err().expect("unusable files")
}

#[tokio::test]
async fn a_file_that_is_missing_or_holds_something_else_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing.pem");
    let error = refusal(TlsFiles { ca: missing, cert: None, key: None }).await;
    assert!(error.to_string().contains("missing.pem"), "{error}");
    assert!(error.is_permanent());

    let text = dir.path().join("text.pem");
    std::fs::write(&text, "hello").expect("written");
    let error = refusal(TlsFiles { ca: text, cert: None, key: None }).await;
    assert!(error.to_string().contains("no certificate of an authority"), "{error}");
}
