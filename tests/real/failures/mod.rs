//! The troubles of operators with stuck locks, caused by real clients on a real server. Each is
//! found, and the finding clears once the trouble is removed. Healthy clients raise no findings.

mod dead;
mod expired;
pub mod fixture;
pub mod forgotten;
mod healthy;
mod hidden;
mod many_ways;
mod members;
mod returned;
mod tree;
mod unheld;
mod waiting;
