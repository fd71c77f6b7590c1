/* Readers: answers, and what is no block. */

#include "test.h"

#include <math.h>

static const char *const kinds[] = {"", "bloom", "blocked", "golomb", "ribbon", "fuse"};
static uint64_t num_probes;

/* Answers must be right for each of the keys that were added, and as many absent ones pass as the filter predicts. */
static void check_answers(const filterblock_reader *reader, const filterblock_policy *policy, uint64_t num_keys) {
    enum { NUM_ABSENT = 5000 };
    filterblock_info info;
    double rate = filterblock_reader_false_positive_rate(reader), num_passed = 0;
    char key[KEY_LEN];
    uint64_t hash;

    info.size = sizeof info;
    OK(filterblock_reader_info(reader, &info));
    CHECK(info.num_entries == num_keys && info.entries_estimated == 0 && info.transform_id == 0);
    for (uint64_t i = 0; i < num_keys; i++) {
        key_of(i, key);
        CHECK(filterblock_reader_may_contain(reader, key, KEY_LEN));
        CHECK(filterblock_policy_hash_key(policy, key, KEY_LEN, &hash));
        CHECK(filterblock_reader_may_contain_hash(reader, hash));
    }
    for (uint64_t i = 0; i < NUM_ABSENT; i++) {
        key_of((UINT64_C(1) << 32) + i, key);
        num_passed += filterblock_reader_may_contain(reader, key, KEY_LEN);
    }
    /* Within four standard deviations. */
    CHECK(fabs(num_passed - NUM_ABSENT * rate) <= 4 * sqrt(NUM_ABSENT * rate * (1 - rate)) + 1e-9);
    num_probes += 2 * num_keys + NUM_ABSENT;
}

static void test_opening(void) {
    static const uint64_t numbers[] = {0, 1, 100, NUM_KEYS};
    enum { STORAGE_LEN = FILTERBLOCK_READER_SIZE + FILTERBLOCK_READER_ALIGN - 1 };
    char storage[STORAGE_LEN + FILTERBLOCK_READER_ALIGN];
    filterblock_error error;

    for (uint32_t kind = FILTERBLOCK_KIND_BLOOM; kind <= FILTERBLOCK_KIND_FUSE; kind++) {
        for (size_t i = 0; i < LENGTH(numbers); i++) {
            filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
            filterblock_reader *reader, *in_place = NULL;
            filterblock_policy *policy;
            filterblock_info info;
            char text[32];
            struct bytes block;

            snprintf(text, sizeof text, "%s:10,seed=%u", kinds[kind], (unsigned)kind);
            block = block_of(text, numbers[i]);
            policy = policy_of(text);

            reader = open_block(&block, NULL);
            check_answers(reader, policy, numbers[i]);
            info.size = sizeof info;
            OK(filterblock_reader_info(reader, &info));
            CHECK(info.kind == kind && info.seed == kind && info.hash_id == 1 && info.block_len == block.len);
            CHECK((info.num_columns > 0) == (kind == FILTERBLOCK_KIND_RIBBON && numbers[i] > 0));
            CHECK((info.num_probes > 0) == (kind <= FILTERBLOCK_KIND_BLOCKED && numbers[i] > 0));

            options.expected = policy;
            options.flags = FILTERBLOCK_OPEN_TRUSTED;
            for (size_t skipped = 0; skipped < FILTERBLOCK_READER_ALIGN; skipped += 7) {
                OK(filterblock_reader_init(storage + skipped, STORAGE_LEN, block.data, block.len, &options, NULL,
                                           &in_place, &error));
                CHECK((char *)in_place >= storage + skipped);
                CHECK((char *)in_place + FILTERBLOCK_READER_SIZE <= storage + skipped + STORAGE_LEN);
            }
            check_answers(in_place, policy, numbers[i]);
            filterblock_reader_free(in_place); /* Left alone. */
            check_answers(in_place, policy, numbers[i]);
            filterblock_reader_free(reader);

            options.flags = FILTERBLOCK_OPEN_COPY;
            reader = open_block(&block, &options);
            drop(&block);
            check_answers(reader, policy, numbers[i]);
            filterblock_reader_free(reader);
            filterblock_policy_free(policy);
        }
    }
}

/* The policy of a text with one setting changed is not the one that the block was built under. */
static void test_expectations(void) {
    static const char *const others[][2] = {{"blocked:10,seed=8,transform=prefix:4", "seed"},
                                            {"blocked:10,seed=7", "transform"}};
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_policy *policy = policy_of("blocked:10,seed=7,transform=prefix:4");
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_reader *reader = NULL;
    filterblock_error error;
    struct bytes block;

    OK(filterblock_builder_add_key(builder, "user7", 5));
    OK(filterblock_builder_set_context(builder, 42));
    block = finished(builder);
    options.expected = policy;
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, NULL, &reader, &error));
    CHECK(reader == NULL && strstr(error.message, "context") != NULL);
    options.context = 42;
    reader = open_block(&block, &options);
    CHECK(filterblock_reader_may_contain(reader, "user9", 5) && filterblock_reader_may_contain_prefix(reader, "user", 4));
    CHECK(filterblock_reader_may_contain(reader, "use", 3) && !filterblock_reader_may_contain(reader, "item1", 5));
    CHECK(!filterblock_reader_may_contain_prefix(reader, "item", 4));
    filterblock_reader_free(reader);
    for (size_t i = 0; i < LENGTH(others); i++) {
        filterblock_policy *other = policy_of(others[i][0]);
        options.expected = other;
        STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, NULL, &reader, &error));
        CHECK(strstr(error.message, others[i][1]) != NULL);
        filterblock_policy_free(other);
    }
    filterblock_builder_free(builder);
    drop(&block);

    /* A secret key opens what was built under it. */
    OK(filterblock_policy_set_secret_key(policy, "0123456789abcdef"));
    builder = filterblock_builder_new(policy, NULL);
    OK(filterblock_builder_add_key(builder, "user7", 5));
    block = finished(builder);
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, NULL, NULL, &reader, &error));
    options.context = 0;
    options.expected = policy;
    filterblock_reader_free(open_block(&block, &options));
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

/* Options that the library does not know, or cannot know. Every failure to open is counted. */
static void test_options(void) {
    struct {
        filterblock_open_options options;
        uint64_t newer;
    } longer;
    filterblock_open_options none = FILTERBLOCK_OPEN_OPTIONS_INIT, options = none;
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_reader *reader = NULL;
    filterblock_error error;
    struct bytes block = block_of("blocked:10", 100);
    char storage[2 * FILTERBLOCK_READER_SIZE];
    uint64_t num_failed = 0;

#define REFUSED(opened)           \
    STATUS(ARGUMENT, opened);     \
    CHECK(reader == NULL);        \
    num_failed++
    options.flags = 4;
    REFUSED(filterblock_reader_open(block.data, block.len, &options, counters, &reader, &error));
    CHECK(strstr(error.message, "does not know") != NULL);
    options = none;
    options.reserved = 1;
    REFUSED(filterblock_reader_open(block.data, block.len, &options, counters, &reader, &error));
    options = none;
    options.flags = FILTERBLOCK_OPEN_COPY;
    REFUSED(filterblock_reader_init(storage, sizeof storage, block.data, block.len, &options, counters, &reader, &error));
    REFUSED(filterblock_reader_init(storage, FILTERBLOCK_READER_SIZE - 1, block.data, block.len, NULL, counters, &reader,
                                    &error));
    CHECK(strstr(error.message, "storage") != NULL);
    REFUSED(filterblock_reader_init(NULL, sizeof storage, block.data, block.len, NULL, counters, &reader, &error));
    REFUSED(filterblock_reader_open(NULL, 64, NULL, counters, &reader, &error));
    options.size--;
    REFUSED(filterblock_reader_open(block.data, block.len, &options, counters, &reader, &error));
    CHECK(strstr(error.message, "sizeof") != NULL);
    options.size = 0; /* All zeros, as by memset. */
    REFUSED(filterblock_reader_open(block.data, block.len, &options, counters, &reader, NULL));
    options.size = SIZE_MAX;
    REFUSED(filterblock_reader_open(block.data, block.len, &options, counters, &reader, &error));
    STATUS(ARGUMENT, filterblock_reader_open(block.data, block.len, NULL, counters, NULL, &error));
    num_failed++;

    memset(&longer, 0, sizeof longer);
    longer.options = none;
    longer.options.size = sizeof longer;
    OK(filterblock_reader_open(block.data, block.len, &longer.options, counters, &reader, &error));
    filterblock_reader_free(reader);
    longer.newer = 1;
    REFUSED(filterblock_reader_open(block.data, block.len, &longer.options, counters, &reader, &error));
    CHECK(strstr(error.message, "does not know") != NULL);

    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.opened == 1 && snapshot.failed == num_failed);
    CHECK(snapshot.damaged + snapshot.newer + snapshot.mismatch + snapshot.built + snapshot.unfinished == 0);
    filterblock_counters_free(counters);
    drop(&block);
}

static void test_rows(void) {
    filterblock_policy *policy = policy_of("blocked:16,transform=row+column");
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_reader *reader;
    struct bytes block;

    OK(filterblock_builder_add_row_column(builder, "row", 3, "column", 6));
    block = finished(builder);
    reader = open_block(&block, NULL);
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, "column", 6));
    CHECK(!filterblock_reader_may_contain_row_column(reader, "row", 3, "other", 5));
    CHECK(filterblock_reader_may_contain_row(reader, "other", 5)); /* Rows have no entries here. */
    filterblock_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);

    policy = policy_of("blocked:16,transform=row");
    builder = filterblock_builder_new(policy, NULL);
    OK(filterblock_builder_add_row(builder, "row", 3));
    block = finished(builder);
    reader = open_block(&block, NULL);
    CHECK(filterblock_reader_may_contain_row(reader, "row", 3) && !filterblock_reader_may_contain_row(reader, "other", 5));
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, "any", 3));
    CHECK(filterblock_reader_may_contain(reader, "other", 5)); /* A key of one part has no entry. */
    filterblock_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

/* Entries of a transform that the library has no code of: hashed by the engine, here the key without its last byte. */
static void test_hashes_of_an_engine(void) {
    filterblock_policy *policy = policy_of("blocked:16,seed=7,transform=custom:128:1"), *whole = policy_of("blocked:16,seed=7");
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_reader *reader;
    struct bytes block;
    uint64_t hash;

    CHECK(!filterblock_policy_hash_key(policy, "user7", 5, &hash));
    CHECK(filterblock_policy_hash_key(whole, "user", 4, &hash));
    OK(filterblock_builder_add_hash(builder, hash));
    block = finished(builder);
    options.expected = policy;
    reader = open_block(&block, &options);
    CHECK(filterblock_reader_may_contain_hash(reader, hash));
    CHECK(filterblock_policy_hash_key(whole, "item", 4, &hash) && !filterblock_reader_may_contain_hash(reader, hash));
    CHECK(filterblock_reader_may_contain(reader, "item7", 5));
    filterblock_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(whole);
    filterblock_policy_free(policy);
}

/* Batches answer as single queries do, and what cannot be answered is *maybe*. */
static void test_batches(void) {
    enum { MAX = 200 };
    static const size_t lengths[] = {0, 1, 32, 63, 64, 65, MAX};
    static char keys[MAX][KEY_LEN];
    const void *pointers[MAX];
    size_t lens[MAX];
    uint64_t hashes[MAX];
    bool answers[MAX + 1];
    filterblock_policy *policy = policy_of("blocked:10");
    struct bytes block = block_of("blocked:10", NUM_KEYS), prefixes = block_of("blocked:10,transform=prefix:4", 100);
    filterblock_reader *reader = open_block(&block, NULL);

    for (size_t i = 0; i < MAX; i++) {
        key_of(i % 2 == 0 ? i : (UINT64_C(1) << 32) + i, keys[i]);
        pointers[i] = keys[i];
        lens[i] = KEY_LEN;
        CHECK(filterblock_policy_hash_key(policy, keys[i], KEY_LEN, &hashes[i]));
    }
    for (size_t at = 0; at < LENGTH(lengths); at++) {
        size_t len = lengths[at];
        for (int by_hash = 0; by_hash < 2; by_hash++) {
            memset(answers, 0x55, sizeof answers);
            if (by_hash) filterblock_reader_may_contain_hashes(reader, hashes, len, answers);
            else filterblock_reader_may_contain_keys(reader, pointers, lens, len, answers);
            for (size_t i = 0; i < len; i++) {
                CHECK(answers[i] == filterblock_reader_may_contain(reader, keys[i], KEY_LEN));
            }
            CHECK(*(char *)&answers[len] == 0x55);
        }
    }
    pointers[1] = NULL;
    lens[3] = SIZE_MAX;
    filterblock_reader_may_contain_keys(reader, pointers, lens, MAX, answers);
    CHECK(answers[1] && answers[3] && !answers[5]);
    memset(answers, 0, sizeof answers);
    filterblock_reader_may_contain_keys(NULL, pointers, lens, MAX, answers);
    for (size_t i = 0; i < MAX; i++) CHECK(answers[i]);
    memset(answers, 0, sizeof answers);
    filterblock_reader_may_contain_hashes(reader, NULL, MAX, answers);
    for (size_t i = 0; i < MAX; i++) CHECK(answers[i]);
    filterblock_reader_free(reader);

    /* Keys without an entry, among others. */
    reader = open_block(&prefixes, NULL);
    for (size_t i = 0; i < MAX; i++) {
        pointers[i] = "absent";
        lens[i] = i % 3 == 0 ? 3 : 6;
    }
    filterblock_reader_may_contain_keys(reader, pointers, lens, MAX, answers);
    for (size_t i = 0; i < MAX; i++) CHECK(answers[i] == (i % 3 == 0));
    filterblock_reader_free(reader);
    drop(&prefixes);
    drop(&block);
    filterblock_policy_free(policy);
}

/* Every bit and every length of a block: none opens, so none denies a key. */
static void test_damage(void) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    struct bytes block = block_of("golomb:10", 100);
    filterblock_reader *reader;
    uint64_t num_changes = 0;

    for (size_t bit = 0; bit < block.len * 8; bit++, num_changes++) {
        block.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        filterblock_reader_open(block.data, block.len, NULL, counters, &reader, NULL);
        CHECK(reader == NULL);
        block.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t len = 0; len < block.len; len++, num_changes++) {
        filterblock_reader_open(block.data, len, NULL, counters, &reader, NULL);
        CHECK(reader == NULL);
    }
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.opened == 0 && snapshot.failed == 0);
    CHECK(snapshot.damaged + snapshot.newer + snapshot.mismatch == num_changes);
    snapshot.size = 8;
    STATUS(ARGUMENT, filterblock_counters_read(counters, &snapshot));
    printf("counted: %lu damaged blocks, none opened\n", (unsigned long)num_changes);
    filterblock_counters_free(counters);
    drop(&block);
}

/* As LevelDB uses compact frames: some twenty keys each, built and queried in one call. */
static void test_compact_frames(void) {
    enum { NUM_FRAMES = 200, MAX_KEYS = 36 };
    static char keys[MAX_KEYS][KEY_LEN];
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_allocator allocator = counting_allocator();
    filterblock_policy *policies[] = {policy_of("bloom:10,seed=7"), policy_of("golomb:10,seed=7")};
    filterblock_error error;
    const void *pointers[MAX_KEYS];
    size_t lens[MAX_KEYS], len, capacity;
    void *frame;

    for (uint64_t i = 0; i < NUM_FRAMES; i++) {
        const filterblock_policy *policy = policies[i % 2];
        size_t num_keys = 1 + i % MAX_KEYS;
        for (size_t j = 0; j < num_keys; j++) {
            key_of(i * MAX_KEYS + j, keys[j]);
            pointers[j] = keys[j];
            lens[j] = KEY_LEN;
        }
        OK(filterblock_compact_build(policy, pointers, lens, num_keys, counters, &allocator, &frame, &len, &capacity,
                                     &error));
        for (size_t j = 0; j < num_keys; j++) {
            CHECK(filterblock_compact_may_contain(policy, frame, len, keys[j], KEY_LEN, counters));
        }
        CHECK(filterblock_compact_may_contain(policy, frame, 0, "absent", 6, counters));
        ((uint8_t *)frame)[len - 1] = 0xff;
        CHECK(filterblock_compact_may_contain(policy, frame, len, "absent", 6, counters));
        CHECK(bytes_allocated == capacity);
        give_back(&bytes_allocated, frame, capacity);
    }
    lens[0] = SIZE_MAX;
    STATUS(ARGUMENT,
           filterblock_compact_build(policies[0], pointers, lens, 1, counters, &allocator, &frame, &len, NULL, &error));
    CHECK(frame == NULL && len == 0);
    CHECK(filterblock_compact_may_contain(policies[0], NULL, 1, "key", 3, counters));
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == NUM_FRAMES && snapshot.unfinished == 0);
    CHECK(snapshot.damaged == 2 * NUM_FRAMES && snapshot.opened == 0 && snapshot.failed == 1);
    filterblock_counters_free(counters);
    filterblock_policy_free(policies[0]);
    filterblock_policy_free(policies[1]);
}

void test_readers(void) {
    test_opening();
    test_expectations();
    test_options();
    test_rows();
    test_hashes_of_an_engine();
    test_batches();
    test_damage();
    test_compact_frames();
    printf("counted: %lu probes through readers, no stored key denied\n", (unsigned long)num_probes);
}
