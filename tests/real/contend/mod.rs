//! Test clients on a real server: their counts, the commands on them, and what they leave behind.

mod adding_up;
mod faults;
mod fixture;
mod picture_fixture;
mod pictured;
mod pictured_faults;
mod places;
mod step_fixture;
mod stepped;
mod stepped_faults;
