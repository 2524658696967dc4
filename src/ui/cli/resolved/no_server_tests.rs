//! Tests of `no server`.

use std::sync::Arc;

use super::*;
use crate::cli::options::SharedOptions;
use crate::cli::resolved::Environment;
use lockscope_live::zk::Unreachable;

#[test]
fn advice_appears_only_when_no_server_was_named() {
    let options = ResolvedOptions::resolve(SharedOptions::default(), &Environment::default(), SharedOptions::default())
        .expect("valid defaults");
    let named = ResolvedOptions { connect_is_given: true, ..options.clone() };
    let away = || ConnectError::Unreachable(Unreachable::default());
    let errors: [fn(ConnectError) -> anyhow::Error; 2] =
        [anyhow::Error::new, |error| ContendError::Connect(Arc::new(error)).into()];
    for error in errors {
        let (hint, plain) = (options.explain(error(away())).to_string(), named.explain(error(away())).to_string());
        assert!(hint.contains("--connect") && hint.contains("lockscope demo"), "{hint}");
        assert_eq!(plain, error(away()).to_string());
    }
    let chroot = ConnectError::NoChroot { chroot: "/prod".to_owned() };
    assert!(!options.explain(chroot.into()).to_string().contains("lockscope demo"), "a server is there");
}
