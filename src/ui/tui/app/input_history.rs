//! A history of typed lines.

use std::collections::VecDeque;

/// Maximum lines of one history. Further lines replace the oldest.
const MAX_LINES: usize = 100;

/// Typed lines, the newest last, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputHistory(VecDeque<String>);

impl InputHistory {
    pub fn remember(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.0.retain(|known| known != line);
        self.0.push_back(line.to_owned());
        if self.0.len() > MAX_LINES {
            self.0.pop_front();
        }
    }

    /// The line that was typed `back` lines before the newest one; 0 is the newest one.
    pub fn recall(&self, back: usize) -> Option<&str> {
        let at = self.0.len().checked_sub(back + 1)?;
        self.0.get(at).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_line_becomes_the_newest_and_the_oldest_are_dropped() {
        let mut history = InputHistory::default();
        for line in ["a", "b", "a", ""] {
            history.remember(line);
        }
        assert_eq!((history.recall(0), history.recall(1), history.recall(2)), (Some("a"), Some("b"), None));
        for line in 0..500 {
            history.remember(&line.to_string());
        }
        assert_eq!(history.recall(0), Some("499"));
        assert_eq!((history.recall(99), history.recall(100)), (Some("400"), None));
    }
}
