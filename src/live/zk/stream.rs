//! A connection to a server, plain or over TLS.

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}
