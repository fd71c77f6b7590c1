#include "filterblock_leveldb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filterblock_leveldb {
    filterblock_policy *policy;
    filterblock_counters *counters;
    leveldb_filterpolicy_t *filters;
    char name[sizeof "filterblock.0123456789abcdef"];
};

static void *allocate(void *context, size_t len)
{
    (void)context;
    return malloc(len);
}

static void release(void *context, void *memory, size_t len)
{
    (void)context;
    (void)len;
    free(memory);
}

static const filterblock_allocator BY_MALLOC = {sizeof BY_MALLOC, NULL, allocate, release};

/* Stored where no filter could be built: of a version that will never be, so that readers answer maybe. No bytes at all
 * would be an empty filter to LevelDB, which answers no. */
static char *no_filter(size_t *len)
{
    char *memory = malloc(1);
    /* LevelDB cannot be told of a failure, and would deny the keys. */
    if (!memory)
        abort();
    *memory = (char)0xff;
    *len = 1;
    return memory;
}

/* LevelDB frees the result. */
static char *create_filter(void *state, const char *const *keys, const size_t *key_lens, int num_keys, size_t *len)
{
    filterblock_leveldb *self = state;
    void *frame = NULL;
    if (num_keys < 0 ||
        filterblock_compact_build(self->policy, (const void *const *)keys, key_lens, (size_t)num_keys, self->counters,
                                  &BY_MALLOC, &frame, len, NULL, NULL) != FILTERBLOCK_STATUS_OK)
        return no_filter(len);
    return frame;
}

static uint8_t key_may_match(void *state, const char *key, size_t key_len, const char *filter, size_t filter_len)
{
    filterblock_leveldb *self = state;
    bool maybe = filterblock_compact_may_contain(self->policy, filter, filter_len, key, key_len, self->counters);
    filterblock_counters_note_queries(self->counters, 1, !maybe);
    return maybe;
}

static const char *name(void *state)
{
    return filterblock_leveldb_name(state);
}

/* Tables of another database may use the policy still when one is closed: `filterblock_leveldb_free` frees it. */
static void keep(void *state)
{
    (void)state;
}

/* A frame does not store how its keys were hashed: the name does, by the hash of one key under the seed or the secret key. The
 * key is longer than every prefix of fixed length, so that no two transforms make the same entry of it. Prefixes that end with
 * a delimiter may have any length, and are refused. */
static filterblock_status write_name(filterblock_leveldb *self, const char *policy_text, filterblock_error *error)
{
    enum { NAMING_KEY_LEN = UINT16_MAX + 1 };
    char *key = calloc(1, NAMING_KEY_LEN);
    uint64_t hash;
    bool has_entry;
    if (!key)
        abort();
    has_entry = !strstr(policy_text, "transform=delimited") &&
                filterblock_policy_hash_key(self->policy, key, NAMING_KEY_LEN, &hash);
    free(key);
    if (!has_entry) {
        if (error) {
            error->status = FILTERBLOCK_STATUS_SETTING;
            snprintf(error->message, sizeof error->message, "this transform makes no entry of a key of LevelDB's, or is not distinguished");
        }
        return FILTERBLOCK_STATUS_SETTING;
    }
    snprintf(self->name, sizeof self->name, "filterblock.%016llx", (unsigned long long)hash);
    return FILTERBLOCK_STATUS_OK;
}

filterblock_leveldb *filterblock_leveldb_new(const char *policy_text, filterblock_error *error)
{
    filterblock_leveldb *self = calloc(1, sizeof *self);
    if (!self)
        abort();
    if (filterblock_policy_from_text(policy_text, &self->policy, error) != FILTERBLOCK_STATUS_OK ||
        write_name(self, policy_text, error) != FILTERBLOCK_STATUS_OK) {
        filterblock_leveldb_free(self);
        return NULL;
    }
    self->counters = filterblock_counters_new();
    self->filters = leveldb_filterpolicy_create(self, keep, create_filter, key_may_match, name);
    return self;
}

void filterblock_leveldb_free(filterblock_leveldb *self)
{
    if (!self)
        return;
    if (self->filters)
        leveldb_filterpolicy_destroy(self->filters);
    filterblock_counters_free(self->counters);
    filterblock_policy_free(self->policy);
    free(self);
}

void filterblock_leveldb_use(filterblock_leveldb *self, leveldb_options_t *options)
{
    leveldb_options_set_filter_policy(options, self->filters);
    leveldb_options_set_paranoid_checks(options, 1);
}

const char *filterblock_leveldb_name(const filterblock_leveldb *self)
{
    return self->name;
}

static filterblock_counters_snapshot snapshot_of(const filterblock_leveldb *self)
{
    filterblock_counters_snapshot snapshot = {.size = sizeof snapshot};
    filterblock_counters_read(self->counters, &snapshot);
    return snapshot;
}

filterblock_leveldb_counts filterblock_leveldb_read(const filterblock_leveldb *self)
{
    filterblock_leveldb_counts counts;
    filterblock_counters_snapshot snapshot = snapshot_of(self);
    counts.built = snapshot.built;
    counts.unfinished = snapshot.unfinished;
    counts.queries = snapshot.queries;
    counts.negatives = snapshot.denied;
    counts.unreadable = snapshot.damaged + snapshot.newer + snapshot.mismatch + snapshot.failed;
    return counts;
}

uint32_t filterblock_leveldb_verdict(const filterblock_leveldb *self, char *out, size_t out_len)
{
    uint32_t findings = UINT32_MAX;
    filterblock_counters_snapshot snapshot = snapshot_of(self);
    filterblock_verdict(&snapshot, &findings, out, out_len);
    return findings;
}
