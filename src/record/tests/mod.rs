//! What is recorded, and what is read of it.

mod exactness;
mod fixture;
