//! A row/column store that lives from filter blocks.
