/* Plausible mistakes of a program: each is refused, answered maybe, or is one that EMBEDDING.md lists as unnoticed. */

#include "test.h"

enum form { KEY, PREFIX, ROW, CELL, HASH };
enum outcome { REFUSED, MAYBE, DENIES };

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
#define LONG_PREFIXES "blocked:20,seed=7,transform=prefix:99"

static const struct mistake mistakes[] = {
    {"none", WHOLE, KEY, WHOLE, HASH, WHOLE, MAYBE},
    {"another seed, expected", WHOLE, KEY, OTHER_SEED, HASH, OTHER_SEED, REFUSED},
    {"another transform, expected", PREFIXES, KEY, WHOLE, HASH, WHOLE, REFUSED},
    {"the reverse", WHOLE, KEY, PREFIXES, HASH, PREFIXES, REFUSED},
    {"another transform, nothing expected, queries by key", PREFIXES, KEY, NULL, KEY, NULL, MAYBE},
    {"a key under row", ROWS, KEY, ROWS, KEY, NULL, REFUSED},
    {"a row under row+column", CELLS, ROW, CELLS, ROW, NULL, REFUSED},
    {"a row under whole-key", WHOLE, ROW, WHOLE, ROW, NULL, REFUSED},
    {"a row and a column under whole-key", WHOLE, CELL, WHOLE, CELL, NULL, REFUSED},
    {"a row and a column under prefix", PREFIXES, CELL, PREFIXES, CELL, NULL, REFUSED},
    {"a row and a column under row", ROWS, CELL, ROWS, CELL, NULL, MAYBE},
    {"a row and a column under row+column, asked for the row", CELLS, CELL, CELLS, ROW, NULL, MAYBE},
    {"rows, asked as keys", ROWS, ROW, ROWS, KEY, NULL, MAYBE},
    {"keys shorter than the prefix", LONG_PREFIXES, KEY, LONG_PREFIXES, KEY, NULL, MAYBE},
    {"keys under a transform without its code", "blocked:20,transform=custom:200:1", KEY, NULL, KEY, NULL, REFUSED},
    {"hashes of another seed are queried, nothing expected", WHOLE, KEY, NULL, HASH, OTHER_SEED, DENIES},
    {"hashes of another transform are queried, nothing expected", PREFIXES, KEY, NULL, HASH, WHOLE, DENIES},
    {"hashes of another seed are added", WHOLE, HASH, WHOLE, KEY, OTHER_SEED, DENIES},
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
        case PREFIX: return filterblock_reader_may_contain_prefix(reader, key, KEY_LEN);
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

/* A block that is stored after a write that failed, by a second finish. */
static void test_finishing_twice(void) {
    filterblock_policy *policy = policy_of(WHOLE);
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_allocator allocator = counting_allocator();
    struct bytes block;
    size_t len;
    void *memory;

    add_keys(builder, NUM_ADDED);
    block = finished(builder);
    drop(&block);
    STATUS(NOT_BUILT, filterblock_builder_finish_with(builder, &allocator, &memory, &len, NULL, NULL));
    CHECK(memory == NULL && len == 0);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

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

/* The context is noticed where one side has it, and damage where the digest is verified. */
static void test_places_and_damage(void) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    struct bytes block = block_of(WHOLE, NUM_ADDED);
    filterblock_reader *reader;

    CHECK(num_denied_by(&block, &options) == 0);
    options.context = 1;
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL));
    options.context = 0;
    memset(block.data + 64, 0, block.len - 64);
    STATUS(DAMAGED, filterblock_reader_open(block.data, block.len, &options, NULL, &reader, NULL));
    options.flags = FILTERBLOCK_OPEN_TRUSTED; /* Listed: nothing verifies the bytes. */
    CHECK(outcome_of(num_denied_by(&block, &options)) == DENIES);
    drop(&block);
}

/* A compact frame does not state its policy: listed. */
static void test_compact_frames_of_another_policy(void) {
    filterblock_policy *policy = policy_of("golomb:16,seed=7"), *other = policy_of("golomb:16,seed=8");
    filterblock_allocator allocator = counting_allocator();
    static char keys[NUM_ADDED][KEY_LEN];
    static const void *pointers[NUM_ADDED];
    static size_t lens[NUM_ADDED];
    size_t len, capacity;
    unsigned num_denied[2] = {0, 0};
    void *frame;

    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        key_of(i, keys[i]);
        pointers[i] = keys[i];
        lens[i] = KEY_LEN;
    }
    OK(filterblock_compact_build(policy, pointers, lens, NUM_ADDED, NULL, &allocator, &frame, &len, &capacity, NULL));
    for (size_t i = 0; i < NUM_ADDED; i++) {
        num_denied[0] += !filterblock_compact_may_contain(policy, frame, len, keys[i], KEY_LEN, NULL);
        num_denied[1] += !filterblock_compact_may_contain(other, frame, len, keys[i], KEY_LEN, NULL);
    }
    CHECK(num_denied[0] == 0 && outcome_of(num_denied[1]) == DENIES);
    give_back(&bytes_allocated, frame, capacity);
    filterblock_policy_free(policy);

    /* Keys of another form are refused here, too. */
    policy = policy_of(ROWS);
    STATUS(NOT_BUILT, filterblock_compact_build(policy, pointers, lens, 1, NULL, &allocator, &frame, &len, NULL, NULL));
    CHECK(frame == NULL);
    filterblock_policy_free(policy);
    filterblock_policy_free(other);
}

void test_misuse(void) {
    unsigned num_listed = 0;
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        if (commit(&mistakes[i]) != mistakes[i].outcome) {
            fprintf(stderr, "the mistake: %s\n", mistakes[i].name);
            CHECK(!"the outcome that is expected");
        }
        num_listed += mistakes[i].outcome == DENIES;
    }
    test_finishing_twice();
    test_places_and_damage();
    test_compact_frames_of_another_policy();
    printf("counted: %u mistakes noticed, %u of those that are listed\n", (unsigned)LENGTH(mistakes) - num_listed + 4,
           num_listed + 2);
}
