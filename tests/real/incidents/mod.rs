//! Public reports of trouble with locks and elections, played on a real server: by the library of
//! the report, or else by sessions that create its very nodes. `assets/docs/incidents.md` lists the
//! reports, what lockscope says about each, and its test here.

mod earlier_session;
mod fixture;
mod flaps;
mod leaderless;
mod missing;
mod own_nodes;
mod registrations;
mod restarts;
mod slow;
mod two_leaders;
