//! `lockscope import` on the files of real servers: what it says is what the clients did.

mod attempts;
mod damaged;
mod files;
mod fixture;
mod lives;
mod members;
mod merged;
mod oracle;
mod outage;
mod truth;
mod truth_at_size;
mod watched;
