/* Filters in partitions: written to a file while keys are added, read through a cache of opened partitions. */

#include "test.h"

enum { NUM_KEYS_STORED = 20000, FILE_LEN = 1 << 17, MAX_PARTITIONS = 64, PARTITION_LEN = 2048 };

/* A file, in which partitions have gaps between them. */
struct file {
    uint8_t bytes[FILE_LEN];
    size_t len;
    unsigned num_stored, stores_left;
    uint64_t moved; /* What is subtracted from each offset. */
};

static bool store(void *context, const void *block, size_t len, uint64_t *offset) {
    struct file *file = context;
    if (file->stores_left == 0) return false;
    file->stores_left--;
    file->num_stored++;
    CHECK(file->len + len + 3 <= FILE_LEN && len <= PARTITION_LEN);
    memcpy(file->bytes + file->len + 3, block, len);
    *offset = file->len + 3 - file->moved;
    file->len += len + 3;
    return true;
}

/* In the order of numbers; absent ones end with a letter. */
static size_t key_text(uint64_t number, bool is_absent, char *key) {
    return (size_t)sprintf(key, "user%06u%s", (unsigned)number, is_absent ? "x" : "");
}

static filterblock_builder *builder_into(struct file *file, const char *text, filterblock_counters *counters) {
    filterblock_policy *policy = policy_of(text);
    filterblock_builder *builder = NULL;
    memset(file, 0, sizeof *file);
    file->stores_left = 1000;
    OK(filterblock_partition_builder_new(policy, PARTITION_LEN, store, file, counters, &builder, NULL));
    filterblock_policy_free(policy);
    return builder;
}

static void add_texts(filterblock_builder *builder) {
    char key[16];
    for (uint64_t i = 0; i < NUM_KEYS_STORED; i++) OK(filterblock_builder_add_key(builder, key, key_text(i, false, key)));
}

/* The index, and the partitions in the file. */
static struct bytes written(struct file *file, const char *text, uint64_t context) {
    filterblock_builder *builder = builder_into(file, text, NULL);
    struct bytes index;
    OK(filterblock_builder_set_context(builder, context));
    add_texts(builder);
    index = finished(builder);
    filterblock_builder_free(builder);
    CHECK(index.len == index.capacity && file->num_stored > 10 && file->num_stored < MAX_PARTITIONS);
    return index;
}

/* An engine's cache of a table's partitions. */
struct cache {
    const filterblock_partitioned_reader *reader;
    const struct file *file;
    filterblock_partition_reader *opened[MAX_PARTITIONS];
    unsigned num_opened, num_loads;
    uint32_t shift; /* A cache that confuses numbers gives another one. */
};

static const filterblock_partition_reader *load(void *context, const filterblock_partition *place) {
    struct cache *cache = context;
    uint32_t number = (place->number + cache->shift) % cache->file->num_stored;
    cache->num_loads++;
    if (cache->opened[number] == NULL) {
        const uint8_t *block = cache->file->bytes + place->offset;
        cache->num_opened++;
        filterblock_partitioned_reader_open_partition(cache->reader, place->number, block, place->len, FILTERBLOCK_OPEN_COPY,
                                                      &cache->opened[number], NULL);
    }
    return cache->opened[number];
}

static void empty(struct cache *cache) {
    for (size_t i = 0; i < MAX_PARTITIONS; i++) filterblock_partition_reader_free(cache->opened[i]);
    memset(cache->opened, 0, sizeof cache->opened);
}

/* The last absent key, which is above all stored ones, is left out: the index denies it. */
static unsigned num_denied(struct cache *cache, bool is_absent) {
    unsigned denied = 0;
    char key[16];
    for (uint64_t i = 0; i + is_absent < NUM_KEYS_STORED; i++) {
        size_t len = key_text(i, is_absent, key);
        denied += !filterblock_partitioned_reader_may_contain(cache->reader, key, len, load, cache);
    }
    return denied;
}

static filterblock_partitioned_reader *open_index(const struct bytes *index, uint64_t context, uint32_t flags,
                                                  filterblock_counters *counters) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_partitioned_reader *reader;
    options.context = context;
    options.flags = flags;
    OK(filterblock_partitioned_reader_open(index->data, index->len, &options, counters, &reader, NULL));
    return reader;
}

static void test_lookups(const char *text) {
    static struct file file;
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    struct bytes index = written(&file, text, 42);
    filterblock_partition place = {1, 2, 3};
    struct cache cache = {NULL, &file, {NULL}, 0, 0, 0};
    filterblock_partitioned_reader *reader = open_index(&index, 42, FILTERBLOCK_OPEN_COPY, counters);
    filterblock_partitioned_reader *other;
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;

    STATUS(MISMATCH, filterblock_partitioned_reader_open(index.data, index.len, &options, NULL, &other, NULL));
    CHECK(other == NULL);
    for (size_t i = 0; i < index.len; i += 7) {
        index.data[i] ^= 0x10;
        options.context = 42;
        CHECK(filterblock_partitioned_reader_open(index.data, index.len, &options, NULL, &other, NULL) != 0 && other == NULL);
        index.data[i] ^= 0x10;
    }
    drop(&index);
    cache.reader = reader;
    CHECK(num_denied(&cache, false) == 0 && num_denied(&cache, true) > NUM_KEYS_STORED * 95 / 100);
    CHECK(cache.num_opened == file.num_stored && cache.num_loads > NUM_KEYS_STORED * 195 / 100);

    CHECK(filterblock_partitioned_reader_find_key(reader, "user000000", 10, &place));
    CHECK(place.number == 0 && place.offset == 3 && place.len > 0);
    CHECK(!filterblock_partitioned_reader_find_key(reader, "zebra", 5, &place)); /* Above all keys: denied unloaded. */
    CHECK(place.number == 0 && place.offset == 0 && place.len == 0);
    CHECK(!filterblock_partitioned_reader_may_contain(reader, "zebra", 5, NULL, NULL));
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.opened == 1 + file.num_stored && snapshot.mismatch + snapshot.damaged + snapshot.failed == 0);

    /* A cache that confuses partitions makes lookups maybe, and shows in the counters. */
    cache.shift = 1;
    CHECK(num_denied(&cache, false) == 0 && num_denied(&cache, true) == 0);
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.mismatch > NUM_KEYS_STORED * 195 / 100);
    empty(&cache);
    /* So are those whose partition does not open, or is not given. */
    cache.shift = 0;
    for (size_t i = 0; i < file.len; i += 40) file.bytes[i] ^= 0x55;
    CHECK(num_denied(&cache, false) == 0 && num_denied(&cache, true) == 0);
    CHECK(filterblock_partitioned_reader_may_contain(reader, "user000000x", 11, NULL, NULL));
    filterblock_partitioned_reader_free(reader);
    empty(&cache);
    filterblock_counters_free(counters);
}

/* A lookup in one table whose cache gives partitions of another, which were opened for that one or are opened for this. */
static enum outcome of_another_table(uint64_t context, uint64_t other_context, bool is_opened_for_other) {
    static struct file file, other_file;
    struct bytes index = written(&file, "blocked:16,seed=7", context);
    struct bytes other_index = written(&other_file, "blocked:12,seed=7", other_context);
    struct cache cache = {NULL, &other_file, {NULL}, 0, 0, 0};
    filterblock_partitioned_reader *reader = open_index(&index, context, 0, NULL);
    filterblock_partitioned_reader *other = open_index(&other_index, other_context, FILTERBLOCK_OPEN_TRUSTED, NULL);
    bool is_denied;

    cache.reader = is_opened_for_other ? other : reader;
    if (is_opened_for_other) CHECK(num_denied(&cache, true) > NUM_KEYS_STORED * 95 / 100);
    cache.reader = reader;
    is_denied = num_denied(&cache, true) > 0;
    empty(&cache);
    filterblock_partitioned_reader_free(other);
    filterblock_partitioned_reader_free(reader);
    drop(&index);
    drop(&other_index);
    return is_denied ? DENIES : MAYBE;
}

/* A cache keeps the partition of a table that was written anew: with as many keys, the same last one, and the same context,
 * so that the indexes are equal. */
static enum outcome of_an_equal_index(void) {
    static struct file files[2];
    struct bytes indexes[2];
    struct cache cache = {NULL, &files[0], {NULL}, 0, 0, 0};
    filterblock_partitioned_reader *old, *reader;
    unsigned denied = 0;
    char key[16];

    for (unsigned table = 0; table < 2; table++) {
        filterblock_builder *builder = builder_into(&files[table], "blocked:16,seed=7", NULL);
        OK(filterblock_builder_set_context(builder, 42));
        for (uint64_t i = 0; i < 100; i++) OK(filterblock_builder_add_key(builder, key, key_text(2 * i + table, false, key)));
        OK(filterblock_builder_add_key(builder, "zebra", 5));
        indexes[table] = finished(builder);
        filterblock_builder_free(builder);
    }
    CHECK(indexes[0].len == indexes[1].len && memcmp(indexes[0].data, indexes[1].data, indexes[0].len) == 0);
    old = open_index(&indexes[0], 42, 0, NULL);
    reader = open_index(&indexes[1], 42, 0, NULL);
    cache.reader = old;
    CHECK(filterblock_partitioned_reader_may_contain(old, "zebra", 5, load, &cache) && cache.num_opened == 1);
    cache.reader = reader;
    for (uint64_t i = 0; i < 100; i++)
        denied += !filterblock_partitioned_reader_may_contain(reader, key, key_text(2 * i + 1, false, key), load, &cache);
    empty(&cache);
    filterblock_partitioned_reader_free(old);
    filterblock_partitioned_reader_free(reader);
    drop(&indexes[0]);
    drop(&indexes[1]);
    return denied > 90 ? DENIES : MAYBE;
}

/* The keys of the partition after the right one are in it, and others are denied by it. */
static enum outcome of_another_number(void) {
    static struct file file;
    struct bytes index = written(&file, "blocked:16,seed=7", 0);
    struct cache cache = {NULL, &file, {NULL}, 0, 0, 0};
    filterblock_partitioned_reader *reader = open_index(&index, 0, 0, NULL);
    bool is_denied;

    cache.reader = reader;
    CHECK(num_denied(&cache, false) == 0);
    cache.shift = 1;
    is_denied = num_denied(&cache, false) > 0;
    empty(&cache);
    filterblock_partitioned_reader_free(reader);
    drop(&index);
    return is_denied ? DENIES : MAYBE;
}

static enum outcome opened_as_a_filter(void) {
    static struct file file;
    struct bytes index = written(&file, "blocked:16,seed=7", 0);
    filterblock_partitioned_reader *reader = open_index(&index, 0, 0, NULL);
    filterblock_partition place;
    filterblock_reader *partition;

    CHECK(filterblock_partitioned_reader_find_key(reader, "user", 4, &place));
    filterblock_reader_open(file.bytes + place.offset, place.len, NULL, NULL, &partition, NULL);
    filterblock_partitioned_reader_free(reader);
    drop(&index);
    return partition ? DENIES : REFUSED;
}

static enum outcome added_out_of_order(void) {
    static struct file file;
    filterblock_builder *builder = builder_into(&file, "blocked:16", NULL);
    uint8_t memory[64];
    size_t len;
    filterblock_builder_add_key(builder, "b", 1);
    filterblock_builder_add_key(builder, "a", 1);
    bool is_refused = filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL) != FILTERBLOCK_STATUS_OK;
    filterblock_builder_free(builder);
    return is_refused ? REFUSED : DENIES;
}

void commit_partition_mistakes(struct mistakes *noted) {
    note(noted, "keys are added to partitions out of order", REFUSED, added_out_of_order());
    note(noted, "a partition is opened as a filter of its own", REFUSED, opened_as_a_filter());
    note(noted, "a cache gives another partition of the table", MAYBE, of_another_number());
    note(noted, "a cache gives an opened partition of another table", MAYBE, of_another_table(0, 0, true));
    note(noted, "the same, with contexts", MAYBE, of_another_table(1, 2, true));
    note(noted, "a cache keeps the partition of a table that is written anew, with the same context", DENIES, of_an_equal_index());
    note(noted, "the block of another table's partition is opened, with contexts", MAYBE, of_another_table(1, 2, false));
    note(noted, "the block of another table's partition is opened, no contexts", DENIES, of_another_table(0, 0, false));
}

static void test_prefixes(void) {
    static struct file file;
    struct bytes index = written(&file, "ribbon:16,seed=7,transform=whole-key+prefix:8", 0);
    struct cache cache = {NULL, &file, {NULL}, 0, 0, 0};
    filterblock_partitioned_reader *reader = open_index(&index, 0, 0, NULL);
    unsigned num_absent = 0;
    char key[16];

    cache.reader = reader;
    for (uint64_t i = 0; i < NUM_KEYS_STORED; i += 10) {
        key_text(i, false, key);
        CHECK(filterblock_partitioned_reader_may_contain_prefix(reader, key, 8, load, &cache));
        CHECK(filterblock_partitioned_reader_may_contain_prefix(reader, key, 3, load, &cache)); /* No entry. */
        key[7] = 'x';
        num_absent += !filterblock_partitioned_reader_may_contain_prefix(reader, key, 8, load, &cache);
    }
    CHECK(num_absent > NUM_KEYS_STORED / 10 * 9 / 10);
    empty(&cache);
    filterblock_partitioned_reader_free(reader);
    drop(&index);
}

/* What fails is refused until the builder is cleared; an index that finds no memory is kept. */
static void test_refusals(void) {
    static struct file file;
    filterblock_policy *policy = policy_of("blocked:10"), *capped = policy_of("blocked:max=4096");
    filterblock_policy *rows = policy_of("blocked:10,transform=row");
    filterblock_builder *builder = builder_into(&file, "blocked:10,seed=7", NULL), *other = builder;
    filterblock_error error;
    uint8_t memory[4096];
    struct bytes index;
    size_t len;

    STATUS(ARGUMENT, filterblock_partition_builder_new(NULL, 0, store, &file, NULL, &other, NULL));
    CHECK(other == NULL);
    STATUS(ARGUMENT, filterblock_partition_builder_new(policy, 0, NULL, &file, NULL, &other, NULL));
    STATUS(ARGUMENT, filterblock_partition_builder_new(policy, 0, store, &file, NULL, NULL, NULL));
    STATUS(SETTING, filterblock_partition_builder_new(policy, 255, store, &file, NULL, &other, &error));
    CHECK(strstr(error.message, "256") != NULL);
    STATUS(SETTING, filterblock_partition_builder_new(capped, 0, store, &file, NULL, &other, NULL));
    STATUS(SETTING, filterblock_partition_builder_new(rows, 0, store, &file, NULL, &other, NULL));

    STATUS(NOT_BUILT, filterblock_builder_add_row(builder, "row", 3));
    OK(filterblock_builder_clear(builder));
    STATUS(NOT_BUILT, filterblock_builder_add_hash(builder, 7));
    OK(filterblock_builder_clear(builder));
    OK(filterblock_builder_add_key(builder, "b", 1));
    STATUS(NOT_BUILT, filterblock_builder_add_key(builder, "a", 1)); /* Not in order. */
    STATUS(INCOMPLETE, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_clear(builder));

    /* A store that fails, at a key and at the finish. */
    file.stores_left = 1;
    CHECK(filterblock_builder_max_block_len(builder) == 0);
    for (uint64_t i = 0; file.stores_left > 0; i++) {
        char key[16];
        OK(filterblock_builder_add_key(builder, key, key_text(i, false, key)));
    }
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, &error));
    CHECK(strstr(error.message, "storing partition 1") != NULL);
    STATUS(INCOMPLETE, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    STATUS(INCOMPLETE, filterblock_builder_add_key(builder, "z", 1));
    OK(filterblock_builder_clear(builder));
    file.stores_left = 1000;
    file.moved = 3; /* Offsets within the partition before. */
    OK(filterblock_builder_set_context(builder, 7));
    for (uint64_t i = 0; file.stores_left > 999; i++) {
        char key[16];
        OK(filterblock_builder_add_key(builder, key, key_text(i, false, key)));
    }
    OK(filterblock_builder_set_context(builder, 8)); /* Too late. */
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_clear(builder));

    file.moved = file.len = 0;
    add_texts(builder);
    CHECK(filterblock_builder_num_added(builder) == NUM_KEYS_STORED);
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, memory, 100, &len, NULL));
    CHECK(filterblock_builder_num_added(builder) == NUM_KEYS_STORED && len == 0);
    index = finished(builder); /* Nothing is stored again. */
    CHECK(filterblock_builder_num_added(builder) == 0 && filterblock_builder_num_without_entry(builder) == 0);
    drop(&index);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    filterblock_policy_free(capped);
    filterblock_policy_free(rows);
}

static void test_null_partitions(void) {
    static struct file file;
    struct bytes index = written(&file, "blocked:10", 0);
    filterblock_partitioned_reader *reader = open_index(&index, 0, 0, NULL), *other = reader;
    filterblock_partition_reader *partition = (filterblock_partition_reader *)&file;
    filterblock_partition place;

    STATUS(ARGUMENT, filterblock_partitioned_reader_open(NULL, 1, NULL, NULL, &other, NULL));
    STATUS(ARGUMENT, filterblock_partitioned_reader_open(index.data, index.len, NULL, NULL, NULL, NULL));
    STATUS(DAMAGED, filterblock_partitioned_reader_open(NULL, 0, NULL, NULL, &other, NULL));
    CHECK(!filterblock_partitioned_reader_find_key(NULL, "key", 3, &place) && place.len == 0);
    CHECK(!filterblock_partitioned_reader_find_key(reader, NULL, 3, &place));
    CHECK(!filterblock_partitioned_reader_find_key(reader, "key", 3, NULL));
    STATUS(ARGUMENT, filterblock_partitioned_reader_open_partition(NULL, 0, file.bytes, 64, 0, &partition, NULL));
    CHECK(partition == NULL);
    STATUS(ARGUMENT, filterblock_partitioned_reader_open_partition(reader, 9999, file.bytes, 64, 0, &partition, NULL));
    STATUS(ARGUMENT, filterblock_partitioned_reader_open_partition(reader, 0, NULL, 64, 0, &partition, NULL));
    STATUS(ARGUMENT, filterblock_partitioned_reader_open_partition(reader, 0, file.bytes, 64, 4, &partition, NULL));
    STATUS(ARGUMENT, filterblock_partitioned_reader_open_partition(reader, 0, file.bytes, 64, 0, NULL, NULL));
    CHECK(filterblock_partitioned_reader_may_contain(NULL, "zebra", 5, NULL, NULL));
    CHECK(filterblock_partitioned_reader_may_contain(reader, NULL, 5, NULL, NULL));
    CHECK(filterblock_partitioned_reader_may_contain_prefix(NULL, "zebra", 5, NULL, NULL));
    CHECK(filterblock_partitioned_reader_may_contain_prefix(reader, NULL, 5, NULL, NULL));
    filterblock_partitioned_reader_free(NULL);
    filterblock_partition_reader_free(NULL);
    filterblock_partitioned_reader_free(reader);
    drop(&index);
}

void test_partitions(void) {
    test_lookups("blocked:16,seed=7");
    test_lookups("ribbon:fpr=0.1%,seed=7");
    test_prefixes();
    test_refusals();
    test_null_partitions();
    printf("counted: %d keys in partitions, looked up in a cache of opened ones\n", 2 * NUM_KEYS_STORED);
}
