//! Advice on naming servers, when none were named and there is no session.

use super::resolved::ResolvedOptions;
use lockscope_lab::contend::ContendError;
use lockscope_live::zk::ConnectError;

const NAME_A_SERVER: &str =
    "; no server was named: name one with --connect or ZOOKEEPER_CONNECT, or try `lockscope demo`, which needs none";

impl ResolvedOptions {
    /// Returns the advice when the servers of these options give no session; empty when servers
    /// were named.
    pub(super) fn how_to_name_servers(&self) -> &'static str {
        if self.connect_is_given { "" } else { NAME_A_SERVER }
    }

    /// Adds the advice to the error of a command, if the error is a missing session.
    pub(super) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let of_connecting = error.downcast_ref::<ConnectError>();
        let of_clients = || match error.downcast_ref::<ContendError>()? {
            ContendError::Connect(error) => Some(&**error),
            _ => None,
        };
        let found = of_connecting.or_else(of_clients);
        let is_away = matches!(found, Some(ConnectError::Unreachable(_) | ConnectError::TooLate { .. }));
        if is_away { anyhow::anyhow!("{error}{}", self.how_to_name_servers()) } else { error }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cli::options::SharedOptions;
    use crate::cli::resolved::Environment;
    use lockscope_live::zk::Unreachable;

    #[test]
    fn advice_appears_only_when_no_server_was_named() {
        let options =
            ResolvedOptions::resolve(SharedOptions::default(), &Environment::default(), SharedOptions::default())
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
}
