//! Queries by key, and figures, with the same names for every form of a filter.

/// `key_queries! { impl<..> Type }`: queries by key and by entry, and figures of the payload, for a type that has
/// `entries`, a reference to its `EntryHasher`, `may_contain_hash`, `layout` and `payload`. A key that has no entry
/// under the transform is *maybe*.
macro_rules! key_queries {
    (impl<$parameter:tt $(: $bound:path)?> $Type:ty) => {
        impl<$parameter $(: $bound)?> $Type {
            /// Returns whether the table may contain `key`; `false` is certain. The transform is applied: `key` is the
            /// key that the engine's user looks up. A key that has no entry, such as one shorter than the prefix, or a
            /// key of one part where rows are entries, is *maybe*.
            // The usual case is compiled into the caller, which may know a key's length; that saves a call of the hash
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

            /// Returns whether the table may contain a key that begins with `key`: by the prefix of `key` that the
            /// transform makes, which has its length, or ends with its delimiter. The answer is *maybe* if prefixes are
            /// not entries, or `key` is shorter, or has no delimiter.
            #[must_use]
            #[inline]
            pub fn may_contain_prefix(&self, key: &[u8]) -> bool {
                self.may_contain_any(self.entries().hash_prefix(key))
            }

            /// Returns whether the table may have what `query` names. A query that has no entry under the transform is
            /// *maybe*: [`Query`](crate::Query) has a table of them.
            ///
            /// ```
            /// use filterblock::{FilterBlockBuilder, FilterPolicy, OpenOptions, Query};
            /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
            /// let policy: FilterPolicy = "blocked:10,transform=row".parse()?;
            /// let mut builder = FilterBlockBuilder::new(&policy);
            /// builder.add_row(b"com.example/");
            /// let block = builder.finish()?;
            /// let filter = OpenOptions::new().expect(&policy).open(&block)?;
            /// assert!(filter.may_match(Query::Cell(b"com.example/", b"title")));
            /// assert!(!filter.may_match(Query::Row(b"org.example/")));
            /// assert!(filter.may_match(Query::Key(b"org.example/"))); // not a row, but a key of one part
            /// # Ok(())
            /// # }
            /// ```
            #[must_use]
            #[inline]
            pub fn may_match(&self, query: crate::query::Query<'_>) -> bool {
                self.may_contain_any(self.entries().hash_query(query))
            }

            /// Returns the greatest number of columns that queries compare for a key, for the kinds that have columns;
            /// see [`Self::limit_columns`].
            pub fn num_compared_columns(&self) -> Option<u32> {
                self.layout.columns().map(|columns| columns.compared)
            }

            /// Returns the greatest number of columns that the filter had for a key when it was built, if it was
            /// [thinned](Self::thin) since.
            pub fn thinned_from(&self) -> Option<u32> {
                self.layout.columns().and_then(|columns| columns.thinned_from)
            }

            /// Makes queries compare no more than the first `columns` columns: they answer like a [thinned](Self::thin)
            /// copy, without one. The limit may be raised again, up to the number of stored columns. A filter without
            /// entries has no columns, and is left as it is.
            ///
            /// # Errors
            /// [`ThinError`](crate::ThinError) for kinds that have no columns, and for a number that is 0 or above the
            /// number of stored columns.
            pub fn limit_columns(&mut self, columns: u32) -> Result<(), super::thin::ThinError> {
                super::thin::check(&self.layout, columns, 0)?;
                self.layout.limit_columns(columns);
                Ok(())
            }

            /// Returns the number of probes for a key, for the kinds that probe.
            pub fn num_probes(&self) -> Option<u32> {
                self.layout.num_probes(self.payload())
            }

            /// Returns the rate at which absent keys pass, computed from the whole payload.
            pub fn false_positive_rate(&self) -> f64 {
                self.layout.predicted_fpr(self.payload())
            }

            /// Returns the share of the filter's bits that are set (golomb: of its range that is occupied), computed
            /// from the whole payload.
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
