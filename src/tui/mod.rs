//! The screen. STUB.
