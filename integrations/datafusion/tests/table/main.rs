//! Tables with a set answer as without one, whatever the set's bytes are.

#[path = "../../examples/needles/counting.rs"]
mod counting;
mod doubts;
mod lake;
mod late;
mod loud;
mod queries;
mod requests;
mod values;
mod writers;
