//! Parts that a storage engine embeds beside filter blocks: a [`ledger`] that counts what every filter saves, and a
//! [`budget`] of bytes that is divided among the filters of all tables.
//!
//! Both use only what the crate `filterblock` publishes.
#![forbid(unsafe_code)]

pub mod budget;
pub mod ledger;

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
