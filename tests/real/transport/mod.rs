//! What stands between the client library and the servers: who may use it.

mod strangers;
