//! Gathers what comes in pieces.

/// Bytes of a fixed number that come in pieces, as a length or a head does. Keeps no more than them.
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
    /// Takes what is missing off the front of `bytes`. Gives all bytes when none is missing any more, and begins anew then.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (taken, rest) = bytes.split_at(self.missing().min(bytes.len()));
        self.kept[self.have..self.have + taken.len()].copy_from_slice(taken);
        (self.have, *bytes) = (self.have + taken.len(), rest);
        (self.have == N).then(|| {
            self.have = 0;
            self.kept
        })
    }

    /// How many bytes are missing.
    pub fn missing(&self) -> usize {
        N - self.have
    }

    /// Whether some bytes have come, but not all.
    pub fn has_begun(&self) -> bool {
        self.have > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_whatever_pieces_bytes_come_they_are_given_when_all_are_there() {
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
