//! Test clients on a real server: what they count, what is done to them, and what they leave.

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
