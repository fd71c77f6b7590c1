/* Readers: answers, and what is no block. */

#include "test.h"

#include <math.h>

static uint64_t num_probes;

/* Answers must be right for each of the keys that were added, and as many absent ones pass as the filter predicts. */
static void check_answers(const filterblock_reader *reader, uint64_t num_keys) {
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
        CHECK(filterblock_reader_may_contain_entry(reader, key, KEY_LEN));
        CHECK(filterblock_reader_hash_key(reader, key, KEY_LEN, &hash));
        CHECK(filterblock_reader_may_contain_hash(reader, hash));
    }
    for (uint64_t i = 0; i < NUM_ABSENT; i++) {
        key_of((UINT64_C(1) << 32) + i, key);
        num_passed += filterblock_reader_may_contain(reader, key, KEY_LEN);
    }
    /* Within four standard deviations. */
    CHECK(fabs(num_passed - NUM_ABSENT * rate) <= 4 * sqrt(NUM_ABSENT * rate * (1 - rate)) + 1e-9);
    num_probes += 3 * num_keys + NUM_ABSENT;
}

static void test_opening(void) {
    static const uint64_t numbers[] = {0, 1, 100, NUM_KEYS};
    enum { STORAGE_LEN = FILTERBLOCK_READER_SIZE + FILTERBLOCK_READER_ALIGN - 1 };
    char storage[STORAGE_LEN + FILTERBLOCK_READER_ALIGN];
    filterblock_error error;

    for (uint32_t kind = FILTERBLOCK_KIND_BLOOM; kind <= FILTERBLOCK_KIND_FUSE; kind++) {
        for (size_t i = 0; i < LENGTH(numbers); i++) {
            filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
            filterblock_reader *reader, *in_place;
            filterblock_info info;
            char text[32], name[16];
            filterblock_bytes block;

            filterblock_kind_name(kind, name, sizeof name);
            snprintf(text, sizeof text, "%s:10,seed=%u", name, (unsigned)kind);
            block = block_of(text, numbers[i]);

            OK(filterblock_reader_open(block.data, block.len, NULL, &reader, &error));
            check_answers(reader, numbers[i]);
            info.size = sizeof info;
            OK(filterblock_reader_info(reader, &info));
            CHECK(info.kind == kind && info.seed == kind && info.hash_id == 1 && info.block_len == block.len);

            options.flags = FILTERBLOCK_OPEN_TRUSTED;
            for (size_t skipped = 0; skipped < FILTERBLOCK_READER_ALIGN; skipped += 7) {
                OK(filterblock_reader_init(storage + skipped, STORAGE_LEN, block.data, block.len, &options, &in_place,
                                           &error));
                CHECK((char *)in_place >= storage + skipped);
                CHECK((char *)in_place + FILTERBLOCK_READER_SIZE <= storage + skipped + STORAGE_LEN);
            }
            check_answers(in_place, numbers[i]);
            filterblock_reader_free(in_place); /* Left alone. */
            check_answers(in_place, numbers[i]);
            filterblock_reader_free(reader);

            options.flags = FILTERBLOCK_OPEN_COPY;
            reader = filterblock_reader_open_or_maybe(block.data, block.len, &options);
            filterblock_bytes_free(&block);
            check_answers(reader, numbers[i]);
            filterblock_reader_free(reader);
        }
    }
}

static void test_expectations(void) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    struct {
        filterblock_open_options options;
        uint64_t newer;
    } longer;
    filterblock_policy *policy = policy_of("blocked:10,seed=7,transform=prefix:4"), *other = filterblock_policy_copy(policy);
    filterblock_builder *builder = filterblock_builder_new(policy);
    filterblock_reader *reader = NULL;
    filterblock_error error;
    filterblock_bytes block;
    char storage[FILTERBLOCK_READER_SIZE - 1];

    OK(filterblock_builder_add_key(builder, "user7", 5));
    OK(filterblock_builder_set_context(builder, 42));
    OK(filterblock_builder_finish(builder, &block, &error));
    options.expected = policy;
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    CHECK(reader == NULL && strstr(error.message, "context") != NULL);
    options.context = 42;
    OK(filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    CHECK(filterblock_reader_may_contain(reader, "user9", 5) && filterblock_reader_may_contain_prefix(reader, "user", 4));
    CHECK(filterblock_reader_may_contain(reader, "use", 3) && !filterblock_reader_may_contain(reader, "item1", 5));
    CHECK(!filterblock_reader_may_contain_prefix(reader, "item", 4));
    filterblock_reader_free(reader);

    OK(filterblock_policy_set_seed(other, 8));
    options.expected = other;
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    CHECK(strstr(error.message, "seed") != NULL);
    OK(filterblock_policy_set_seed(other, 7));
    OK(filterblock_policy_set_transform(other, "whole-key", &error));
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    CHECK(strstr(error.message, "transform") != NULL);

    /* Options that the library does not know, or cannot know. */
    options.expected = policy;
    options.flags = 4;
    STATUS(ARGUMENT, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    options.flags = FILTERBLOCK_OPEN_COPY;
    STATUS(ARGUMENT, filterblock_reader_init(storage, sizeof storage, block.data, block.len, &options, &reader, &error));
    options.flags = 0;
    STATUS(ARGUMENT, filterblock_reader_init(storage, sizeof storage, block.data, block.len, &options, &reader, &error));
    CHECK(strstr(error.message, "storage") != NULL && reader == NULL);
    options.size--;
    STATUS(ARGUMENT, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    options.size = SIZE_MAX;
    STATUS(ARGUMENT, filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    memset(&longer, 0, sizeof longer);
    longer.options = options;
    longer.options.size = sizeof longer;
    OK(filterblock_reader_open(block.data, block.len, &longer.options, &reader, &error));
    filterblock_reader_free(reader);
    longer.newer = 1;
    STATUS(ARGUMENT, filterblock_reader_open(block.data, block.len, &longer.options, &reader, &error));
    CHECK(strstr(error.message, "does not know") != NULL);

    filterblock_bytes_free(&block);
    OK(filterblock_policy_set_secret_key(policy, "0123456789abcdef"));
    filterblock_builder_free(builder);
    builder = filterblock_builder_new(policy);
    OK(filterblock_builder_finish(builder, &block, &error));
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, NULL, &reader, &error));
    options.size = sizeof options;
    options.context = 0;
    OK(filterblock_reader_open(block.data, block.len, &options, &reader, &error));
    filterblock_reader_free(reader);
    filterblock_bytes_free(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(other);
    filterblock_policy_free(policy);
}

static void test_rows(void) {
    filterblock_policy *policy = policy_of("blocked:16,transform=row+column");
    filterblock_builder *builder = filterblock_builder_new(policy);
    filterblock_reader *reader;
    filterblock_bytes block;

    OK(filterblock_builder_add_row_column(builder, "row", 3, "column", 6));
    OK(filterblock_builder_finish(builder, &block, NULL));
    reader = filterblock_reader_open_or_maybe(block.data, block.len, NULL);
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, "column", 6));
    CHECK(!filterblock_reader_may_contain_row_column(reader, "row", 3, "other", 5));
    CHECK(filterblock_reader_may_contain_row(reader, "other", 5)); /* Rows have no entries here. */
    filterblock_reader_free(reader);
    filterblock_bytes_free(&block);

    OK(filterblock_policy_set_transform(policy, "row", NULL));
    filterblock_builder_free(builder);
    builder = filterblock_builder_new(policy);
    OK(filterblock_builder_add_row(builder, "row", 3));
    OK(filterblock_builder_finish(builder, &block, NULL));
    reader = filterblock_reader_open_or_maybe(block.data, block.len, NULL);
    CHECK(filterblock_reader_may_contain_row(reader, "row", 3) && !filterblock_reader_may_contain_row(reader, "other", 5));
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, "any", 3));
    CHECK(filterblock_reader_may_contain(reader, "other", 5)); /* A key of one part has no entry. */
    filterblock_reader_free(reader);
    filterblock_bytes_free(&block);
    filterblock_builder_free(builder);
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
    filterblock_bytes block = block_of("blocked:10", NUM_KEYS);
    filterblock_reader *reader = filterblock_reader_open_or_maybe(block.data, block.len, NULL);

    for (size_t i = 0; i < MAX; i++) {
        key_of(i % 2 == 0 ? i : (UINT64_C(1) << 32) + i, keys[i]);
        pointers[i] = keys[i];
        lens[i] = KEY_LEN;
        CHECK(filterblock_reader_hash_key(reader, keys[i], KEY_LEN, &hashes[i]));
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
    filterblock_bytes_free(&block);
}

/* Many tables: some without a filter, some of another seed. */
static void test_tables(void) {
    enum { NUM_TABLES = 130 };
    const filterblock_reader *readers[NUM_TABLES];
    filterblock_bytes blocks[3];
    filterblock_reader *opened[3];
    bool answers[NUM_TABLES];
    char key[KEY_LEN];
    uint64_t hash;

    blocks[0] = block_of("blocked:10,seed=1", NUM_KEYS);
    blocks[1] = block_of("ribbon:10,seed=1", NUM_KEYS / 2);
    blocks[2] = block_of("fuse:10,seed=2", NUM_KEYS);
    for (int i = 0; i < 3; i++) opened[i] = filterblock_reader_open_or_maybe(blocks[i].data, blocks[i].len, NULL);
    for (int i = 0; i < NUM_TABLES; i++) readers[i] = i % 4 == 3 ? NULL : opened[i % 4];
    for (uint64_t number = 0; number < 2 * NUM_KEYS; number += 101) {
        key_of(number, key);
        filterblock_probe_tables(readers, NUM_TABLES, key, KEY_LEN, answers);
        for (int i = 0; i < NUM_TABLES; i++) {
            CHECK(answers[i] == filterblock_reader_may_contain(readers[i], key, KEY_LEN));
        }
        /* By hash, without the table of another seed. */
        for (int i = 0; i < NUM_TABLES; i++) readers[i] = i % 4 >= 2 ? NULL : opened[i % 4];
        CHECK(filterblock_reader_hash_key(opened[0], key, KEY_LEN, &hash));
        filterblock_probe_tables_hash(readers, NUM_TABLES, hash, answers);
        for (int i = 0; i < NUM_TABLES; i++) {
            CHECK(answers[i] == filterblock_reader_may_contain(readers[i], key, KEY_LEN));
        }
        for (int i = 0; i < NUM_TABLES; i++) readers[i] = i % 4 == 3 ? NULL : opened[i % 4];
    }
    /* A hash cannot be that of a key in tables of two seeds. */
    memset(answers, 0, sizeof answers);
    filterblock_probe_tables_hash(readers, NUM_TABLES, 7, answers);
    for (int i = 0; i < NUM_TABLES; i++) CHECK(answers[i]);
    memset(answers, 0, sizeof answers);
    filterblock_probe_tables(readers, NUM_TABLES, NULL, 1, answers);
    for (int i = 0; i < NUM_TABLES; i++) CHECK(answers[i]);
    for (int i = 0; i < 3; i++) {
        filterblock_reader_free(opened[i]);
        filterblock_bytes_free(&blocks[i]);
    }
}

static void test_thinning(void) {
    filterblock_bytes block = block_of("ribbon:16", NUM_KEYS), thinned;
    filterblock_reader *reader = filterblock_reader_open_or_maybe(block.data, block.len, NULL), *thin;
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_error error;
    filterblock_info info;
    size_t len, thinned_len = filterblock_reader_thinned_len(reader, 4);
    void *memory = malloc(thinned_len);

    OK(filterblock_reader_thin(reader, 4, 42, &thinned, &error));
    CHECK(thinned.len == thinned_len && thinned_len < block.len / 3);
    STATUS(TOO_SHORT, filterblock_reader_thin_into(reader, 4, 42, memory, thinned_len - 1, &len, &error));
    CHECK(len == 0);
    OK(filterblock_reader_thin_into(reader, 4, 42, memory, thinned_len, &len, &error));
    CHECK(len == thinned_len && memcmp(memory, thinned.data, len) == 0);
    filterblock_bytes_free(&thinned);
    STATUS(COLUMNS, filterblock_reader_thin(reader, 40, 42, &thinned, &error));
    CHECK(thinned.data == NULL && filterblock_reader_thinned_len(reader, 40) == 0);
    options.context = 42;
    thin = filterblock_reader_open_or_maybe(memory, len, &options);
    check_answers(thin, NUM_KEYS);
    info.size = sizeof info;
    OK(filterblock_reader_info(thin, &info));
    CHECK(info.num_columns == 4 && info.thinned_from > 4);
    filterblock_reader_free(thin);
    free(memory);

    options.context = 0;
    options.max_columns = 3;
    thin = filterblock_reader_open_or_maybe(block.data, block.len, &options);
    OK(filterblock_reader_info(thin, &info));
    CHECK(info.num_columns == 3);
    check_answers(thin, NUM_KEYS);
    filterblock_reader_free(thin);
    filterblock_reader_free(reader);
    filterblock_bytes_free(&block);
}

/* Every bit and every length of a block: none opens, so none denies a key. */
static void test_damage(void) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_bytes block = block_of("golomb:10", 100);
    uint64_t num_changes = 0, hash = 0;

    options.counters = counters;
    for (size_t bit = 0; bit < block.len * 8; bit++, num_changes++) {
        block.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(filterblock_reader_open_or_maybe(block.data, block.len, &options) == NULL);
        block.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t len = 0; len < block.len; len++, num_changes++) {
        CHECK(filterblock_reader_open_or_maybe(block.data, len, &options) == NULL);
    }
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.opened == 0 && snapshot.damaged + snapshot.newer + snapshot.mismatch == num_changes);
    snapshot.size = 8;
    STATUS(ARGUMENT, filterblock_counters_read(counters, &snapshot));
    CHECK(filterblock_reader_may_contain(NULL, "any", 3) && filterblock_reader_may_contain_hash(NULL, 7));
    CHECK(!filterblock_reader_hash_key(NULL, "any", 3, &hash));
    printf("counted: %lu damaged blocks, none opened\n", (unsigned long)num_changes);
    filterblock_counters_free(counters);
    filterblock_bytes_free(&block);
}

/* As LevelDB uses compact frames: some twenty keys each, built and queried in one call. */
static void test_compact_frames(void) {
    enum { NUM_FRAMES = 200, MAX_KEYS = 36 };
    static char keys[MAX_KEYS][KEY_LEN];
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_allocator allocator = counting_allocator();
    filterblock_policy *policy = policy_of("bloom:10,seed=7");
    filterblock_error error;
    const void *pointers[MAX_KEYS];
    size_t lens[MAX_KEYS], len;
    uint64_t hash;
    void *frame;

    for (uint64_t i = 0; i < NUM_FRAMES; i++) {
        size_t num_keys = i % (MAX_KEYS + 1);
        for (size_t j = 0; j < num_keys; j++) {
            key_of(i * MAX_KEYS + j, keys[j]);
            pointers[j] = keys[j];
            lens[j] = KEY_LEN;
        }
        OK(filterblock_compact_build(policy, pointers, lens, num_keys, counters, &allocator, &frame, &len, &error));
        for (size_t j = 0; j < num_keys; j++) {
            CHECK(filterblock_compact_may_contain(policy, frame, len, keys[j], KEY_LEN, counters));
            CHECK(filterblock_policy_hash_key(policy, keys[j], KEY_LEN, &hash));
            CHECK(filterblock_compact_may_contain_hash(policy, frame, len, hash, counters));
        }
        if (num_keys == 0) CHECK(!filterblock_compact_may_contain(policy, frame, len, "absent", 6, counters));
        CHECK(filterblock_compact_may_contain(policy, frame, 0, "absent", 6, counters));
        ((uint8_t *)frame)[len - 1] = 0xff;
        CHECK(filterblock_compact_may_contain_hash(policy, frame, len, 7, counters));
        free(frame);
    }
    lens[0] = SIZE_MAX;
    STATUS(ARGUMENT, filterblock_compact_build(policy, pointers, lens, 1, counters, &allocator, &frame, &len, &error));
    CHECK(frame == NULL && len == 0);
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == NUM_FRAMES && snapshot.unfinished == 0);
    CHECK(snapshot.damaged == 2 * NUM_FRAMES && snapshot.opened == 0);
    filterblock_counters_free(counters);
    filterblock_policy_free(policy);
}

void test_readers(void) {
    test_opening();
    test_expectations();
    test_rows();
    test_batches();
    test_tables();
    test_thinning();
    test_damage();
    test_compact_frames();
    printf("counted: %lu probes through readers, no stored key denied\n", (unsigned long)num_probes);
}
