//! Filter sets: lookups, damage, and the vectors of the format's document.

mod any_bytes;
mod damage;
mod document;
mod golden;
mod kit;
mod lookups;
mod mistakes;
mod misuse;
mod plain;
mod sample;
mod second_reader;
mod threads;
mod writers;
