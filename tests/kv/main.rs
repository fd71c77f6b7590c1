//! The store, through its public interface.

mod damage;
#[cfg(feature = "cli")]
mod demo;
mod faulty;
mod files;
mod ledger;
mod model;
