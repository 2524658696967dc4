//! The transport between the client library and the servers: who may use it, and its errors when
//! there is no session.

mod broken;
mod causes;
mod strangers;
