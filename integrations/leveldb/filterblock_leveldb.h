/* Filter blocks as LevelDB's filters, through its C API. For C and C++. */

#ifndef FILTERBLOCK_LEVELDB_H
#define FILTERBLOCK_LEVELDB_H

#include <filterblock.h>
#include <leveldb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A filter policy of LevelDB. Threads and databases may share it. */
typedef struct filterblock_leveldb filterblock_leveldb;

/* What the filters of a policy have answered. */
typedef struct filterblock_leveldb_counts {
    uint64_t built;
    /* Filters that could not be built: what is stored in their place matches every key. */
    uint64_t unfinished;
    uint64_t queries;
    /* Queries answered no, each of which saves a data block's read. */
    uint64_t negatives;
    /* Queries of bytes that are no filter, answered maybe. */
    uint64_t unreadable;
} filterblock_leveldb_counts;

/* By the text of a policy, such as "golomb:9.2,seed=7". Null if there is none of this text, and then `*error`, unless
 * `error` is null, says why. To be freed by `filterblock_leveldb_free`. */
filterblock_leveldb *filterblock_leveldb_new(const char *policy_text, filterblock_error *error);

/* Frees a policy, after the databases that use it were closed. A null pointer is ignored. */
void filterblock_leveldb_free(filterblock_leveldb *policy);

/* Has databases opened with `options` use the policy, and verify LevelDB's checksum of a table's filters when the table is
 * opened, not again ("paranoid checks"): they are too small for checksums of their own, and damaged ones would deny keys. Call
 * it last: after `leveldb_options_set_paranoid_checks(options, 0)` nothing is verified, nor reported. */
void filterblock_leveldb_use(filterblock_leveldb *policy, leveldb_options_t *options);

/* Under which tables store their filters. Policies of equal hash and transform share it, so that kind and size may be changed
 * while tables are in use; LevelDB ignores filters of every other name. */
const char *filterblock_leveldb_name(const filterblock_leveldb *policy);

/* The counts of all threads so far. */
filterblock_leveldb_counts filterblock_leveldb_read(const filterblock_leveldb *policy);

/* Whether filters are in use and deny keys: the sum of `FILTERBLOCK_FINDING_*`, 0 if so, and at `out`, unless it is null, the
 * text of `filterblock_verdict`. */
uint32_t filterblock_leveldb_verdict(const filterblock_leveldb *policy, char *out, size_t out_len);

#ifdef __cplusplus
}
#endif

#endif
