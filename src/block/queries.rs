//! Queries by key, and figures, with the same names for every form of a filter.

/// `key_queries! { impl<..> Type }`: queries by key and by entry, and figures of the payload, for a type that has
/// `entries`, a reference to its `EntryHasher`, `may_contain_hash`, `layout` and `payload`. A key that has no entry
/// under the transform is *maybe*.
macro_rules! key_queries {
    (impl<$parameter:tt $(: $bound:path)?> $Type:ty) => {
        impl<$parameter $(: $bound)?> $Type {
            /// Whether the table may contain `key`; `false` is certain. The transform is applied: `key` is what the
            /// engine's user looks up. A key that has no entry, such as one shorter than the prefix, or a key of one
            /// part where rows are entries, is *maybe*.
            // The usual case is compiled into the caller, who may know a key's length, which spares a call of the hash
            // function: a query of a blocked filter takes a tenth longer with one.
            #[must_use]
            #[inline(always)]
            pub fn may_contain(&self, key: &[u8]) -> bool {
                match self.entries().hash_plain(key) {
                    Some(hash) => self.may_contain_hash(hash),
                    None => self.may_contain_transformed(key),
                }
            }

            #[cold]
            #[inline(never)]
            fn may_contain_transformed(&self, key: &[u8]) -> bool {
                self.may_contain_any(self.entries().hash_key(key))
            }

            /// Whether the table may contain a key with the prefix that `key` begins with, of the transform's length.
            /// Where prefixes are no entries, or `key` is shorter, it is *maybe*.
            #[must_use]
            #[inline]
            pub fn may_contain_prefix(&self, key: &[u8]) -> bool {
                self.may_contain_any(self.entries().hash_prefix(key))
            }

            /// Whether the table may contain a cell of `row`. Where rows are no entries, it is *maybe*.
            #[must_use]
            #[inline]
            pub fn may_contain_row(&self, row: &[u8]) -> bool {
                self.may_contain_any(self.entries().hash_row(row))
            }

            /// Whether the table may contain the cell of `row` and `column`. Where the entries are rows, the answer is
            /// that for the row; where they are made of keys of one part, it is *maybe*.
            #[must_use]
            #[inline]
            pub fn may_contain_row_column(&self, row: &[u8], column: &[u8]) -> bool {
                self.may_contain_any(self.entries().hash_row_column(row, column))
            }

            /// Whether the filter may hold `entry`, which is what the transform makes of a key. For engines that apply
            /// it themselves: where `entry` is a key and the transform would have changed it, stored keys are denied.
            // Always: otherwise a query through the C interface makes a second call, of half a nanosecond.
            #[must_use]
            #[inline(always)]
            pub fn may_contain_entry(&self, entry: &[u8]) -> bool {
                self.may_contain_hash(self.entries().hash_entry(entry))
            }

            /// The most columns that queries compare of a key, for the kinds that have columns; see
            /// [`Self::limit_columns`].
            pub fn num_columns(&self) -> Option<u32> {
                self.layout.columns().map(|columns| columns.compared)
            }

            /// The most columns that the filter had of a key when it was built, if it was [thinned](Self::thin) since.
            pub fn thinned_from(&self) -> Option<u32> {
                self.layout.columns().and_then(|columns| columns.thinned_from)
            }

            /// Has queries compare no more than the first `columns` columns: the same answers as a
            /// [thinned](Self::thin) copy would give, without one. May be raised again, to the number of columns that
            /// are stored at most. A filter without entries has no columns, and is left as it is.
            ///
            /// # Errors
            /// [`ThinError`](crate::ThinError) for kinds that have no columns, and for a number that is 0 or above that
            /// of the columns stored.
            pub fn limit_columns(&mut self, columns: u32) -> Result<(), super::thin::ThinError> {
                super::thin::check(&self.layout, columns, 0)?;
                self.layout.limit_columns(columns);
                Ok(())
            }

            /// Probes made for a key, for the kinds that probe.
            pub fn num_probes(&self) -> Option<u32> {
                self.layout.num_probes(self.payload())
            }

            /// The rate at which absent keys pass, computed from the payload. Reads the whole payload.
            pub fn false_positive_rate(&self) -> f64 {
                self.layout.predicted_fpr(self.payload())
            }

            /// Share of the filter's bits that are set (golomb: of its range that is occupied). Reads the whole
            /// payload.
            pub fn fill(&self) -> f64 {
                self.layout.fill(self.payload())
            }

            /// A key without an entry is *maybe*.
            #[inline]
            fn may_contain_any(&self, hash: Option<KeyHash>) -> bool {
                hash.is_none_or(|hash| self.may_contain_hash(hash))
            }
        }
    };
}
pub(super) use key_queries;
