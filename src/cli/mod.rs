//! Arguments, and one file for each headless subcommand. STUB.
