//! The format, from outside: bytes, answers, rates and damage, against an oracle that shares no code with the library.

mod agreement;
mod damage;
mod golden;
mod hashing;
mod material;
mod oracle;
mod policy;
mod rates;
mod spec;
mod union;
