//! A budget of memory for decoding.

use std::cell::Cell;

/// The memory that decoded values may take. Once it is exceeded, nothing more is decoded.
#[derive(Debug)]
pub(in crate::record) struct Budget {
    /// The remaining bytes.
    left: Cell<u64>,
    is_exceeded: Cell<bool>,
    /// Bytes of the value under construction that are stored inline, and are charged with its
    /// container.
    inline: Cell<usize>,
}

impl Budget {
    /// Creates a budget of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), is_exceeded: Cell::new(false), inline: Cell::new(0) }
    }

    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes memory from the budget. Returns whether there was enough.
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

    /// Returns whether more memory was requested than there was.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// Returns the inline size of the value under construction so far.
    pub(super) fn inline(&self) -> usize {
        self.inline.get()
    }

    /// Records a complete part of the value. The part has `size` bytes, or the size of its boxed
    /// content if that is larger. `before` is the inline size before the part.
    pub(super) fn put_inline(&self, before: usize, size: usize) {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before.saturating_add(parts.max(size)));
    }

    /// Removes a complete element that is stored outside of its container from the inline size, and
    /// returns its size.
    pub(super) fn take_apart(&self, before: usize, size: usize) -> u64 {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before);
        parts.max(size) as u64
    }

    /// Charges the inline size of a complete value. Returns whether there was enough memory.
    pub(super) fn charge_inline(&self) -> bool {
        self.charge(self.inline.take() as u64)
    }
}
