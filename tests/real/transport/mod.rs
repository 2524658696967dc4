//! What stands between the client library and the servers: who may use it, and what it says when there is no session.

mod broken;
mod causes;
mod strangers;
