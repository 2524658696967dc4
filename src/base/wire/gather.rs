//! Gathers bytes that arrive in pieces.

/// Gathers `N` bytes that arrive in pieces, such as a length or a head.
#[derive(Clone, Copy, Debug)]
pub struct Gather<const N: usize> {
    kept: [u8; N],
    have: usize,
}

impl<const N: usize> Default for Gather<N> {
    fn default() -> Self {
        Self { kept: [0; N], have: 0 }
    }
}

impl<const N: usize> Gather<N> {
    /// Moves the missing bytes off the front of `bytes`. Returns all `N` bytes once they are
    /// complete, and starts over.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (taken, rest) = bytes.split_at(self.missing().min(bytes.len()));
        self.kept[self.have..self.have + taken.len()].copy_from_slice(taken);
        (self.have, *bytes) = (self.have + taken.len(), rest);
        (self.have == N).then(|| {
            self.have = 0;
            self.kept
        })
    }

    /// Returns the number of missing bytes.
    pub fn missing(&self) -> usize {
        N - self.have
    }

    /// Returns whether some of the bytes have arrived, but not all.
    pub fn has_begun(&self) -> bool {
        self.have > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_pieces_of_any_size_are_returned_once_they_are_complete() {
        let said: Vec<u8> = (0..12).collect();
        for size in 1..=said.len() {
            let (mut gather, mut found) = (Gather::<4>::default(), Vec::new());
            for mut piece in said.chunks(size) {
                while !piece.is_empty() {
                    found.extend(gather.take(&mut piece));
                }
            }
            assert_eq!(found, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], "{size}");
            assert!(!gather.has_begun());
            assert_eq!(gather.take(&mut &said[..3]), None);
            assert!(gather.has_begun() && gather.missing() == 1);
        }
    }
}
