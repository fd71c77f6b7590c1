/* filterblock: the filter block of an LSM storage engine.
 *
 * For C99, C++11 and later. Made by cbindgen from the crate filterblock-capi: change it there.
 *
 * The rules of every call:
 *
 * 1. A pointer to bytes, keys or answers is valid for the length that is given with it; a null pointer with the length
 *    0 is an empty slice. A pointer to a result is null or valid for writes. Handles are null, or come from the call
 *    that makes them and have not been freed. A structure that begins with `size` is valid for that many bytes.
 * 2. A reader borrows its block, unless it is opened with FILTERBLOCK_OPEN_COPY: the bytes outlive it and do not
 *    change.
 * 3. Readers, counters and policies may be used by several threads at once, until one changes or frees them. A builder
 *    belongs to one thread.
 * 4. Functions that the caller passes neither throw nor jump out, and call nothing with the builder or reader that they
 *    serve: one that is given up is cleared or freed after the call.
 * 5. Places for different results are different.
 *
 * What is broken and can be noticed is a status, or *maybe* (true): never a stored key denied.
 */

#ifndef FILTERBLOCK_H
#define FILTERBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of filter. */
#define FILTERBLOCK_KIND_BLOOM 1
#define FILTERBLOCK_KIND_BLOCKED 2
#define FILTERBLOCK_KIND_GOLOMB 3
#define FILTERBLOCK_KIND_RIBBON 4
#define FILTERBLOCK_KIND_FUSE 5

/* The one byte of the compact frame of no keys, under any policy. It denies every key: store it only where the engine
 * itself has counted none. */
#define FILTERBLOCK_COMPACT_EMPTY 0x10

/* Options with nothing expected, and the digest verified. */
#define FILTERBLOCK_OPEN_OPTIONS_INIT {sizeof(filterblock_open_options), 0, NULL, 0, 0}


// Version of this interface. It grows by one when a program compiled against the older header cannot use a newer
// library; functions and fields that are added leave it as it is.
#define FILTERBLOCK_ABI_VERSION 1

// The length of a message in bytes, its NUL included.
#define FILTERBLOCK_MESSAGE_SIZE 480

// The length in bytes of a reader in memory of the caller's that begins at a multiple of `FILTERBLOCK_READER_ALIGN`.
// Anywhere else, `FILTERBLOCK_READER_ALIGN - 1` more bytes are enough. Later versions of the library need no more.
#define FILTERBLOCK_READER_SIZE 640

// The alignment of a reader.
#define FILTERBLOCK_READER_ALIGN 64

// A flag that leaves out the payload's digest, for engines that verify the block's bytes themselves: opening takes
// constant time.
#define FILTERBLOCK_OPEN_TRUSTED 1

// A flag that has the reader own a copy of the bytes, which begins at a cache line: queries are fastest so.
#define FILTERBLOCK_OPEN_COPY 2

// The form of a range filter whose keys are cut where they differ from their neighbours. No rate holds for all ranges,
// unless nothing is cut off: then it is 0.
#define FILTERBLOCK_RANGE_FORM_CUT 1

// The form of a range filter whose keys are integers, with a rate.
#define FILTERBLOCK_RANGE_FORM_INTEGERS 2

// The finding that nothing was built, opened or queried: nothing is known about the filters yet.
#define FILTERBLOCK_FINDING_NO_LOOKUPS 1

// The finding that filters were built, and none was opened or queried.
#define FILTERBLOCK_FINDING_NEVER_OPENED 2

// The finding that filters were opened, and no query of one was counted.
#define FILTERBLOCK_FINDING_NEVER_QUERIED 4

// The finding that filters were not opened: each of their tables is read for every key.
#define FILTERBLOCK_FINDING_UNUSABLE 8

// The finding that a thousand queries or more were counted, and none was answered *no*.
#define FILTERBLOCK_FINDING_NEVER_DENIED 16

// The finding that filters could not be built: their tables have none.
#define FILTERBLOCK_FINDING_NOT_BUILT 32

// A length that suffices for the text of `filterblock_verdict`, its NUL included.
#define FILTERBLOCK_VERDICT_SIZE 1536

// The way in which a call ended. Later versions may have more: a number that is not listed here is a failure.
enum filterblock_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call did what it is for.
    FILTERBLOCK_STATUS_OK = 0,
    // The bytes are not what a writer wrote: rebuild the filter. Until then every key is *maybe*.
    FILTERBLOCK_STATUS_DAMAGED = 1,
    // The bytes are intact but use something that this version does not know: upgrade the library. Every key is
    // *maybe*.
    FILTERBLOCK_STATUS_NEWER = 2,
    // The bytes are an intact block, but not the one that is expected: the context, hash, seed or key transform is a
    // different one. Every key is *maybe*.
    FILTERBLOCK_STATUS_MISMATCH = 3,
    // An argument is null, no UTF-8, of an impossible length, or a misaligned array; the message names it.
    FILTERBLOCK_STATUS_ARGUMENT = 4,
    // A setting or a text of a policy is outside its legal range.
    FILTERBLOCK_STATUS_SETTING = 5,
    // The policy has no block for what was added: the entries exceed its cap in bytes or what the format can describe,
    // or no seed solves them; a key is of a form of which the transform makes no entries; keys are not integers where
    // a range filter's policy asks for them, or not in order where partitions need it; or nothing was added. The table
    // has no filter.
    FILTERBLOCK_STATUS_NOT_BUILT = 6,
    // The memory is too short for the block.
    FILTERBLOCK_STATUS_TOO_SHORT = 7,
    // A finished block did not contain every entry that it was built from, and was discarded: the memory or the
    // processor is faulty, or the library has a defect. The table has no filter.
    FILTERBLOCK_STATUS_SELF_CHECK = 8,
    // The builder may lack a key, as an earlier call failed: it refuses to finish until it is cleared.
    FILTERBLOCK_STATUS_INCOMPLETE = 9,
    // There is no memory for the result.
    FILTERBLOCK_STATUS_NO_MEMORY = 10,
    // The library has panicked: a defect of the library.
    FILTERBLOCK_STATUS_PANIC = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum filterblock_status filterblock_status;
#else
typedef uint32_t filterblock_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A builder turns the keys of one table into one filter: `new (add* finish)* free`. It keeps 8 bytes an entry; one of
// range filters keeps the keys, too.
typedef struct filterblock_builder filterblock_builder;

// The numbers of filters that were opened or built, and of those that could not be: each of these costs reads until it
// is rebuilt. An engine has one for all, or one for each of its column families. Counting takes no lock.
typedef struct filterblock_counters filterblock_counters;

// A partition that was opened once, to be kept in the engine's cache. It knows the index and the number that it was
// opened for.
typedef struct filterblock_partition_reader filterblock_partition_reader;

// The index of a filter in partitions: it leads to the one that answers for a key. A null pointer answers *maybe*.
typedef struct filterblock_partitioned_reader filterblock_partitioned_reader;

// The settings of a filter: its kind, its size, a seed or secret key, and the transform from keys to entries. A policy
// is small; builders copy it.
typedef struct filterblock_policy filterblock_policy;

// Answers from a range filter's block whether its table may have a key in a range. A null pointer answers *maybe*.
typedef struct filterblock_range_reader filterblock_range_reader;

// Answers from a block whether its table may contain a key. A null pointer is the reader of a block that could not be
// opened: it answers *maybe* to everything.
typedef struct filterblock_reader filterblock_reader;

// The reason why a call failed. It is owned by the caller; every call that takes one fills it in. It takes no part in
// the work of the call, and may be null.
typedef struct filterblock_error {
    // The status that the call returns, too.
    filterblock_status status;
    // Zeros, until a later version has more to report.
    uint32_t reserved[7];
    // A message in English, in UTF-8, truncated to its length, and always terminated; empty after a success.
    char message[FILTERBLOCK_MESSAGE_SIZE];
} filterblock_error;

// The block to be expected for a number of entries. Later versions append fields.
typedef struct filterblock_prediction {
    // The size, set to `sizeof(filterblock_prediction)` by the caller. An older library lowers it to what it has
    // written.
    size_t size;
    // The length in bytes: exact, or the average for the kinds whose length depends on the keys.
    uint64_t block_len;
    // A number of bytes that suffices, whatever the entries are.
    uint64_t max_block_len;
    // The rate at which absent keys pass.
    double false_positive_rate;
} filterblock_prediction;

// The values of counters at one time. Later versions append fields.
typedef struct filterblock_counters_snapshot {
    // The size, set to `sizeof(filterblock_counters_snapshot)` by the caller. An older library lowers it to what it
    // has written.
    size_t size;
    // Filters that were opened.
    uint64_t opened;
    // Filters that were not opened, as their bytes are damaged.
    uint64_t damaged;
    // Filters that were not opened, as they are newer than the library.
    uint64_t newer;
    // Filters that were not opened, as they are not those that were expected.
    uint64_t mismatch;
    // Filters that were not opened for any other reason: an argument or an option that cannot be right, no memory, a
    // defect of the library.
    uint64_t failed;
    // Filters that were built.
    uint64_t built;
    // Filters that could not be built, so that their tables have none.
    uint64_t unfinished;
    // Queries that `filterblock_counters_note_queries` was given.
    uint64_t queries;
    // Those of them that were answered *no*.
    uint64_t denied;
} filterblock_counters_snapshot;

// The caller's allocator, say of `new char[]`. Neither function throws: `alloc` returns a null pointer where there is
// no memory. Later versions append fields.
typedef struct filterblock_allocator {
    // The size, `sizeof(filterblock_allocator)`.
    size_t size;
    // A pointer that is passed to both functions.
    void *context;
    // Returns memory of `len` bytes, of any alignment.
    void *(*alloc)(void *context, size_t len);
    // Takes back what `alloc` gave for `len` bytes, where the library turns out to have no use for it. Called only
    // before the call that allocates returns.
    void (*free)(void *context, void *memory, size_t len);
} filterblock_allocator;

// The caller's expectations of a block that it opens. Start from `FILTERBLOCK_OPEN_OPTIONS_INIT`: zeros, except
// `size`. Later versions append fields; a field that is set and unknown to the library is an error.
typedef struct filterblock_open_options {
    // The size, `sizeof(filterblock_open_options)`.
    size_t size;
    // The context that the block was written with, 0 if with none.
    uint64_t context;
    // The policy that the engine builds and hashes with: blocks are refused whose hash, seed, secret key or transform
    // are not those of this policy. Without it, a block under a secret key cannot be opened, and hashes or keys of
    // another form are not noticed, for which stored keys would be denied.
    const struct filterblock_policy *expected;
    // The flags: 0, `FILTERBLOCK_OPEN_TRUSTED`, `FILTERBLOCK_OPEN_COPY`, or both.
    uint32_t flags;
    // A zero, until a later version has a use for it.
    uint32_t reserved;
} filterblock_open_options;

// The properties that a block states of itself. Later versions append fields.
typedef struct filterblock_info {
    // The size, set to `sizeof(filterblock_info)` by the caller. An older library lowers it to what it has written.
    size_t size;
    // The number of distinct entries.
    uint64_t num_entries;
    // The length of the block in bytes.
    uint64_t block_len;
    // The seed, or the id of the secret key.
    uint64_t seed;
    // The kind: one of `FILTERBLOCK_KIND_*`, or the tag of a kind that is newer than the header.
    uint32_t kind;
    // The hash function: 1 is XXH3 with a seed, 2 is SipHash under a secret key.
    uint32_t hash_id;
    // The key transform's id in the format.
    uint32_t transform_id;
    // The key transform's parameter.
    uint32_t transform_param;
    // The most columns that queries compare of a key; 0 for kinds without columns.
    uint32_t num_columns;
    // The most columns that the filter was built with, if it was thinned since, otherwise 0.
    uint32_t thinned_from;
    // The number of probes made for a key, for the kinds that probe bits, otherwise 0.
    uint32_t num_probes;
    // A 1 if the number of entries is an estimate, otherwise 0.
    uint32_t entries_estimated;
} filterblock_info;

// The place of a partition.
typedef struct filterblock_partition {
    // The offset that the writer's function returned for it.
    uint64_t offset;
    // Its number, from 0 in the order of keys.
    uint32_t number;
    // The length of its block in bytes.
    uint32_t len;
} filterblock_partition;

// A function of the caller's that a lookup calls at most once, with the partition that has to be queried. It returns that
// partition, opened by `filterblock_partitioned_reader_open_partition` then or in an earlier lookup, and keeps it until
// the lookup has returned. A null pointer is *maybe*.
typedef const struct filterblock_partition_reader *(*filterblock_load_partition)(void *context,
                                                                                 const struct filterblock_partition *partition);

// A function of the caller's that stores a partition, the `len` bytes at `block`, writes the offset at which they are to
// `*offset`, and returns true; false if it cannot. Offsets ascend: every partition is at or after the end of the one
// before.
typedef bool (*filterblock_store_partition)(void *context,
                                            const void *block,
                                            size_t len,
                                            uint64_t *offset);

// The properties that a range filter states of itself. Later versions append fields.
typedef struct filterblock_range_info {
    // The size, set to `sizeof(filterblock_range_info)` by the caller. An older library lowers it to what it has written.
    size_t size;
    // The number of distinct keys.
    uint64_t num_keys;
    // The number of leaves: keys and groups of keys that are distinguished.
    uint64_t num_leaves;
    // The length of the block in bytes.
    uint64_t block_len;
    // The form: one of `FILTERBLOCK_RANGE_FORM_*`, or one that is newer than the header; 0 without keys.
    uint32_t form;
    // A zero, until a later version has a use for it.
    uint32_t reserved;
} filterblock_range_info;

// A bound of a range: a whole key, which need not be stored. What is compared are the bytes of the bound and those that
// were given to `filterblock_builder_add_key`, byte by byte as unsigned numbers, as `memcmp` does; of two of which one
// begins with the other, the longer is above. No comparator, encoding or transform of the engine's takes part, so
// integers are stored with their most significant byte first, signed ones with the sign bit inverted.
typedef struct filterblock_range_bound {
    // The key's bytes.
    const void *key;
    // Their number. With 0 there is no bound, as if a null pointer was given in its place: a structure of zeros is no
    // bound, nor is an empty string of C++ or of RocksDB.
    size_t key_len;
    // A 0 if the key itself is in the range, a 1 if it is not. A range with any other number is *maybe*.
    uint32_t is_excluded;
} filterblock_range_bound;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// `FILTERBLOCK_ABI_VERSION` of the library in use: compare it with the header's.
uint32_t filterblock_abi_version(void);

// The library's version, such as "0.1.0", as a static text.
const char *filterblock_version(void);

// The name of a status, such as "damaged", or "unknown" for a number that is not a status, as a static text.
const char *filterblock_status_name(uint32_t status);

// A policy from its text, such as "blocked:10", "ribbon:fpr=0.1%,seed=7" or "auto:10,level=3,transform=prefix:4". To
// be freed by `filterblock_policy_free`. On an error `*policy` is null.
//
// Give all tables of a store one seed, random and secret where strangers choose keys. A transform is "whole-key",
// "row", "row+column", "prefix:LEN", "whole-key+prefix:LEN", "delimited:BYTE", "delimited:BYTE:LEVELS" (prefixes up to
// each delimiter, as "delimited:/") or "custom:ID:PARAM". The library has no code of a custom one: hash its entries under
// a policy of whole keys with the same seed.
filterblock_status filterblock_policy_from_text(const char *policy_text,
                                                struct filterblock_policy **policy,
                                                struct filterblock_error *error);

// The policy for tables of a level, where it chooses the kind ("auto"); others are the same at all levels. To be freed
// by itself; null of a null pointer.
struct filterblock_policy *filterblock_policy_at_level(const struct filterblock_policy *policy,
                                                       uint8_t level);

// Frees a policy. Builders and readers that were made with it remain. A null pointer is ignored.
void filterblock_policy_free(struct filterblock_policy *policy);

// Hashes entries under a secret key, the 16 bytes at `secret_key`, for keys that an adversary may choose. Blocks
// identify the key and do not contain it.
filterblock_status filterblock_policy_set_secret_key(struct filterblock_policy *policy,
                                                     const void *secret_key);

// Writes the policy's text and a NUL to the `out_len` bytes at `out`, truncated if they are too few. Returns the
// length of the whole text, without its NUL. A secret key is not written.
size_t filterblock_policy_text(const struct filterblock_policy *policy,
                               char *out,
                               size_t out_len);

// The hash of the entry that answers for a key, for readers of this policy, and for builders unless its transform is
// `whole-key+prefix` or `delimited`, under which a key has more entries. False if the key has none: it is *maybe* in
// every table.
bool filterblock_policy_hash_key(const struct filterblock_policy *policy,
                                 const void *key,
                                 size_t key_len,
                                 uint64_t *hash);

// Predicts the block of `num_entries` distinct entries. Set `prediction->size` before. After an error the rest of it
// is unchanged.
filterblock_status filterblock_policy_predict(const struct filterblock_policy *policy,
                                              uint64_t num_entries,
                                              struct filterblock_prediction *prediction,
                                              struct filterblock_error *error);

// The most entries whose block is expected to have at most `block_len` bytes: the inverse of
// `filterblock_policy_predict`. 0 if not even one entry fits, and of a null pointer.
uint64_t filterblock_policy_num_entries(const struct filterblock_policy *policy,
                                        uint64_t block_len);

// New counters, to be freed by `filterblock_counters_free`.
struct filterblock_counters *filterblock_counters_new(void);

// Frees counters. Builders that count in them keep what they need. A null pointer is ignored.
void filterblock_counters_free(struct filterblock_counters *counters);

// Adds queries that the caller has made of its filters, of which `num_denied` were answered *no*, for
// `filterblock_verdict`. Queries themselves count nothing, as threads would share what they write to: count in the
// thread, and add up now and then.
filterblock_status filterblock_counters_note_queries(const struct filterblock_counters *counters,
                                                     uint64_t num_queries,
                                                     uint64_t num_denied);

// Reads all counters. Set `snapshot->size` before.
filterblock_status filterblock_counters_read(const struct filterblock_counters *counters,
                                             struct filterblock_counters_snapshot *snapshot);

// An empty builder, to be freed by `filterblock_builder_free`; null of a null policy. What it finishes and what it
// cannot is counted in `counters`, unless they are null; the builder keeps what it needs of them.
struct filterblock_builder *filterblock_builder_new(const struct filterblock_policy *policy,
                                                    const struct filterblock_counters *counters);

// Frees a builder. A null pointer is ignored.
void filterblock_builder_free(struct filterblock_builder *builder);

// Forgets what was added, and the context: for a builder that has refused to finish, or a table that is given up.
filterblock_status filterblock_builder_clear(struct filterblock_builder *builder);

// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the same
// one. It holds until the next finish that succeeds.
filterblock_status filterblock_builder_set_context(struct filterblock_builder *builder,
                                                   uint64_t context);

// Permits the next block to have no entries, for a table without keys. Without this call a builder that received
// nothing since its last finish refuses to finish, because an empty block denies every key. It holds until the next
// finish that succeeds.
filterblock_status filterblock_builder_allow_empty(struct filterblock_builder *builder);

// Adds a key that is one byte string. The policy's transform is applied. A key that has no entry, such as one shorter
// than the prefix, is counted, and *maybe* in every filter; one of a form of which the transform makes no entries is
// `FILTERBLOCK_STATUS_NOT_BUILT`. After an error the builder refuses to finish until it is cleared. Ascending keys are
// added fastest to a range filter, which needs no sorting then.
filterblock_status filterblock_builder_add_key(struct filterblock_builder *builder,
                                               const void *key,
                                               size_t key_len);

// Adds a row, for a filter of rows. For errors see `filterblock_builder_add_key`.
filterblock_status filterblock_builder_add_row(struct filterblock_builder *builder,
                                               const void *row,
                                               size_t row_len);

// Adds a key that consists of a row and a column, for a filter of rows, or of rows with columns. For errors see
// `filterblock_builder_add_key`.
filterblock_status filterblock_builder_add_row_column(struct filterblock_builder *builder,
                                                      const void *row,
                                                      size_t row_len,
                                                      const void *column,
                                                      size_t column_len);

// Adds an entry by its hash under the policy's seed or secret key, as `filterblock_policy_hash_key` makes it. Nothing
// checks this: where it is not so, the filter denies keys that are stored. It is one entry: under `whole-key+prefix`
// and `delimited` a key's other prefixes are denied, which `filterblock_builder_add_key` adds.
filterblock_status filterblock_builder_add_hash(struct filterblock_builder *builder,
                                                uint64_t hash);

// The number of entries added since the last finish; of neighbours that are equal, one is counted. 0 of a null
// pointer.
uint64_t filterblock_builder_num_added(const struct filterblock_builder *builder);

// The number of keys added since the last finish that have no entry under the policy's transform. If it is above 0 and
// `filterblock_builder_num_added` is 0, the block will have no entries: it is right, but the transform does not suit the
// table's keys. 0 of a null pointer.
uint64_t filterblock_builder_num_without_entry(const struct filterblock_builder *builder);

// A number of bytes that suffices for the block of what was added. If equal entries were added far apart,
// `filterblock_builder_finish_into` may find them too few; then it drops the repeated ones, and the number suffices
// that is returned after that. 0 where no block can be built, of a null pointer, and of a builder of range filters or
// partitions, whose length is not known before.
size_t filterblock_builder_max_block_len(const struct filterblock_builder *builder);

// Writes the block of what was added to the `capacity` bytes at `out`, of any alignment, and its length to `*len`.
// Then the builder is empty, and ready for the next table: keep the block, as a second finish is refused.
// After an error it keeps what was added (one of partitions after TOO_SHORT and NO_MEMORY alone), `*len` is 0, and what is
// in `out` means nothing. The block of a table without keys (`filterblock_builder_allow_empty`), or of keys none of which
// has an entry, is a header, which answers *no* to every key that could have one.
filterblock_status filterblock_builder_finish_into(struct filterblock_builder *builder,
                                                   void *out,
                                                   size_t capacity,
                                                   size_t *len,
                                                   struct filterblock_error *error);

// Writes the block of what was added to memory of the caller's allocator, without a second copy, and gives it to the
// caller: `*len` bytes at `*memory`. `*capacity`, unless null, is the length that `alloc` was called with, with which
// the memory is to be freed: it is more than `*len` where the block's length depends on the keys (never for a range
// filter, of which there are two copies meanwhile). After an error `*memory` is null, and all memory has been given
// back. For the rest see `filterblock_builder_finish_into`.
filterblock_status filterblock_builder_finish_with(struct filterblock_builder *builder,
                                                   const struct filterblock_allocator *allocator,
                                                   void **memory,
                                                   size_t *len,
                                                   size_t *capacity,
                                                   struct filterblock_error *error);

// Opens a block: a reader in memory of the library, to be freed by `filterblock_reader_free`. On an error `*reader` is
// null, which answers *maybe*. Takes constant time beyond the checksums. `options` may be null. The attempt is counted
// in `counters`, unless they are null.
filterblock_status filterblock_reader_open(const void *block,
                                           size_t block_len,
                                           const struct filterblock_open_options *options,
                                           const struct filterblock_counters *counters,
                                           struct filterblock_reader **reader,
                                           struct filterblock_error *error);

// Opens a block without an allocation, for engines that open one for each lookup: a reader within the `storage_len`
// bytes at `storage`, which must be `FILTERBLOCK_READER_SIZE` or more, and remain for as long as the reader is used.
// Nothing has to be freed. For the rest see `filterblock_reader_open`.
filterblock_status filterblock_reader_init(void *storage,
                                           size_t storage_len,
                                           const void *block,
                                           size_t block_len,
                                           const struct filterblock_open_options *options,
                                           const struct filterblock_counters *counters,
                                           struct filterblock_reader **reader,
                                           struct filterblock_error *error);

// Frees a reader. One in memory of the caller's, or a null pointer, is left alone.
void filterblock_reader_free(struct filterblock_reader *reader);

// Reads the properties that the block states. Set `info->size` before.
filterblock_status filterblock_reader_info(const struct filterblock_reader *reader,
                                           struct filterblock_info *info);

// The rate at which absent keys pass, computed from the payload, all of which is read. 1 of a null pointer.
double filterblock_reader_false_positive_rate(const struct filterblock_reader *reader);

// Builds the compact frame of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`: 2 to 20 bytes more than its payload,
// without checksum, seed, transform, context and number of entries, for engines that keep these themselves. It is
// given to the caller in memory of the caller's allocator, as by `filterblock_builder_finish_with`. After an error
// store one byte 0, which answers *maybe*: engines such as LevelDB take no bytes for an empty filter, and deny. No keys
// are an error, `FILTERBLOCK_STATUS_NOT_BUILT`: see `FILTERBLOCK_COMPACT_EMPTY`. `counters` may be null.
filterblock_status filterblock_compact_build(const struct filterblock_policy *policy,
                                             const void *const *keys,
                                             const size_t *key_lens,
                                             size_t num_keys,
                                             const struct filterblock_counters *counters,
                                             const struct filterblock_allocator *allocator,
                                             void **memory,
                                             size_t *len,
                                             size_t *capacity,
                                             struct filterblock_error *error);

// Returns whether a compact frame, written under `policy`, may hold a key; false is certain. Opens the frame, in
// constant time, and never fails: a frame that cannot be read is *maybe*, and counted. `counters` may be null; frames
// that can be read are not counted.
bool filterblock_compact_may_contain(const struct filterblock_policy *policy,
                                     const void *frame,
                                     size_t frame_len,
                                     const void *key,
                                     size_t key_len,
                                     const struct filterblock_counters *counters);

// Opens the index of a filter in partitions, as `filterblock_reader_open` opens a block, to be freed by
// `filterblock_partitioned_reader_free`. All options apply to the partitions, too, except `FILTERBLOCK_OPEN_COPY`.
// Takes time and memory in proportion to the number of partitions.
filterblock_status filterblock_partitioned_reader_open(const void *index,
                                                       size_t index_len,
                                                       const struct filterblock_open_options *options,
                                                       const struct filterblock_counters *counters,
                                                       struct filterblock_partitioned_reader **reader,
                                                       struct filterblock_error *error);

// Frees a reader, after or before its partitions. A null pointer is ignored.
void filterblock_partitioned_reader_free(struct filterblock_partitioned_reader *reader);

// Finds the partition that answers for a key, to load it ahead of a lookup. False if there is nothing to load: then the
// index answers by itself, and `*partition` is zeros.
bool filterblock_partitioned_reader_find_key(const struct filterblock_partitioned_reader *reader,
                                             const void *key,
                                             size_t key_len,
                                             struct filterblock_partition *partition);

// Opens the partition of this number from its block, to be kept and to be freed by `filterblock_partition_reader_free`: a
// lookup then neither parses nor verifies it again. `flags` are 0 or `FILTERBLOCK_OPEN_COPY`. The block of another
// partition, or of a table with another context, is `FILTERBLOCK_STATUS_MISMATCH`. On an error `*partition` is null.
filterblock_status filterblock_partitioned_reader_open_partition(const struct filterblock_partitioned_reader *reader,
                                                                 uint32_t number,
                                                                 const void *block,
                                                                 size_t block_len,
                                                                 uint32_t flags,
                                                                 struct filterblock_partition_reader **partition,
                                                                 struct filterblock_error *error);

// Frees an opened partition, when no lookup uses it. A null pointer is ignored.
void filterblock_partition_reader_free(struct filterblock_partition_reader *partition);

// Returns whether the table may contain a key; false is certain. `load` gives the partition that has to be queried.
// One that was opened for another number, or for an index of other bytes, as a cache that confuses them gives, is
// *maybe*, and counted as a mismatch. Tables with one context, the same separators and as many keys in each partition
// have equal indexes: give each state of a table a context of its own, and drop its partitions with it.
bool filterblock_partitioned_reader_may_contain(const struct filterblock_partitioned_reader *reader,
                                                const void *key,
                                                size_t key_len,
                                                filterblock_load_partition load,
                                                void *load_context);

// Returns whether the table may contain a key that begins with `key`, by its longest prefix that is an entry;
// otherwise as `filterblock_partitioned_reader_may_contain`.
bool filterblock_partitioned_reader_may_contain_prefix(const struct filterblock_partitioned_reader *reader,
                                                       const void *key,
                                                       size_t key_len,
                                                       filterblock_load_partition load,
                                                       void *load_context);

// A builder of a filter in partitions, for tables whose filter is too large to be kept in memory, to be used and freed as
// one of `filterblock_builder_new` is. Keys are added by `filterblock_builder_add_key` in ascending order, or they are
// `FILTERBLOCK_STATUS_NOT_BUILT`. `store` is called whenever one of them begins a new partition, and at the finish, which
// gives the index: the engine stores that, too, and opens it by `filterblock_partitioned_reader_open`.
//
// A partition's block has at most about `partition_len` bytes, 256 to 2^30; 0 stands for 32 KiB. The policy has a size in
// bits or a rate, none in bytes, and a transform of keys or prefixes. Set the context before the first key. What a builder
// has stored when it is cleared or freed is the caller's to remove. On an error `*builder` is null.
filterblock_status filterblock_partition_builder_new(const struct filterblock_policy *policy,
                                                     uint64_t partition_len,
                                                     filterblock_store_partition store,
                                                     void *store_context,
                                                     const struct filterblock_counters *counters,
                                                     struct filterblock_builder **builder,
                                                     struct filterblock_error *error);

// Returns whether the table may contain a key; false is certain. The block's transform is applied. A key that has no
// entry is *maybe*.
bool filterblock_reader_may_contain(const struct filterblock_reader *reader,
                                    const void *key,
                                    size_t key_len);

// Returns whether the filter may hold the entry of this hash, which was made under the block's seed or secret key:
// have these compared at opening.
bool filterblock_reader_may_contain_hash(const struct filterblock_reader *reader,
                                         uint64_t hash);

// Returns whether the table may contain a key that begins with `key`, by its longest prefix that the transform makes.
bool filterblock_reader_may_contain_prefix(const struct filterblock_reader *reader,
                                           const void *key,
                                           size_t key_len);

// Returns whether the table may contain a cell of this row.
bool filterblock_reader_may_contain_row(const struct filterblock_reader *reader,
                                        const void *row,
                                        size_t row_len);

// Returns whether the table may contain the cell of this row and column.
bool filterblock_reader_may_contain_row_column(const struct filterblock_reader *reader,
                                               const void *row,
                                               size_t row_len,
                                               const void *column,
                                               size_t column_len);

// An answer for each of `num_hashes` hashes; see `filterblock_reader_may_contain_hash`. Hides the misses of caches of
// large filters.
void filterblock_reader_may_contain_hashes(const struct filterblock_reader *reader,
                                           const uint64_t *hashes,
                                           size_t num_hashes,
                                           bool *answers);

// An answer for each of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`; see `filterblock_reader_may_contain`.
void filterblock_reader_may_contain_keys(const struct filterblock_reader *reader,
                                         const void *const *keys,
                                         const size_t *key_lens,
                                         size_t num_keys,
                                         bool *answers);

// A builder of range filters, to be used and freed as one of `filterblock_builder_new` is: keys go in by
// `filterblock_builder_add_key`, whole and in any order. On an error `*builder` is null.
//
// The text is "range:BITS", as "range:14", or "range:fpr=RATE,len=LENGTH", as "range:fpr=1%,len=1024", the latter with
// ",form=integers" or without; both may end with ",self_check=off". Others are `FILTERBLOCK_STATUS_SETTING`.
//
// BITS is about how many bits the block has for each key, from 2 to 200. From 10 on for integers and 12 to 24 on for
// text all keys are distinguished; more bits see smaller gaps between keys. RATE and LENGTH are for integers, most
// significant byte first: keys of one length, of at most 16 bytes after those that all begin with. Of the empty ranges
// of up to LENGTH integers the share RATE passes. Dense integers, which can be kept whole in as many bits, have the form
// `FILTERBLOCK_RANGE_FORM_CUT`, and the rate 0. A filter of keys that are not such integers has that form, too, and no
// rate, as `filterblock_range_reader_false_positive_rate` shows; with ",form=integers" it is not built
// (`FILTERBLOCK_STATUS_NOT_BUILT`, with the reason).
//
// A filter has at most 2^32 - 1 keys, or the finish is `FILTERBLOCK_STATUS_NOT_BUILT`. Nothing is hashed: range filters
// have no seed, secret key or transform, and rows and hashes are not added.
filterblock_status filterblock_range_builder_new(const char *policy_text,
                                                 const struct filterblock_counters *counters,
                                                 struct filterblock_builder **builder,
                                                 struct filterblock_error *error);

// Opens a range filter's block, as `filterblock_reader_open` opens one of keys, to be freed by
// `filterblock_range_reader_free`. Of the options, context and flags apply: nothing depends on the policy that is
// expected. The block of another kind of filter is `FILTERBLOCK_STATUS_MISMATCH`, and so is a range filter's for
// `filterblock_reader_open`.
filterblock_status filterblock_range_reader_open(const void *block,
                                                 size_t block_len,
                                                 const struct filterblock_open_options *options,
                                                 const struct filterblock_counters *counters,
                                                 struct filterblock_range_reader **reader,
                                                 struct filterblock_error *error);

// Frees a reader. A null pointer is ignored.
void filterblock_range_reader_free(struct filterblock_range_reader *reader);

// Reads the properties that the filter states. Set `info->size` before.
filterblock_status filterblock_range_reader_info(const struct filterblock_range_reader *reader,
                                                 struct filterblock_range_info *info);

// The rate at which empty ranges of `range_len` integers pass, on average over many tables, whatever the keys and the ranges
// are: in one of few keys several times as many may pass, or none. 0 where all keys are kept whole. 1 where no rate holds
// for all ranges: of other filters of cut keys, without keys, and of a null pointer.
double filterblock_range_reader_false_positive_rate(const struct filterblock_range_reader *reader,
                                                    uint64_t range_len);

// Returns whether the table may have a key between two bounds; false is certain. A null pointer and a bound of length
// 0 are no bound: two are the range of all keys. If the lower bound is above the upper one, or both are one key and
// one of them excludes it, the answer is *maybe*: no right scan has such bounds. Takes time in proportion to the
// length of the bounds and, of cut keys, to the logarithm of the number of keys; of integers, mostly .1 microseconds,
// and some tens of them whatever the bytes.
bool filterblock_range_reader_may_contain_range(const struct filterblock_range_reader *reader,
                                                const struct filterblock_range_bound *lower,
                                                const struct filterblock_range_bound *upper);

// Returns whether the table may have a key that begins with a prefix, of any length; false is certain.
bool filterblock_range_reader_may_contain_prefix(const struct filterblock_range_reader *reader,
                                                 const void *prefix,
                                                 size_t prefix_len);

// Returns whether the table may have a key; false is certain. A filter of keys denies more of them in as many bytes.
bool filterblock_range_reader_may_contain(const struct filterblock_range_reader *reader,
                                          const void *key,
                                          size_t key_len);

// Interprets the counts of a snapshot: `*findings` is the sum of `FILTERBLOCK_FINDING_*`, 0 if filters are in use and
// deny keys. The `out_len` bytes at `out` get a line for each finding, with its consequence and the next step, and one
// for what filters have saved, and a NUL; they may be null, and are truncated to what fits. Filters that are never
// queried, never opened or never deny change no answer, so nothing else reveals them: an engine prints the text now
// and then, and asserts in its tests that there is no finding.
filterblock_status filterblock_verdict(const struct filterblock_counters_snapshot *snapshot,
                                       uint32_t *findings,
                                       char *out,
                                       size_t out_len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FILTERBLOCK_H */
