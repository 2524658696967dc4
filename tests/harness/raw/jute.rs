//! ZooKeeper's encoding, both ways. Reading panics on input that a server never sends.

/// Appends encoded values.
pub trait Jute {
    fn put_int(&mut self, value: i32) -> &mut Self;
    fn put_long(&mut self, value: i64) -> &mut Self;
    fn put_bool(&mut self, value: bool) -> &mut Self;
    fn put_buffer(&mut self, bytes: Option<&[u8]>) -> &mut Self;
    fn put_text(&mut self, text: &str) -> &mut Self;
    fn put_texts(&mut self, texts: &[&str]) -> &mut Self;
}

impl Jute for Vec<u8> {
    fn put_int(&mut self, value: i32) -> &mut Self {
        self.extend(value.to_be_bytes());
        self
    }

    fn put_long(&mut self, value: i64) -> &mut Self {
        self.extend(value.to_be_bytes());
        self
    }

    fn put_bool(&mut self, value: bool) -> &mut Self {
        self.push(u8::from(value));
        self
    }

    fn put_buffer(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        self.put_int(bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).expect("a short one")));
        self.extend(bytes.unwrap_or_default());
        self
    }

    fn put_text(&mut self, text: &str) -> &mut Self {
        self.put_buffer(Some(text.as_bytes()))
    }

    fn put_texts(&mut self, texts: &[&str]) -> &mut Self {
        self.put_int(i32::try_from(texts.len()).expect("a short list"));
        for text in texts {
            self.put_text(text);
        }
        self
    }
}

/// The unread rest of a frame.
#[derive(Clone, Debug)]
pub struct Body<'a>(pub &'a [u8]);

/// A node's stat as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
    pub pzxid: i64,
}

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(count).expect("a whole frame");
        self.0 = rest;
        taken
    }

    pub fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().expect("four bytes"))
    }

    pub fn long(&mut self) -> i64 {
        i64::from_be_bytes(self.take(8).try_into().expect("eight bytes"))
    }

    pub fn bool(&mut self) -> bool {
        self.take(1) == [1]
    }

    pub fn buffer(&mut self) -> Option<&'a [u8]> {
        usize::try_from(self.int()).ok().map(|length| self.take(length))
    }

    pub fn text(&mut self) -> String {
        self.buffer().map_or_else(|| "(none)".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.int()).map(|_| item(self)).collect()
    }

    pub fn stat(&mut self) -> Stat {
        Stat {
            czxid: self.long(),
            mzxid: self.long(),
            ctime: self.long(),
            mtime: self.long(),
            version: self.int(),
            cversion: self.int(),
            aversion: self.int(),
            ephemeral_owner: self.long(),
            data_length: self.int(),
            num_children: self.int(),
            pzxid: self.long(),
        }
    }
}
