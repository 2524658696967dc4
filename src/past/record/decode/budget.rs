//! How much memory may be taken.

use std::cell::Cell;

/// Memory that decoded values may take. Once it is exceeded, nothing more is decoded.
#[derive(Debug)]
pub(in crate::record) struct Budget {
    /// In bytes.
    left: Cell<u64>,
    is_exceeded: Cell<bool>,
    /// Bytes of the value under construction that stand within it, and are charged with what holds it.
    inline: Cell<usize>,
}

impl Budget {
    /// One of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), is_exceeded: Cell::new(false), inline: Cell::new(0) }
    }

    /// How many bytes are left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes memory. Whether there was so much.
    pub fn charge(&self, bytes: u64) -> bool {
        match self.left.get().checked_sub(bytes) {
            Some(left) if !self.is_exceeded.get() => {
                self.left.set(left);
                true
            }
            _ => {
                self.is_exceeded.set(true);
                false
            }
        }
    }

    /// Whether more was to be taken than there was.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// What stands in the value under construction so far.
    pub(super) fn inline(&self) -> usize {
        self.inline.get()
    }

    /// Notes that a part of the value is whole, which is `size` bytes large or as large as what it boxes; `before` stood there before it.
    pub(super) fn put_inline(&self, before: usize, size: usize) {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before.saturating_add(parts.max(size)));
    }

    /// An element is whole that lies apart from what holds it: it is no part of that any more. Answers its size.
    pub(super) fn take_apart(&self, before: usize, size: usize) -> u64 {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before);
        parts.max(size) as u64
    }

    /// A value is whole: charges what stands in it. Whether there was so much.
    pub(super) fn settle(&self) -> bool {
        self.charge(self.inline.take() as u64)
    }
}
