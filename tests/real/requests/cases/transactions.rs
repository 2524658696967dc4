//! Transactions that fail.

use lockscope_requests::Write;
use zookeeper_client::{CreateMode, Error, MultiWriteError};

use super::{Servers, TIMEOUT, assert_lost, count_children, create, node, reconnect};

pub async fn a_failed_transaction_tells_which_operation_failed<S: Servers>() {
    let servers = S::start(TIMEOUT).await;
    let client = servers.client();
    create(&*client, "/node").await;
    let new = Write::Create(node("/new", CreateMode::Persistent));
    for (fails, source) in [
        (Write::Check("/node", 1), Error::BadVersion),
        (Write::Create(node("/node", CreateMode::Persistent)), Error::NodeExists),
        (Write::Delete("/missing", None), Error::NoNode),
        (Write::SetData("/node", b"", Some(1)), Error::BadVersion),
    ] {
        for (index, writes) in [(0, [fails.clone(), new.clone()]), (1, [new.clone(), fails.clone()])] {
            let failed = client.write(&writes).await.expect_err("one operation fails");
            assert_eq!(failed, MultiWriteError::OperationFailed { index, source: source.clone() });
        }
    }
    assert_eq!(client.stat("/new").await, Ok(None));
    let done = client.write(&[Write::Check("/node", 0), new]).await.expect("nothing fails");
    assert_eq!(done.len(), 2);
}

pub async fn a_transaction_whose_reply_is_lost_fails_and_was_carried_out_once<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let client = servers.client();
    create(&*client, "/parent").await;
    servers.hold_reply();
    let new = Write::Create(node("/parent/n-", CreateMode::PersistentSequential));
    let lost = client.write(&[new.clone(), new]);
    servers.held().await;
    servers.cut().await;
    match lost.await {
        Err(MultiWriteError::RequestFailed { source }) => assert_lost::<()>(Err(source)),
        other => panic!("{other:?}"),
    }
    reconnect(&mut servers).await;
    assert_eq!(count_children(&*client, "/parent").await, 2);
}
