//! The store's files, read without its code, the answers that it must give, and the storages that it is tested on.

pub mod changed;
pub mod layout;
pub mod sim;
pub mod state;
