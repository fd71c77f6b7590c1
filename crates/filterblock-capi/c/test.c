/* Every function of the interface, used as it should be and as it should not.  Prints what it has counted; ends with 1 at the
 * first thing that is wrong.  `../run` builds it, and runs it by itself, under valgrind and with AddressSanitizer. */

#include "test.h"

#include <pthread.h>

static const char *const kinds[] = {"auto", "bloom", "blocked", "golomb", "ribbon", "fuse"};

static void test_versions(void) {
    CHECK(filterblock_abi_version() == FILTERBLOCK_ABI_VERSION);
    CHECK(strlen(filterblock_version()) >= 5);
    CHECK(strcmp(filterblock_status_name(FILTERBLOCK_STATUS_OK), "ok") == 0);
    CHECK(strcmp(filterblock_status_name(FILTERBLOCK_STATUS_PANIC), "panic") == 0);
    CHECK(strcmp(filterblock_status_name(12), "unknown") == 0);
    CHECK(strcmp(filterblock_status_name(UINT32_MAX), "unknown") == 0);
    CHECK(sizeof(filterblock_status) == sizeof(uint32_t) && sizeof(filterblock_error) == 512);
}

/* The hash of one key, which must have an entry. */
static uint64_t hash_of(const filterblock_policy *policy) {
    uint64_t hash;
    CHECK(filterblock_policy_hash_key(policy, "key", 3, &hash));
    return hash;
}

static void test_policies(void) {
    filterblock_policy *policy = NULL, *other;
    filterblock_error error;
    char text[128], cut[8];
    uint64_t hash, plain;

    OK(filterblock_policy_from_text("ribbon:fpr=0.01,seed=7", &policy, &error));
    CHECK(error.status == FILTERBLOCK_STATUS_OK && error.message[0] == 0 && error.reserved[0] == 0);
    CHECK(filterblock_policy_text(policy, text, sizeof text) == 22 && strcmp(text, "ribbon:fpr=0.01,seed=7") == 0);
    CHECK(filterblock_policy_text(policy, cut, sizeof cut) == 22 && strcmp(cut, "ribbon:") == 0);
    CHECK(filterblock_policy_text(policy, NULL, 0) == 22);
    plain = hash_of(policy);
    other = policy_of("blocked:10,seed=8");
    CHECK(hash_of(other) != plain);
    filterblock_policy_free(other);
    other = policy_of("blocked:10,seed=7");
    CHECK(hash_of(other) == plain);
    OK(filterblock_policy_set_secret_key(other, "sixteen bytes..."));
    CHECK(hash_of(other) != plain);
    filterblock_policy_free(other);
    filterblock_policy_free(policy);

    /* A key that is too short has no entry. */
    policy = policy_of("blocked:10,transform=prefix:4");
    CHECK(!filterblock_policy_hash_key(policy, "key", 3, &hash) && hash == 0);
    filterblock_policy_free(policy);

    policy = policy_of("auto:10");
    other = filterblock_policy_at_level(policy, 3);
    filterblock_policy_free(policy);
    CHECK(filterblock_policy_text(other, text, sizeof text) > 0 && strcmp(text, "auto:10,level=3") == 0);
    filterblock_policy_free(other);

    STATUS(SETTING, filterblock_policy_from_text("blocked:1", &policy, &error));
    CHECK(policy == NULL && strstr(error.message, "2 to 64") != NULL && error.status == FILTERBLOCK_STATUS_SETTING);
    STATUS(ARGUMENT, filterblock_policy_from_text("blocked:10\xff", &policy, &error));
    CHECK(strstr(error.message, "policy_text") != NULL);
    STATUS(SETTING, filterblock_policy_from_text("blocked:10,transform=prefix", &policy, &error));
    CHECK(strstr(error.message, "prefix:LEN") != NULL);
}

static void test_predictions(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    filterblock_prediction prediction, other;
    filterblock_error error;
    uint64_t num_entries;

    prediction.size = other.size = sizeof prediction;
    OK(filterblock_policy_predict(policy, 10000, &prediction, &error));
    CHECK(prediction.size == other.size && prediction.block_len == 12480 && prediction.max_block_len == 12480);
    num_entries = filterblock_policy_num_entries(policy, prediction.block_len);
    CHECK(num_entries >= 10000);
    OK(filterblock_policy_predict(policy, num_entries, &other, NULL));
    CHECK(other.block_len <= prediction.block_len);
    OK(filterblock_policy_predict(policy, num_entries + 1, &other, NULL));
    CHECK(other.block_len > prediction.block_len);
    OK(filterblock_policy_predict(policy, 1000000, &other, NULL));
    CHECK(other.false_positive_rate > 0.006 && other.false_positive_rate < 0.0063);
    STATUS(NOT_BUILT, filterblock_policy_predict(policy, UINT64_MAX, &prediction, &error));
    CHECK(prediction.block_len == 12480 && error.message[0] != 0);
    prediction.size--;
    STATUS(ARGUMENT, filterblock_policy_predict(policy, 1, &prediction, &error));
    filterblock_policy_free(policy);
}

/* Both ways to finish give the same bytes, and leave a builder that can be used again. Entries that are repeated far apart
 * change nothing: the plan of as many distinct ones does not hold. */
static void finish_in_both_ways(filterblock_builder *builder, uint64_t num_keys) {
    filterblock_allocator allocator = counting_allocator();
    filterblock_error error;
    size_t len, capacity;
    struct bytes block;
    filterblock_reader *reader;
    char key[KEY_LEN];
    void *memory;

    OK(filterblock_builder_allow_empty(builder));
    add_keys(builder, num_keys);
    allocations_left = 0;
    STATUS(NO_MEMORY, filterblock_builder_finish_with(builder, &allocator, &memory, &len, &capacity, &error));
    CHECK(memory == NULL && len == 0 && capacity == 0);
    for (int i = 0; i < 3; i++) add_keys(builder, num_keys);
    block = finished(builder);
    CHECK(filterblock_builder_num_added(builder) == 0);

    OK(filterblock_builder_allow_empty(builder));
    add_keys(builder, num_keys);
    capacity = filterblock_builder_max_block_len(builder);
    CHECK(capacity >= block.len);
    memory = malloc(capacity + 1);
    /* At an odd address; too short first. */
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, (char *)memory + 1, block.len - 1, &len, &error));
    CHECK(len == 0 && (filterblock_builder_num_added(builder) > 0) == (num_keys > 0));
    OK(filterblock_builder_finish_into(builder, (char *)memory + 1, capacity, &len, &error));
    CHECK(len == block.len && memcmp((char *)memory + 1, block.data, len) == 0);
    free(memory);
    reader = open_block(&block, NULL);
    for (uint64_t i = 0; i < num_keys; i++) {
        key_of(i, key);
        CHECK(filterblock_reader_may_contain(reader, key, KEY_LEN));
    }
    filterblock_reader_free(reader);
    drop(&block);
}

/* Every policy that its text's parser accepts builds of any number of keys. */
static void test_builders(void) {
    static const char *const sizes[] = {"2", "10", "64", "fpr=0.2", "fpr=0.3%", "fpr=1e-9", "max=65536", "max=63"};
    static const char *const settings[] = {"seed=7", "salt_bits=6,self_check=off", "slots_per_key=1.2", "level=255",
                                           "transform=prefix:1", "transform=whole-key+prefix:65535"};
    static const uint64_t numbers[] = {0, 1, 2, 50, 1000, 6000};
    char text[96];
    unsigned num_blocks = 0, num_refused = 0;

    for (unsigned at = 0; at < LENGTH(kinds) * LENGTH(sizes) * LENGTH(settings); at++) {
        size_t setting = at % LENGTH(settings), size = at / LENGTH(settings) % LENGTH(sizes);
        const char *kind = kinds[at / LENGTH(settings) / LENGTH(sizes)];
        filterblock_policy *policy = NULL;
        snprintf(text, sizeof text, "%s:%s,%s", kind, sizes[size], settings[setting]);
        num_refused += filterblock_policy_from_text(text, &policy, NULL) != FILTERBLOCK_STATUS_OK;
        if (policy == NULL) continue;
        filterblock_builder *builder = filterblock_builder_new(policy, NULL);
        filterblock_policy_free(policy);
        for (size_t i = 0; i < (setting == 0 ? LENGTH(numbers) : 4); i++, num_blocks++) {
            finish_in_both_ways(builder, numbers[i]);
        }
        filterblock_builder_free(builder);
    }
    CHECK(bytes_allocated == 0 && num_refused > 20 && num_refused < 150);
    printf("counted: %u blocks, finished in two ways each\n", num_blocks);
}

/* 170 entries of fuse need more bytes than the 171 that they are taken for: the allocator gets its memory back. */
static void test_a_plan_that_does_not_hold(void) {
    filterblock_policy *policy = policy_of("fuse:fpr=1%");
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_allocator allocator = counting_allocator();
    struct bytes once;
    char memory[1024];
    size_t len, max_len, capacity;
    void *block;

    add_keys(builder, 170);
    once = finished(builder);
    add_keys(builder, 170);
    add_keys(builder, 1);
    max_len = filterblock_builder_max_block_len(builder);
    CHECK(max_len < once.len);
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, memory, max_len, &len, NULL));
    max_len = filterblock_builder_max_block_len(builder); /* Of the distinct entries. */
    OK(filterblock_builder_finish_into(builder, memory, max_len, &len, NULL));
    CHECK(len == once.len && memcmp(memory, once.data, len) == 0);
    drop(&once);

    add_keys(builder, 170);
    add_keys(builder, 1);
    allocations_left = 1;
    STATUS(NO_MEMORY, filterblock_builder_finish_with(builder, &allocator, &block, &len, &capacity, NULL));
    CHECK(block == NULL && bytes_allocated == 0);
    filterblock_builder_clear(builder);
    add_keys(builder, 170);
    add_keys(builder, 1);
    allocations_left = 2;
    OK(filterblock_builder_finish_with(builder, &allocator, &block, &len, NULL, NULL));
    CHECK(allocations_left == 0 && bytes_allocated == len);
    CHECK(memcmp(memory, block, len) == 0);
    give_back(&bytes_allocated, block, len);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

/* A key that could not be added would be denied: the builder refuses to finish. */
static void test_incomplete_builders(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    filterblock_builder *builder = filterblock_builder_new(policy, counters);
    filterblock_allocator allocator = counting_allocator();
    filterblock_error error;
    struct bytes block;
    void *memory;
    size_t len;

    STATUS(ARGUMENT, filterblock_builder_add_key(builder, NULL, 1));
    STATUS(INCOMPLETE, filterblock_builder_finish_with(builder, &allocator, &memory, &len, NULL, &error));
    CHECK(memory == NULL && len == 0 && strstr(error.message, "argument") != NULL);
    STATUS(ARGUMENT, filterblock_builder_add_row(builder, "row", SIZE_MAX));
    STATUS(ARGUMENT, filterblock_builder_add_row_column(builder, "row", 3, NULL, 1));
    OK(filterblock_builder_clear(builder));
    OK(filterblock_builder_add_key(builder, NULL, 0));
    OK(filterblock_builder_add_hash(builder, 42));
    CHECK(filterblock_builder_num_added(builder) == 2);
    block = finished(builder);
    drop(&block);

    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == 1 && snapshot.unfinished == 1);
    filterblock_counters_free(counters);
    OK(filterblock_builder_add_hash(builder, 42));
    block = finished(builder); /* The builder keeps its counters. */
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);

    policy = policy_of("blocked:max=64");
    builder = filterblock_builder_new(policy, NULL);
    add_keys(builder, 1000);
    CHECK(filterblock_builder_max_block_len(builder) == 0);
    STATUS(NOT_BUILT, filterblock_builder_finish_with(builder, &allocator, &memory, &len, NULL, &error));
    CHECK(strstr(error.message, "1000 entries") != NULL);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

/* A second finish makes no block that denies every key, and neither do keys of another form. */
static void test_empty_and_other_forms(void) {
    filterblock_policy *policy = policy_of("blocked:10,transform=row+column");
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    unsigned char memory[256];
    filterblock_error error;
    struct bytes block;
    size_t len;

    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_add_row_column(builder, "row", 3, "column", 6));
    block = finished(builder);
    drop(&block);
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_allow_empty(builder));
    OK(filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    CHECK(len == 64);
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));

    OK(filterblock_builder_add_row_column(builder, "row", 3, "column", 6));
    STATUS(NOT_BUILT, filterblock_builder_add_row(builder, "row", 3));
    STATUS(NOT_BUILT, filterblock_builder_add_row_column(builder, "row", 3, "column", 6)); /* Until it is cleared. */
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, &error));
    CHECK(strstr(error.message, "row+column") != NULL);
    OK(filterblock_builder_clear(builder));
    OK(filterblock_builder_add_row_column(builder, "row", 3, "column", 6));
    STATUS(NOT_BUILT, filterblock_builder_add_key(builder, "key", 3));
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);

    /* Keys none of which has an entry: the block says so, and so does the builder. */
    policy = policy_of("blocked:10,transform=delimited:/");
    builder = filterblock_builder_new(policy, NULL);
    OK(filterblock_builder_add_key(builder, "key", 3));
    OK(filterblock_builder_add_key(builder, "", 0));
    CHECK(filterblock_builder_num_without_entry(builder) == 2 && filterblock_builder_num_added(builder) == 0);
    OK(filterblock_builder_add_key(builder, "lo/g", 4));
    CHECK(filterblock_builder_num_without_entry(builder) == 2 && filterblock_builder_num_added(builder) == 1);
    block = finished(builder);
    drop(&block);
    CHECK(filterblock_builder_num_without_entry(builder) == 0);
    OK(filterblock_builder_add_key(builder, "key", 3));
    block = finished(builder);
    CHECK(block.len == 64);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

struct shared {
    const filterblock_reader *reader;
    filterblock_counters *counters;
    struct bytes block;
    uint64_t num_denied;
};

static void *probe_in_thread(void *argument) {
    struct shared *shared = argument;
    union {
        char bytes[FILTERBLOCK_READER_SIZE + FILTERBLOCK_READER_ALIGN];
        uint64_t aligned;
    } storage;
    char key[KEY_LEN];

    for (uint64_t i = 0; i < NUM_KEYS; i++) {
        filterblock_reader *own;
        filterblock_reader_init(&storage, sizeof storage, shared->block.data, shared->block.len - (i % 100 == 0), NULL,
                                shared->counters, &own, NULL);
        shared->num_denied += (own == NULL) != (i % 100 == 0);
        key_of(i, key);
        shared->num_denied += !filterblock_reader_may_contain(shared->reader, key, KEY_LEN);
        shared->num_denied += !filterblock_reader_may_contain(own, key, KEY_LEN);
    }
    return NULL;
}

static void test_threads(void) {
    enum { NUM_THREADS = 4 };
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct bytes block = block_of("ribbon:10", NUM_KEYS);
    filterblock_reader *reader = open_block(&block, NULL);
    pthread_t threads[NUM_THREADS];
    struct shared shared[NUM_THREADS];

    for (int i = 0; i < NUM_THREADS; i++) {
        shared[i].reader = reader;
        shared[i].counters = counters;
        shared[i].block = block;
        shared[i].num_denied = 0;
        CHECK(pthread_create(&threads[i], NULL, probe_in_thread, &shared[i]) == 0);
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(shared[i].num_denied == 0);
    }
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.damaged == NUM_THREADS * ((NUM_KEYS + 99) / 100));
    CHECK(snapshot.opened == NUM_THREADS * NUM_KEYS - snapshot.damaged);
    printf("counted: %d probes by %d threads, none denied\n", 2 * NUM_THREADS * NUM_KEYS, NUM_THREADS);
    filterblock_reader_free(reader);
    drop(&block);
    filterblock_counters_free(counters);
}

int main(void) {
    test_versions();
    test_policies();
    test_predictions();
    test_builders();
    test_a_plan_that_does_not_hold();
    test_incomplete_builders();
    test_empty_and_other_forms();
    test_readers();
    test_nothing();
    test_verdict();
    test_misuse();
    test_threads();
    test_null();
    test_ranges();
    test_partitions();
    CHECK(bytes_allocated == 0);
    printf("counted: %lu checks of the C interface\n", num_checks);
    return 0;
}
