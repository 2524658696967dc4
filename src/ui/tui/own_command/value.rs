//! The values of a row that a command can be given, and which are refused.

use crate::tui::screen::Screen;

/// The longest value, in bytes: longer ones are refused.
pub const MAX_VALUE_BYTES: usize = 4096;

/// A value that a command can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnValue {
    /// The path of the selected lock or node.
    Path,
    /// The session that owns the selected row, as `0x` and hex digits.
    Session,
    /// The address of that session's client, as the servers report it, without its port.
    ClientHost,
    /// The name of the context.
    Context,
}

impl OwnValue {
    pub const ALL: [Self; 4] = [Self::Path, Self::Session, Self::ClientHost, Self::Context];

    /// Returns the name in the config file, with its braces.
    pub const fn place(self) -> &'static str {
        match self {
            Self::Path => "{path}",
            Self::Session => "{session}",
            Self::ClientHost => "{client_host}",
            Self::Context => "{context}",
        }
    }

    /// Returns the name of the environment variable of a shell.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Path => "LOCKSCOPE_PATH",
            Self::Session => "LOCKSCOPE_SESSION",
            Self::ClientHost => "LOCKSCOPE_CLIENT_HOST",
            Self::Context => "LOCKSCOPE_CONTEXT",
        }
    }

    const fn why_unknown(self) -> &'static str {
        match self {
            Self::Path => "this row has no node",
            Self::Session => "no session belongs to this row",
            Self::ClientHost => "the servers do not report it",
            Self::Context => "no context of the config file is in force",
        }
    }

    /// Returns whether rows of a screen can have the value.
    pub fn is_on(self, screen: Screen) -> bool {
        let has_sessions = matches!(
            screen,
            Screen::Locks
                | Screen::Queue
                | Screen::Sessions
                | Screen::Session
                | Screen::Waits
                | Screen::Timeline
                | Screen::History
        );
        match self {
            Self::Path if matches!(screen, Screen::Audit | Screen::Node) => true,
            Self::Path => has_sessions && !matches!(screen, Screen::Sessions | Screen::Waits),
            Self::Session | Self::ClientHost => has_sessions,
            Self::Context => true,
        }
    }
}

/// The values of the selected row; `None` where a value is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnValues {
    pub path: Option<String>,
    pub session: Option<String>,
    pub client_host: Option<String>,
    pub context: Option<String>,
}

impl OwnValues {
    fn get(&self, value: OwnValue) -> Option<&str> {
        let known = match value {
            OwnValue::Path => &self.path,
            OwnValue::Session => &self.session,
            OwnValue::ClientHost => &self.client_host,
            OwnValue::Context => &self.context,
        };
        known.as_deref().filter(|known| !known.is_empty())
    }
}

/// Returns the host of an address such as `10.0.0.7:40312` or `[::1]:40312`.
pub fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns a value that may be given to a program; the error says why it may not.
pub fn known(value: OwnValue, values: &OwnValues) -> Result<&str, String> {
    let place = value.place();
    let known = values.get(value).ok_or_else(|| format!("{place} is not known here: {}", value.why_unknown()))?;
    if let Some(letter) = known.chars().find(|letter| letter.is_control()) {
        return Err(format!("{place} has the control character U+{:04X} in it", u32::from(letter)));
    }
    if known.len() > MAX_VALUE_BYTES {
        return Err(format!("{place} is longer than {MAX_VALUE_BYTES} bytes"));
    }
    Ok(known)
}

pub fn like_an_option(value: OwnValue, known: &str) -> String {
    format!("{} is `{known}`, which begins with a dash: the program would take it for an option", value.place())
}
