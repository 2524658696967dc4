//! Writes the values of a frame.

/// Writes jute, ZooKeeper's own encoding.
pub trait Writer {
    /// Appends a boolean, in one byte.
    fn put_bool(&mut self, value: bool);
    /// Appends a number of four bytes.
    fn put_int(&mut self, value: i32);
    /// Appends a number of eight bytes.
    fn put_long(&mut self, value: i64);
    /// Appends the number of bytes or items that follow.
    fn put_length(&mut self, length: usize);
    /// Appends a length and these bytes; `None` has the length -1.
    fn put_buffer(&mut self, bytes: Option<&[u8]>);
    /// Appends a length and this text.
    fn put_text(&mut self, text: &str);
}

impl Writer for Vec<u8> {
    fn put_bool(&mut self, value: bool) {
        self.push(u8::from(value));
    }

    fn put_int(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_long(&mut self, value: i64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    /// Lengths stay below 2 GiB, because everything that is written arrived in frames.
    fn put_length(&mut self, length: usize) {
        self.put_int(i32::try_from(length).unwrap_or(i32::MAX));
    }

    fn put_buffer(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.put_int(-1),
            Some(bytes) => {
                self.put_length(bytes.len());
                self.extend_from_slice(bytes);
            }
        }
    }

    fn put_text(&mut self, text: &str) {
        self.put_buffer(Some(text.as_bytes()));
    }
}
