//! Limits the work of a scan.

use super::record::MAX_RECORD;

/// The bytes whose checksum a scan may compute for each byte that it passes.
const CHECKED_PER_BYTE: u64 = 16;

/// Limits the work that a file which is made on purpose can cause: bytes that begin like long
/// records at every place. When it is used up, such candidates are passed over. The few that chance
/// makes never use it up.
#[derive(Debug)]
pub struct Budget(pub u64);

impl Default for Budget {
    fn default() -> Self {
        Self(2 * MAX_RECORD as u64)
    }
}

impl Budget {
    /// Counts bytes that were passed.
    pub fn earn(&mut self, passed: usize) {
        self.0 = self.0.saturating_add(CHECKED_PER_BYTE * passed as u64);
    }

    /// Returns whether the checksum of this many bytes may be computed.
    pub fn pay(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length as u64);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Gives back what was paid for a record that is read next.
    pub fn repay(&mut self, length: usize) {
        self.0 = self.0.saturating_add(length as u64);
    }
}
