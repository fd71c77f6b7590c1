/* Plausible mistakes of a program: each is refused, answered maybe, or is one that is listed as unnoticed.  README.md has the same
 * rows, which `../tests/capi.rs` compares. */

#include "test.h"

enum form { KEY, PREFIX, ROW, CELL, HASH };

/* A table is built under one policy, opened with another expected or with none, and queried.  Hashes are made by a third. */
struct mistake {
    const char *name, *built;
    enum form added;
    const char *expected;
    enum form asked;
    const char *hashed;
    enum outcome outcome;
};

#define WHOLE "blocked:20,seed=7"
#define OTHER_SEED "blocked:20,seed=8"
#define ROWS "blocked:20,seed=7,transform=row"
#define CELLS "blocked:20,seed=7,transform=row+column"
#define PREFIXES "blocked:20,seed=7,transform=prefix:8"
#define BOTH "blocked:20,seed=7,transform=whole-key+prefix:8"
#define LONG_PREFIXES "blocked:20,seed=7,transform=prefix:99"

static const struct mistake mistakes[] = {
    {"none", WHOLE, KEY, WHOLE, HASH, WHOLE, MAYBE}, /* The control. */
    {"another seed, expected", WHOLE, KEY, OTHER_SEED, HASH, OTHER_SEED, REFUSED},
    {"prefixes, whole keys expected", PREFIXES, KEY, WHOLE, HASH, WHOLE, REFUSED},
    {"whole keys, prefixes expected", WHOLE, KEY, PREFIXES, HASH, PREFIXES, REFUSED},
    {"another transform, nothing expected, queries by key", PREFIXES, KEY, NULL, KEY, NULL, MAYBE},
    {"a key under row", ROWS, KEY, ROWS, KEY, NULL, REFUSED},
    {"a row under row+column", CELLS, ROW, CELLS, ROW, NULL, REFUSED},
    {"a row under whole-key", WHOLE, ROW, WHOLE, ROW, NULL, REFUSED},
    {"a row and a column under whole-key", WHOLE, CELL, WHOLE, CELL, NULL, REFUSED},
    {"a row and a column under prefix", PREFIXES, CELL, PREFIXES, CELL, NULL, REFUSED},
    {"a row and a column under row", ROWS, CELL, ROWS, CELL, NULL, MAYBE},
    {"a row and a column under row+column, queried for the row", CELLS, CELL, CELLS, ROW, NULL, MAYBE},
    {"rows, queried as keys", ROWS, ROW, ROWS, KEY, NULL, MAYBE},
    {"keys shorter than the prefix", LONG_PREFIXES, KEY, LONG_PREFIXES, KEY, NULL, MAYBE},
    {"keys without the delimiter", "blocked:9,transform=delimited:/", KEY, NULL, KEY, NULL, MAYBE},
    {"keys under a transform without its code", "blocked:20,transform=custom:200:1", KEY, NULL, KEY, NULL, REFUSED},
    {"hashes of another seed are queried, nothing expected", WHOLE, KEY, NULL, HASH, OTHER_SEED, DENIES},
    {"hashes of another transform are queried, nothing expected", PREFIXES, KEY, NULL, HASH, WHOLE, DENIES},
    {"hashes of another seed are added", WHOLE, HASH, WHOLE, KEY, OTHER_SEED, DENIES},
    {"hashes of keys are added under whole-key+prefix or delimited, queries by prefix", BOTH, HASH, BOTH, PREFIX, BOTH, DENIES},
    {"prefixes are added as keys", WHOLE, PREFIX, WHOLE, KEY, NULL, DENIES},
};

enum { NUM_ADDED = 500 };

static uint64_t hash_of(const char *hashed, const char *key) {
    filterblock_policy *policy = policy_of(hashed);
    uint64_t hash;
    CHECK(filterblock_policy_hash_key(policy, key, KEY_LEN, &hash));
    filterblock_policy_free(policy);
    return hash;
}

static filterblock_status add(filterblock_builder *builder, const struct mistake *mistake, const char *key) {
    switch (mistake->added) {
        case KEY: return filterblock_builder_add_key(builder, key, KEY_LEN);
        case PREFIX: return filterblock_builder_add_key(builder, key, 8);
        case ROW: return filterblock_builder_add_row(builder, key, KEY_LEN);
        case CELL: return filterblock_builder_add_row_column(builder, key, KEY_LEN, "column", 6);
        default: return filterblock_builder_add_hash(builder, hash_of(mistake->hashed, key));
    }
}

static bool ask(const filterblock_reader *reader, const struct mistake *mistake, const char *key) {
    switch (mistake->asked) {
        case KEY: return filterblock_reader_may_contain(reader, key, KEY_LEN);
        case PREFIX: return filterblock_reader_may_contain_prefix(reader, key, 8);
        case ROW: return filterblock_reader_may_contain_row(reader, key, KEY_LEN);
        case CELL: return filterblock_reader_may_contain_row_column(reader, key, KEY_LEN, "column", 6);
        default: return filterblock_reader_may_contain_hash(reader, hash_of(mistake->hashed, key));
    }
}

static enum outcome outcome_of(unsigned num_denied) {
    CHECK(num_denied == 0 || num_denied > NUM_ADDED * 9 / 10);
    return num_denied == 0 ? MAYBE : DENIES;
}

/* The block of what the mistake adds; without data if the builder refuses, at the calls and at the finish. */
static struct bytes built_by(const struct mistake *mistake) {
    filterblock_policy *policy = policy_of(mistake->built);
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_allocator allocator = counting_allocator();
    struct bytes block = {NULL, 0, 0};
    unsigned num_refused = 0;
    char key[KEY_LEN];
    size_t len;
    void *memory;

    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        key_of(i, key);
        num_refused += add(builder, mistake, key) != FILTERBLOCK_STATUS_OK;
    }
    CHECK(num_refused == 0 || num_refused == NUM_ADDED);
    if (num_refused == 0) block = finished(builder);
    else STATUS(NOT_BUILT, filterblock_builder_finish_with(builder, &allocator, &memory, &len, NULL, NULL));
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    return block;
}

static enum outcome commit(const struct mistake *mistake) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_policy *expected = mistake->expected ? policy_of(mistake->expected) : NULL;
    struct bytes block = built_by(mistake);
    enum outcome outcome = REFUSED;
    filterblock_reader *reader = NULL;
    unsigned num_denied = 0;
    char key[KEY_LEN];

    options.expected = expected;
    if (block.data) {
        filterblock_status opened = filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL);
        CHECK((opened == FILTERBLOCK_STATUS_OK) == (reader != NULL));
        /* A null reader, used all the same, answers maybe. */
        for (uint64_t i = 0; i < NUM_ADDED; i++) {
            key_of(i, key);
            num_denied += !ask(reader, mistake, key);
        }
        if (reader) outcome = outcome_of(num_denied);
        else CHECK(num_denied == 0);
        filterblock_reader_free(reader);
        drop(&block);
    }
    filterblock_policy_free(expected);
    return outcome;
}

/* The outcome of a finish after other calls than those that it needs. */
static enum outcome finished_after(void (*calls)(filterblock_builder *)) {
    filterblock_policy *policy = policy_of(WHOLE);
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_allocator allocator = counting_allocator();
    filterblock_reader *reader = NULL;
    size_t len, capacity;
    void *memory;
    char key[KEY_LEN];
    unsigned num_denied = 0;

    calls(builder);
    bool is_refused = filterblock_builder_finish_with(builder, &allocator, &memory, &len, &capacity, NULL) !=
                      FILTERBLOCK_STATUS_OK;
    CHECK(is_refused == (memory == NULL) && is_refused == (len == 0));
    if (!is_refused) filterblock_reader_open(memory, len, NULL, NULL, &reader, NULL);
    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        key_of(i, key);
        num_denied += !filterblock_reader_may_contain(reader, key, KEY_LEN);
    }
    filterblock_reader_free(reader);
    if (!is_refused) give_back(&bytes_allocated, memory, capacity);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    CHECK(!is_refused || num_denied == 0);
    return is_refused ? REFUSED : outcome_of(num_denied);
}

static void finish_and_drop(filterblock_builder *builder) {
    struct bytes block;
    add_keys(builder, NUM_ADDED);
    block = finished(builder);
    drop(&block);
}
static void add_nothing(filterblock_builder *builder) { (void)builder; }
static void allow_empty(filterblock_builder *builder) { filterblock_builder_allow_empty(builder); }
static void ignore_a_refused_key(filterblock_builder *builder) {
    add_keys(builder, NUM_ADDED - 1);
    filterblock_builder_add_key(builder, NULL, KEY_LEN); /* The status is ignored. */
}

static enum outcome finishing_twice(void) { return finished_after(finish_and_drop); }
static enum outcome finishing_nothing(void) { return finished_after(add_nothing); }
static enum outcome allowing_empty(void) { return finished_after(allow_empty); }
static enum outcome ignoring_a_status(void) { return finished_after(ignore_a_refused_key); }

/* How many keys of the block are denied under these options. */
static unsigned num_denied_by(const struct bytes *block, const filterblock_open_options *options) {
    filterblock_reader *reader = open_block(block, options);
    unsigned num_denied = 0;
    char key[KEY_LEN];
    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        key_of(i, key);
        num_denied += !filterblock_reader_may_contain(reader, key, KEY_LEN);
    }
    filterblock_reader_free(reader);
    return num_denied;
}

/* The block of one table in the place of another's, whose number both sides know. */
static enum outcome other_place(uint64_t written, uint64_t expected) {
    filterblock_policy *policy = policy_of(WHOLE);
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_reader *reader;
    struct bytes block;
    enum outcome outcome = REFUSED;
    char key[KEY_LEN];

    key_of(NUM_ADDED, key);
    OK(filterblock_builder_add_key(builder, key, KEY_LEN));
    OK(filterblock_builder_set_context(builder, written));
    block = finished(builder);
    options.context = expected;
    filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL);
    if (reader) outcome = outcome_of(num_denied_by(&block, &options));
    filterblock_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    return outcome;
}
static enum outcome contexts_that_differ(void) { return other_place(1, 2); }
static enum outcome contexts_of_a_writer_alone(void) { return other_place(1, 0); }
static enum outcome contexts_of_a_reader_alone(void) { return other_place(0, 2); }
static enum outcome no_contexts(void) { return other_place(0, 0); }

/* Most of the payload is lost. */
static enum outcome damaged(uint32_t flags) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    struct bytes block = block_of(WHOLE, NUM_ADDED);
    filterblock_reader *reader;
    enum outcome outcome = REFUSED;

    memset(block.data + 64, 0, block.len - 64);
    options.flags = flags;
    filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL);
    if (reader) outcome = outcome_of(num_denied_by(&block, &options));
    filterblock_reader_free(reader);
    drop(&block);
    return outcome;
}
static enum outcome damage(void) { return damaged(0); }
static enum outcome trusted_damage(void) { return damaged(FILTERBLOCK_OPEN_TRUSTED); }

static enum outcome options_of_zeros(void) {
    struct bytes block = block_of(WHOLE, NUM_ADDED);
    filterblock_open_options options;
    filterblock_reader *reader;

    memset(&options, 0, sizeof options);
    filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL);
    drop(&block);
    return reader ? DENIES : REFUSED;
}

static enum outcome null_reader(void) {
    char key[KEY_LEN];
    key_of(0, key);
    return filterblock_reader_may_contain(NULL, key, KEY_LEN) ? MAYBE : DENIES;
}

/* A compact frame of `num_keys` keys under a policy, queried for NUM_ADDED keys under another. */
static enum outcome compact(const char *built, const char *asked, size_t num_keys) {
    filterblock_policy *policy = policy_of(built), *other = policy_of(asked);
    filterblock_allocator allocator = counting_allocator();
    static char keys[NUM_ADDED][KEY_LEN];
    static const void *pointers[NUM_ADDED];
    static size_t lens[NUM_ADDED];
    unsigned num_denied = 0;
    size_t len, capacity;
    void *frame;

    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        key_of(i, keys[i]);
        pointers[i] = keys[i];
        lens[i] = KEY_LEN;
    }
    filterblock_compact_build(policy, pointers, lens, num_keys, NULL, &allocator, &frame, &len, &capacity, NULL);
    for (size_t i = 0; i < NUM_ADDED; i++) {
        num_denied += !filterblock_compact_may_contain(other, frame, len, keys[i], KEY_LEN, NULL);
    }
    CHECK(frame || num_denied == 0);
    enum outcome outcome = frame ? outcome_of(num_denied) : REFUSED;
    if (frame) give_back(&bytes_allocated, frame, capacity);
    filterblock_policy_free(policy);
    filterblock_policy_free(other);
    return outcome;
}
static enum outcome compact_of_a_policy(void) { return compact("golomb:16,seed=7", "golomb:16,seed=7", NUM_ADDED); }
static enum outcome compact_of_another(void) { return compact("golomb:16,seed=7", "golomb:16,seed=8", NUM_ADDED); }
static enum outcome compact_of_rows(void) { return compact(ROWS, ROWS, NUM_ADDED); }
static enum outcome compact_of_nothing(void) { return compact(WHOLE, WHOLE, 0); }

static const struct {
    const char *name;
    enum outcome (*commit)(void);
    enum outcome outcome;
} calls[] = {
    {"a finish without a key", finishing_nothing, REFUSED},
    {"a second finish, after a write that failed", finishing_twice, REFUSED},
    {"the status of a key that was refused is ignored", ignoring_a_status, REFUSED},
    {"`filterblock_builder_allow_empty` for a table that has keys, none of which is added", allowing_empty, DENIES},
    {"another table's block, contexts on both sides", contexts_that_differ, REFUSED},
    {"another table's block, a context of the writer alone", contexts_of_a_writer_alone, REFUSED},
    {"another table's block, a context of the reader alone", contexts_of_a_reader_alone, REFUSED},
    {"another table's block, no contexts", no_contexts, DENIES},
    {"damaged bytes", damage, REFUSED},
    {"damaged bytes, opened as trusted", trusted_damage, DENIES},
    {"options of zeros, without their size", options_of_zeros, REFUSED},
    {"a reader that could not be opened is used all the same", null_reader, MAYBE},
    {"none, of compact frames", compact_of_a_policy, MAYBE}, /* The control. */
    {"a compact frame of no keys", compact_of_nothing, REFUSED},
    {"a compact frame of keys under row", compact_of_rows, REFUSED},
    {"a compact frame, queried under another policy", compact_of_another, DENIES},
};

void test_misuse(void) {
    struct mistakes noted = commit_range_mistakes();
    commit_partition_mistakes(&noted);
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        note(&noted, mistakes[i].name, mistakes[i].outcome, commit(&mistakes[i]));
    }
    for (size_t i = 0; i < LENGTH(calls); i++) note(&noted, calls[i].name, calls[i].outcome, calls[i].commit());
    printf("counted: %u mistakes noticed, %u of those that are listed\n", noted.num_noticed, noted.num_listed);
}
