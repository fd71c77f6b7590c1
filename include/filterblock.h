/* filterblock: the filter block of an LSM storage engine.
 *
 * Made by cbindgen from src/capi: change it there.
 *
 * The rules of every call:
 *
 * 1. A pointer to bytes, keys or answers is valid for the length that is given with it; a null pointer with the length
 *    0 is an empty slice. A pointer to a result is null or valid for writes. Handles are null, or come from the call
 *    that makes them and have not been freed.
 * 2. A reader borrows its block, unless it is opened with FILTERBLOCK_OPEN_COPY: the bytes outlive it and do not
 *    change.
 * 3. Readers, counters, ledgers and accounts may be used by several threads at once. Policies may be read by several
 *    threads at once, and builders belong to one.
 * 4. Functions that the caller passes neither throw nor jump out.
 *
 * What is broken and can be noticed is a status, or *maybe* (true): never a stored key denied.
 */

#ifndef FILTERBLOCK_H
#define FILTERBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of filter. AUTO leaves the choice to the policy, for each block. */
#define FILTERBLOCK_KIND_AUTO 0
#define FILTERBLOCK_KIND_BLOOM 1
#define FILTERBLOCK_KIND_BLOCKED 2
#define FILTERBLOCK_KIND_GOLOMB 3
#define FILTERBLOCK_KIND_RIBBON 4
#define FILTERBLOCK_KIND_FUSE 5

/* Options with nothing expected, and the digest verified. */
#define FILTERBLOCK_OPEN_OPTIONS_INIT {sizeof(filterblock_open_options), 0, NULL, NULL, 0, 0}


// Version of this interface. It grows by one when a program compiled against the older header cannot use a newer
// library; functions and fields that are added leave it as it is.
#define FILTERBLOCK_ABI_VERSION 1

// Bytes of a message, its NUL included.
#define FILTERBLOCK_MESSAGE_SIZE 252

// Leaves out the payload's digest, for engines that verify the block's bytes themselves: opening takes constant time.
#define FILTERBLOCK_OPEN_TRUSTED 1

// Has the reader own a copy of the bytes, which begins at a cache line: queries are fastest so.
#define FILTERBLOCK_OPEN_COPY 2

// Bytes of a reader in memory of the caller's that begins at a multiple of `FILTERBLOCK_READER_ALIGN`. Anywhere else,
// `FILTERBLOCK_READER_ALIGN - 1` more bytes are enough.
#define FILTERBLOCK_READER_SIZE 448

// Alignment of a reader.
#define FILTERBLOCK_READER_ALIGN 64

// How a call ended. Later versions may have more: a number that is not listed here is a failure.
typedef enum filterblock_status {
    // It did what it is for.
    FILTERBLOCK_STATUS_OK = 0,
    // The bytes are not what a writer wrote: rebuild the filter. Until then every key is *maybe*.
    FILTERBLOCK_STATUS_DAMAGED = 1,
    // The bytes are intact but use something that this version does not know: upgrade the library. Every key is
    // *maybe*.
    FILTERBLOCK_STATUS_NEWER = 2,
    // The bytes are an intact block, but not the one that is expected: the context, hash, seed or key transform is a
    // different one. Every key is *maybe*.
    FILTERBLOCK_STATUS_MISMATCH = 3,
    // An argument is null, misaligned, no UTF-8 or of an impossible length; the message names it.
    FILTERBLOCK_STATUS_ARGUMENT = 4,
    // A setting or a text of a policy is outside its legal range.
    FILTERBLOCK_STATUS_SETTING = 5,
    // The policy has no block for these entries: they exceed its cap in bytes, or what the format can describe. The
    // table has no filter.
    FILTERBLOCK_STATUS_NOT_BUILT = 6,
    // The memory is too short for the block.
    FILTERBLOCK_STATUS_TOO_SHORT = 7,
    // A finished block did not contain every entry that it was built from, and was discarded: the memory or the
    // processor is faulty, or the library has a defect. The table has no filter.
    FILTERBLOCK_STATUS_SELF_CHECK = 8,
    // The builder may lack a key, as an earlier call failed: it refuses to finish until it is cleared.
    FILTERBLOCK_STATUS_INCOMPLETE = 9,
    // The filter has no columns, or not as many as were named.
    FILTERBLOCK_STATUS_COLUMNS = 10,
    // There is no memory for the result.
    FILTERBLOCK_STATUS_NO_MEMORY = 11,
    // The library has panicked: a defect of the library.
    FILTERBLOCK_STATUS_PANIC = 12,
} filterblock_status;

// How a lookup in a table ended.
typedef enum filterblock_lookup_outcome {
    // The key is outside the table's key range: decided without the filter.
    FILTERBLOCK_LOOKUP_OUTCOME_OUT_OF_KEY_RANGE = 0,
    // The filter denied the key: a data-block read saved.
    FILTERBLOCK_LOOKUP_OUTCOME_AVOIDED = 1,
    // The filter passed the key, and the table has it.
    FILTERBLOCK_LOOKUP_OUTCOME_TRUE_POSITIVE = 2,
    // The filter passed the key, and the table does not have it.
    FILTERBLOCK_LOOKUP_OUTCOME_FALSE_POSITIVE = 3,
    // The filter passed the key, and the table has a tombstone of it.
    FILTERBLOCK_LOOKUP_OUTCOME_TOMBSTONE = 4,
    // The table was written without a filter that could answer.
    FILTERBLOCK_LOOKUP_OUTCOME_NO_FILTER = 5,
    // The table has a filter, but it could not be opened.
    FILTERBLOCK_LOOKUP_OUTCOME_FILTER_UNUSABLE = 6,
    // The lookup ended in an error.
    FILTERBLOCK_LOOKUP_OUTCOME_FAILED = 7,
} filterblock_lookup_outcome;

// The lookups in one table.
typedef struct filterblock_account filterblock_account;

// Turns the keys of one table into one filter: `new (add* finish)* free`. Keeps 8 bytes an entry.
typedef struct filterblock_builder filterblock_builder;

// Counts filters that were opened or built, and those that could not be: each of these costs reads until it is
// rebuilt. One for an engine, or one for each of its column families. Without locks.
typedef struct filterblock_counters filterblock_counters;

// What filters saved, let pass and cost: the sums over all tables of an engine. Counting takes no lock.
typedef struct filterblock_ledger filterblock_ledger;

// What a builder needs to know: a kind, a size, a seed or secret key, and what entries are made from. Small; builders
// copy it.
typedef struct filterblock_policy filterblock_policy;

// Answers from a block whether its table may contain a key. A null pointer is the reader of a block that could not be
// opened: it answers *maybe* to everything.
typedef struct filterblock_reader filterblock_reader;

// Bytes that belong to the library, to be freed by `filterblock_bytes_free`.
typedef struct filterblock_bytes {
    // The bytes; null if there are none.
    uint8_t *data;
    // Their number.
    size_t len;
} filterblock_bytes;

// Why a call failed. Owned by the caller; every call that takes one fills it in. Takes no part in what the call does,
// and may be null.
typedef struct filterblock_error {
    // What the call returns, too.
    enum filterblock_status status;
    // In English, in UTF-8, truncated to its length, and always terminated; empty after a success.
    char message[FILTERBLOCK_MESSAGE_SIZE];
} filterblock_error;

// What counters hold at one time. Later versions append fields.
typedef struct filterblock_counters_snapshot {
    // `sizeof(filterblock_counters_snapshot)`, set by the caller. Lowered to the bytes that an older library has
    // written.
    size_t size;
    // Filters that were opened.
    uint64_t opened;
    // Filters that were not opened, as their bytes are damaged.
    uint64_t damaged;
    // Filters that were not opened, as they are newer than the library.
    uint64_t newer;
    // Filters that were not opened, as they are not those that were expected.
    uint64_t mismatch;
    // Filters that were built.
    uint64_t built;
    // Filters that could not be built, so that their tables have none.
    uint64_t unfinished;
} filterblock_counters_snapshot;

// The caller's allocator, say of `new char[]`. Neither function throws: `alloc` returns a null pointer where there is
// no memory.
typedef struct filterblock_allocator {
    // Passed to both functions.
    void *context;
    // Memory of `len` bytes, of any alignment.
    void *(*alloc)(void *context, size_t len);
    // Takes back what `alloc` gave for `len` bytes, where the library turns out to have no use for it. Called only
    // before the call that allocates returns.
    void (*free)(void *context, void *memory, size_t len);
} filterblock_allocator;

// What the caller expects of the bytes that it opens. Start from `FILTERBLOCK_OPEN_OPTIONS_INIT`: zeros, but for
// `size`. Later versions append fields; a field that is set and unknown to the library is an error.
typedef struct filterblock_open_options {
    // `sizeof(filterblock_open_options)`.
    size_t size;
    // The context that the block was written with, 0 if with none.
    uint64_t context;
    // If not null, blocks are refused whose hash, seed, secret key or transform are not those of this policy; and
    // blocks that were written under its secret key can be opened. Needed by callers that pass hashes.
    const struct filterblock_policy *expected;
    // If not null, the attempt is counted here.
    const struct filterblock_counters *counters;
    // `FILTERBLOCK_OPEN_TRUSTED`, `FILTERBLOCK_OPEN_COPY`, or both.
    uint32_t flags;
    // If not 0, queries compare no more columns than this, of the kinds that have columns.
    uint32_t max_columns;
} filterblock_open_options;

// What a block states of itself. Later versions append fields.
typedef struct filterblock_info {
    // `sizeof(filterblock_info)`, set by the caller. Lowered to the bytes that an older library has written.
    size_t size;
    // Distinct entries.
    uint64_t num_entries;
    // Length of the block in bytes.
    uint64_t block_len;
    // The seed, or the id of the secret key.
    uint64_t seed;
    // One of `FILTERBLOCK_KIND_*`, or that of a kind which is newer than the header.
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
    // Probes made for a key, for the kinds that probe bits, otherwise 0.
    uint32_t num_probes;
    // 1 if the number of entries is an estimate, otherwise 0.
    uint32_t entries_estimated;
} filterblock_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// `FILTERBLOCK_ABI_VERSION` of the library in use: compare it with that of the header.
uint32_t filterblock_abi_version(void);

// The library's version, such as "0.1.0".
const char *filterblock_version(void);

// Frees what a call has put into `*bytes`, and empties it: a second call does nothing. A null pointer is ignored.
void filterblock_bytes_free(struct filterblock_bytes *bytes);

// The name of a status, such as "damaged". Of a number that is no status, "unknown". Static.
const char *filterblock_status_name(uint32_t status);

// A policy from its text, such as "blocked:10", "ribbon:fpr=0.1%,seed=7" or "auto:10,level=3,transform=prefix:4". To
// be freed by `filterblock_policy_free`. On an error `*policy` is null.
enum filterblock_status filterblock_policy_from_text(const char *policy_text,
                                                     struct filterblock_policy **policy,
                                                     struct filterblock_error *error);

// A filter of `bits_per_key` bits for each distinct entry, 2 to 64. `kind` is one of `FILTERBLOCK_KIND_*`.
enum filterblock_status filterblock_policy_with_bits_per_key(uint32_t kind,
                                                             double bits_per_key,
                                                             struct filterblock_policy **policy,
                                                             struct filterblock_error *error);

// The smallest filter whose expected false-positive rate is at most `rate`; 0.01 is one per cent.
enum filterblock_status filterblock_policy_with_false_positive_rate(uint32_t kind,
                                                                    double rate,
                                                                    struct filterblock_policy **policy,
                                                                    struct filterblock_error *error);

// The lowest expected rate that fits into `max_bytes` bytes, header included.
enum filterblock_status filterblock_policy_with_max_bytes(uint32_t kind,
                                                          uint64_t max_bytes,
                                                          struct filterblock_policy **policy,
                                                          struct filterblock_error *error);

// A copy, to be freed by itself; null of a null pointer.
struct filterblock_policy *filterblock_policy_copy(const struct filterblock_policy *policy);

// Frees a policy. Builders and readers that were made with it remain. A null pointer is ignored.
void filterblock_policy_free(struct filterblock_policy *policy);

// Hashes entries with this seed. Give all tables of a store the same; make it random and secret where strangers choose
// keys.
enum filterblock_status filterblock_policy_set_seed(struct filterblock_policy *policy,
                                                    uint64_t seed);

// Hashes entries under a secret key, the 16 bytes at `secret_key`, for keys that an adversary may choose. Blocks
// identify the key and do not contain it.
enum filterblock_status filterblock_policy_set_secret_key(struct filterblock_policy *policy,
                                                          const void *secret_key);

// What entries are made from: "whole-key", "row", "row+column", "prefix:LEN", "whole-key+prefix:LEN" or
// "custom:ID:PARAM". Of a custom transform the library has no code: give builders and readers entries or hashes.
enum filterblock_status filterblock_policy_set_transform(struct filterblock_policy *policy,
                                                         const char *transform_text,
                                                         struct filterblock_error *error);

// For tables of this level, where the policy chooses the kind; other policies are the same at all levels.
enum filterblock_status filterblock_policy_set_level(struct filterblock_policy *policy,
                                                     uint8_t level);

// Whether a finished block is queried for every entry that it was built from. On unless set.
enum filterblock_status filterblock_policy_set_self_check(struct filterblock_policy *policy,
                                                          bool self_check);

// Writes the policy's text and a NUL to the `out_len` bytes at `out`, truncated if they are too few. Returns the
// length of the whole text, without its NUL. A secret key is not written.
size_t filterblock_policy_text(const struct filterblock_policy *policy,
                               char *out,
                               size_t out_len);

// The name of a kind, as `filterblock_policy_text`; empty for a number that is no kind of this version.
size_t filterblock_kind_name(uint32_t kind,
                             char *out,
                             size_t out_len);

// The hash of the entry that answers for a key, for probes of many tables of this policy. False if the key has none:
// it is *maybe* in every table.
bool filterblock_policy_hash_key(const struct filterblock_policy *policy,
                                 const void *key,
                                 size_t key_len,
                                 uint64_t *hash);

// The length in bytes to be expected of a block of `num_entries` distinct entries: exact, or the average for the kinds
// whose length depends on the keys.
enum filterblock_status filterblock_policy_block_len(const struct filterblock_policy *policy,
                                                     uint64_t num_entries,
                                                     uint64_t *out,
                                                     struct filterblock_error *error);

// Bytes that suffice for a block of `num_entries` distinct entries, whatever they are.
enum filterblock_status filterblock_policy_max_block_len(const struct filterblock_policy *policy,
                                                         uint64_t num_entries,
                                                         uint64_t *out,
                                                         struct filterblock_error *error);

// Bytes that suffice for a compact frame of `num_entries` distinct entries, whatever they are.
enum filterblock_status filterblock_policy_max_compact_len(const struct filterblock_policy *policy,
                                                           uint64_t num_entries,
                                                           uint64_t *out,
                                                           struct filterblock_error *error);

// The false-positive rate to be expected of a block of `num_entries` distinct entries.
enum filterblock_status filterblock_policy_false_positive_rate(const struct filterblock_policy *policy,
                                                               uint64_t num_entries,
                                                               double *out,
                                                               struct filterblock_error *error);

// The most entries whose block is expected to have at most `block_len` bytes: the inverse of
// `filterblock_policy_block_len`. 0 if not even one entry fits, and of a null pointer.
uint64_t filterblock_policy_num_entries(const struct filterblock_policy *policy,
                                        uint64_t block_len);

// New counters, to be freed by `filterblock_counters_free`.
struct filterblock_counters *filterblock_counters_new(void);

// Frees counters. Builders that count in them keep what they need. A null pointer is ignored.
void filterblock_counters_free(struct filterblock_counters *counters);

// Reads all counters. Set `snapshot->size` before.
enum filterblock_status filterblock_counters_read(const struct filterblock_counters *counters,
                                                  struct filterblock_counters_snapshot *snapshot);

// An empty builder, to be freed by `filterblock_builder_free`; null of a null pointer.
struct filterblock_builder *filterblock_builder_new(const struct filterblock_policy *policy);

// Frees a builder. A null pointer is ignored.
void filterblock_builder_free(struct filterblock_builder *builder);

// Forgets what was added, and the context: for a builder that has refused to finish, or a table that is given up.
enum filterblock_status filterblock_builder_clear(struct filterblock_builder *builder);

// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the same
// one. It holds until the next finish that succeeds.
enum filterblock_status filterblock_builder_set_context(struct filterblock_builder *builder,
                                                        uint64_t context);

// Whether large blocks are built on all cores, by a library with the feature `rayon`. The bytes are the same.
enum filterblock_status filterblock_builder_set_parallel(struct filterblock_builder *builder,
                                                         bool parallel);

// Counts in `counters` what the builder finishes and what it cannot; of a null pointer, no longer. The builder keeps
// the counters alive.
enum filterblock_status filterblock_builder_count_in(struct filterblock_builder *builder,
                                                     const struct filterblock_counters *counters);

// Makes room for `num_entries` more entries.
enum filterblock_status filterblock_builder_reserve(struct filterblock_builder *builder,
                                                    size_t num_entries);

// Adds a key that is one byte string. The policy's transform is applied. After an error the builder refuses to finish.
enum filterblock_status filterblock_builder_add_key(struct filterblock_builder *builder,
                                                    const void *key,
                                                    size_t key_len);

// Adds a row, for a filter of rows.
enum filterblock_status filterblock_builder_add_row(struct filterblock_builder *builder,
                                                    const void *row,
                                                    size_t row_len);

// Adds a key that consists of a row and a column, for a filter of rows, or of rows with columns.
enum filterblock_status filterblock_builder_add_row_column(struct filterblock_builder *builder,
                                                           const void *row,
                                                           size_t row_len,
                                                           const void *column,
                                                           size_t column_len);

// Adds an entry: what the policy's transform makes of a key, for engines that apply it themselves.
enum filterblock_status filterblock_builder_add_entry(struct filterblock_builder *builder,
                                                      const void *entry,
                                                      size_t entry_len);

// Adds an entry by its hash under the policy's seed or secret key. Nothing checks this: where it is not so, the filter
// denies keys that are stored.
enum filterblock_status filterblock_builder_add_hash(struct filterblock_builder *builder,
                                                     uint64_t hash);

// Entries added since the last finish; of neighbours that are equal, one is counted. 0 of a null pointer.
uint64_t filterblock_builder_num_added(const struct filterblock_builder *builder);

// Keys given since the last finish that have no entry under the policy's transform, and are *maybe*. 0 of a null
// pointer.
uint64_t filterblock_builder_num_without_entry(const struct filterblock_builder *builder);

// Bytes that suffice for the block of what was added. If equal entries were added far apart,
// `filterblock_builder_finish_into` may find them too few; then it drops the repeated ones, and the number suffices
// that is returned after that. 0 where no block can be built, and of a null pointer.
size_t filterblock_builder_max_block_len(const struct filterblock_builder *builder);

// As `filterblock_builder_max_block_len`, for the compact frame.
size_t filterblock_builder_max_compact_len(const struct filterblock_builder *builder);

// Writes the block of what was added to the `capacity` bytes at `out`, of any alignment, and its length to `*len`.
// Then the builder is empty, and ready for the next table. After an error it keeps what was added, `*len` is 0, and
// what is in `out` means nothing. Without entries the block is a header, which answers *no*.
enum filterblock_status filterblock_builder_finish_into(struct filterblock_builder *builder,
                                                        void *out,
                                                        size_t capacity,
                                                        size_t *len,
                                                        struct filterblock_error *error);

// Writes the block of what was added to memory of the caller's allocator, without a second copy, and gives it to the
// caller: `*len` bytes at `*out`. The memory may be longer, where the block's length depends on the keys. After an
// error `*out` is null, and all memory has been given back.
enum filterblock_status filterblock_builder_finish_with(struct filterblock_builder *builder,
                                                        const struct filterblock_allocator *allocator,
                                                        void **out,
                                                        size_t *len,
                                                        struct filterblock_error *error);

// The block of what was added, in memory of the library. What `*bytes` held before is overwritten, and not freed.
enum filterblock_status filterblock_builder_finish(struct filterblock_builder *builder,
                                                   struct filterblock_bytes *bytes,
                                                   struct filterblock_error *error);

// As `filterblock_builder_finish_into`, a compact frame: 2 to 20 bytes more than its payload, without checksum, seed,
// transform, context and number of entries, for engines that keep these themselves and have many small filters.
enum filterblock_status filterblock_builder_finish_compact_into(struct filterblock_builder *builder,
                                                                void *out,
                                                                size_t capacity,
                                                                size_t *len,
                                                                struct filterblock_error *error);

// As `filterblock_builder_finish_with`, a compact frame.
enum filterblock_status filterblock_builder_finish_compact_with(struct filterblock_builder *builder,
                                                                const struct filterblock_allocator *allocator,
                                                                void **out,
                                                                size_t *len,
                                                                struct filterblock_error *error);

// As `filterblock_builder_finish`, a compact frame.
enum filterblock_status filterblock_builder_finish_compact(struct filterblock_builder *builder,
                                                           struct filterblock_bytes *bytes,
                                                           struct filterblock_error *error);

// Opens a block: a reader in memory of the library, to be freed by `filterblock_reader_free`. On an error `*reader` is
// null, which answers *maybe*. Takes constant time beyond the checksums. `options` may be null.
enum filterblock_status filterblock_reader_open(const void *block,
                                                size_t block_len,
                                                const struct filterblock_open_options *options,
                                                struct filterblock_reader **reader,
                                                struct filterblock_error *error);

// As `filterblock_reader_open`, for callers that have no use for an error: null, which answers *maybe*, if the block
// cannot be opened. Counters among the options tell how often that happened, and why.
struct filterblock_reader *filterblock_reader_open_or_maybe(const void *block,
                                                            size_t block_len,
                                                            const struct filterblock_open_options *options);

// Opens a block without an allocation, for engines that open one for each lookup: a reader within the `storage_len`
// bytes at `storage`, which must be `FILTERBLOCK_READER_SIZE` or more, and remain for as long as the reader is used.
// Nothing has to be freed. On an error `*reader` is null, which answers *maybe*.
enum filterblock_status filterblock_reader_init(void *storage,
                                                size_t storage_len,
                                                const void *block,
                                                size_t block_len,
                                                const struct filterblock_open_options *options,
                                                struct filterblock_reader **reader,
                                                struct filterblock_error *error);

// As `filterblock_reader_init`, for callers that have no use for an error: null, which answers *maybe*, if the block
// cannot be opened or the storage is too short.
struct filterblock_reader *filterblock_reader_init_or_maybe(void *storage,
                                                            size_t storage_len,
                                                            const void *block,
                                                            size_t block_len,
                                                            const struct filterblock_open_options *options);

// Frees a reader. One in memory of the caller's, or a null pointer, is left alone.
void filterblock_reader_free(struct filterblock_reader *reader);

// Reads what the block states. Set `info->size` before.
enum filterblock_status filterblock_reader_info(const struct filterblock_reader *reader,
                                                struct filterblock_info *info);

// The rate at which absent keys pass, computed from the payload, all of which is read. 1 of a null pointer.
double filterblock_reader_false_positive_rate(const struct filterblock_reader *reader);

// As `filterblock_policy_hash_key`, under the hash and transform of the block.
bool filterblock_reader_hash_key(const struct filterblock_reader *reader,
                                 const void *key,
                                 size_t key_len,
                                 uint64_t *hash);

// Whether the table may contain a key; false is certain. The block's transform is applied. A key that has no entry is
// *maybe*.
bool filterblock_reader_may_contain(const struct filterblock_reader *reader,
                                    const void *key,
                                    size_t key_len);

// Whether the filter may hold the entry of this hash, which was made under the block's seed or secret key: have these
// compared at opening.
bool filterblock_reader_may_contain_hash(const struct filterblock_reader *reader,
                                         uint64_t hash);

// Whether the table may contain a key with the prefix that `key` begins with, of the transform's length.
bool filterblock_reader_may_contain_prefix(const struct filterblock_reader *reader,
                                           const void *key,
                                           size_t key_len);

// Whether the table may contain a cell of this row.
bool filterblock_reader_may_contain_row(const struct filterblock_reader *reader,
                                        const void *row,
                                        size_t row_len);

// Whether the table may contain the cell of this row and column.
bool filterblock_reader_may_contain_row_column(const struct filterblock_reader *reader,
                                               const void *row,
                                               size_t row_len,
                                               const void *column,
                                               size_t column_len);

// Whether the filter may hold an entry: what the transform makes of a key, for engines that apply it themselves.
bool filterblock_reader_may_contain_entry(const struct filterblock_reader *reader,
                                          const void *entry,
                                          size_t entry_len);

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

// An answer of each of `num_readers` tables, null pointers among them, for one key, which is hashed once. The misses
// of caches of large filters overlap. A table of another seed or transform than the first one's is queried by itself.
void filterblock_probe_tables(const struct filterblock_reader *const *readers,
                              size_t num_readers,
                              const void *key,
                              size_t key_len,
                              bool *answers);

// An answer of each of `num_readers` tables, null pointers among them, for a hash that was made under the seed or
// secret key of all: have these compared at opening. Where two tables have not the same one, all answers are *maybe*.
void filterblock_probe_tables_hash(const struct filterblock_reader *const *readers,
                                   size_t num_readers,
                                   uint64_t hash,
                                   bool *answers);

// The length in bytes of the block that `filterblock_reader_thin` makes; 0 where it makes none.
size_t filterblock_reader_thinned_len(const struct filterblock_reader *reader, uint32_t columns);

// A block, bound to `context`, of the first `columns` columns and the same entries, in memory of the library: it takes
// less memory, and passes twice as many absent keys for each column left out.
enum filterblock_status filterblock_reader_thin(const struct filterblock_reader *reader,
                                                uint32_t columns,
                                                uint64_t context,
                                                struct filterblock_bytes *bytes,
                                                struct filterblock_error *error);

// As `filterblock_reader_thin`, to the `capacity` bytes at `out`; its length to `*len`, which is 0 after an error.
enum filterblock_status filterblock_reader_thin_into(const struct filterblock_reader *reader,
                                                     uint32_t columns,
                                                     uint64_t context,
                                                     void *out,
                                                     size_t capacity,
                                                     size_t *len,
                                                     struct filterblock_error *error);

// Builds the compact frame of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`, in memory of the caller's allocator,
// and gives it to the caller: `*len` bytes at `*out`. On an error `*out` is null; then a frame of no bytes is one that
// answers *maybe*. `counters` may be null.
enum filterblock_status filterblock_compact_build(const struct filterblock_policy *policy,
                                                  const void *const *keys,
                                                  const size_t *key_lens,
                                                  size_t num_keys,
                                                  const struct filterblock_counters *counters,
                                                  const struct filterblock_allocator *allocator,
                                                  void **out,
                                                  size_t *len,
                                                  struct filterblock_error *error);

// Whether a compact frame, written under `policy`, may hold a key; false is certain. Opens the frame, in constant
// time, and never fails: a frame that cannot be read is *maybe*, and counted. `counters` may be null; frames that can
// be read are not counted.
bool filterblock_compact_may_contain(const struct filterblock_policy *policy,
                                     const void *frame,
                                     size_t frame_len,
                                     const void *key,
                                     size_t key_len,
                                     const struct filterblock_counters *counters);

// As `filterblock_compact_may_contain`, by the hash of an entry from `filterblock_policy_hash_key`.
bool filterblock_compact_may_contain_hash(const struct filterblock_policy *policy,
                                          const void *frame,
                                          size_t frame_len,
                                          uint64_t hash,
                                          const struct filterblock_counters *counters);

// An empty ledger, to be freed by `filterblock_ledger_free`.
struct filterblock_ledger *filterblock_ledger_new(void);

// Frees a ledger. Accounts that are still open remain usable, and are closed by themselves. A null pointer is ignored.
void filterblock_ledger_free(struct filterblock_ledger *ledger);

// Counts a filter that could not be built, so that its table has none.
enum filterblock_status filterblock_ledger_note_unfinished(const struct filterblock_ledger *ledger);

// Opens the account of a table, under a number of the engine's, in `level`; `reader` is null for a table without a
// usable filter. Reads the whole filter, to predict its rate, and keeps nothing of it. To be closed by
// `filterblock_account_close`. Null of a null ledger.
struct filterblock_account *filterblock_ledger_open_account(const struct filterblock_ledger *ledger,
                                                            uint64_t table,
                                                            uint32_t level,
                                                            const struct filterblock_reader *reader);

// Closes an account, when the table is closed; its counts stay in the ledger's sums. A null pointer is ignored.
void filterblock_account_close(struct filterblock_account *account);

// Counts a lookup: one of `FILTERBLOCK_LOOKUP_OUTCOME_*`, and, where no filter could answer, whether the key was
// found.
enum filterblock_status filterblock_account_count(const struct filterblock_account *account,
                                                  uint32_t outcome,
                                                  bool found);

// Counts a data block of `len` bytes that a lookup has read from storage.
enum filterblock_status filterblock_account_note_read(const struct filterblock_account *account,
                                                      size_t len);

// Counts a data block that a lookup has found in a cache.
enum filterblock_status filterblock_account_note_cache_hit(const struct filterblock_account *account);

// The sums as text for people, written as `filterblock_policy_text` writes its own.
size_t filterblock_ledger_text(const struct filterblock_ledger *ledger, char *out, size_t out_len);

// The sums as JSON, on one line.
size_t filterblock_ledger_json(const struct filterblock_ledger *ledger, char *out, size_t out_len);

// The sums in Prometheus' text format.
size_t filterblock_ledger_prometheus(const struct filterblock_ledger *ledger,
                                     char *out,
                                     size_t out_len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FILTERBLOCK_H */
