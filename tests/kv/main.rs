//! The store, through its public interface.

#[cfg(feature = "cli")]
mod adversary;
mod budget;
mod concurrent;
mod damage;
#[cfg(feature = "cli")]
mod demo;
mod durability;
mod files;
mod ledger;
mod model;
mod odd;
mod predicted;
mod prefix;
#[cfg(feature = "cli")]
mod report;
mod rows;
#[cfg(feature = "cli")]
mod zipfian;
