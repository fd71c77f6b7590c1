/* Every function of the interface, used as it should be and as it should not.  Prints what it has counted; ends with 1 at the
 * first thing that is wrong.  `./run` builds it, and runs it by itself, under valgrind and with AddressSanitizer. */

#include "test.h"

#include <math.h>
#include <pthread.h>

static void test_versions(void) {
    char name[32];
    CHECK(filterblock_abi_version() == FILTERBLOCK_ABI_VERSION);
    CHECK(strlen(filterblock_version()) >= 5);
    CHECK(strcmp(filterblock_status_name(FILTERBLOCK_STATUS_OK), "ok") == 0);
    CHECK(strcmp(filterblock_status_name(FILTERBLOCK_STATUS_PANIC), "panic") == 0);
    CHECK(strcmp(filterblock_status_name(13), "unknown") == 0);
    CHECK(strcmp(filterblock_status_name(UINT32_MAX), "unknown") == 0);
    CHECK(filterblock_kind_name(FILTERBLOCK_KIND_RIBBON, name, sizeof name) == 6 && strcmp(name, "ribbon") == 0);
    CHECK(filterblock_kind_name(77, name, sizeof name) == 0 && name[0] == 0);
}

static void test_policies(void) {
    filterblock_policy *policy = NULL, *copy;
    filterblock_error error;
    char text[128], cut[8];
    uint64_t hash, other;

    OK(filterblock_policy_from_text("ribbon:fpr=0.01,seed=7", &policy, &error));
    CHECK(error.status == FILTERBLOCK_STATUS_OK && error.message[0] == 0);
    CHECK(filterblock_policy_text(policy, text, sizeof text) == strlen("ribbon:fpr=0.01,seed=7"));
    CHECK(strcmp(text, "ribbon:fpr=0.01,seed=7") == 0);
    CHECK(filterblock_policy_text(policy, cut, sizeof cut) == strlen(text) && strcmp(cut, "ribbon:") == 0);
    CHECK(filterblock_policy_text(policy, NULL, 0) == strlen(text));

    CHECK(filterblock_policy_hash_key(policy, "key", 3, &hash));
    copy = filterblock_policy_copy(policy);
    OK(filterblock_policy_set_seed(copy, 8));
    CHECK(filterblock_policy_hash_key(copy, "key", 3, &other) && other != hash);
    OK(filterblock_policy_set_seed(copy, 7));
    CHECK(filterblock_policy_hash_key(copy, "key", 3, &other) && other == hash);
    OK(filterblock_policy_set_secret_key(copy, "sixteen bytes..."));
    CHECK(filterblock_policy_hash_key(copy, "key", 3, &other) && other != hash);
    OK(filterblock_policy_set_transform(copy, "prefix:4", &error));
    CHECK(!filterblock_policy_hash_key(copy, "key", 3, &other));
    STATUS(SETTING, filterblock_policy_set_transform(copy, "prefix", &error));
    CHECK(strstr(error.message, "prefix:LEN") != NULL);
    OK(filterblock_policy_set_self_check(copy, false));
    OK(filterblock_policy_set_level(copy, 3));
    filterblock_policy_free(copy);
    filterblock_policy_free(policy);

    STATUS(SETTING, filterblock_policy_from_text("blocked:1", &policy, &error));
    CHECK(policy == NULL && strstr(error.message, "2 to 64") != NULL);
    CHECK(error.status == FILTERBLOCK_STATUS_SETTING);
    STATUS(ARGUMENT, filterblock_policy_from_text("blocked:10\xff", &policy, &error));
    CHECK(strstr(error.message, "policy_text") != NULL);
    for (uint32_t kind = FILTERBLOCK_KIND_AUTO; kind <= FILTERBLOCK_KIND_FUSE; kind++) {
        OK(filterblock_policy_with_bits_per_key(kind, 10, &policy, NULL));
        filterblock_policy_free(policy);
        OK(filterblock_policy_with_false_positive_rate(kind, 0.01, &policy, NULL));
        filterblock_policy_free(policy);
        OK(filterblock_policy_with_max_bytes(kind, 4096, &policy, NULL));
        filterblock_policy_free(policy);
        STATUS(SETTING, filterblock_policy_with_bits_per_key(kind, NAN, &policy, NULL));
        STATUS(SETTING, filterblock_policy_with_false_positive_rate(kind, 1, &policy, NULL));
        STATUS(SETTING, filterblock_policy_with_max_bytes(kind, 63, &policy, NULL));
        CHECK(policy == NULL);
    }
    STATUS(ARGUMENT, filterblock_policy_with_bits_per_key(200, 10, &policy, &error));
    STATUS(ARGUMENT, filterblock_policy_with_bits_per_key(256 + FILTERBLOCK_KIND_BLOOM, 10, &policy, &error));
}

static void test_sizes(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    uint64_t len, more, num_entries;
    double rate;

    OK(filterblock_policy_block_len(policy, 10000, &len, NULL));
    OK(filterblock_policy_max_block_len(policy, 10000, &more, NULL));
    CHECK(len == 12480 && more == len);
    num_entries = filterblock_policy_num_entries(policy, len);
    CHECK(num_entries >= 10000);
    OK(filterblock_policy_block_len(policy, num_entries, &more, NULL));
    CHECK(more <= len);
    OK(filterblock_policy_block_len(policy, num_entries + 1, &more, NULL));
    CHECK(more > len);
    OK(filterblock_policy_max_compact_len(policy, 0, &len, NULL));
    CHECK(len == 1);
    OK(filterblock_policy_false_positive_rate(policy, 1000000, &rate, NULL));
    CHECK(rate > 0.006 && rate < 0.0063);
    STATUS(NOT_BUILT, filterblock_policy_block_len(policy, UINT64_MAX, &len, NULL));
    CHECK(len == 0);
    filterblock_policy_free(policy);
}

/* Every way to finish gives the same bytes, and leaves a builder that can be used again. */
static void finish_in_all_ways(filterblock_builder *builder, uint64_t num_keys) {
    filterblock_bytes owned, frame;
    filterblock_allocator allocator = counting_allocator();
    filterblock_error error;
    size_t len, capacity;
    void *memory;

    add_keys(builder, num_keys);
    OK(filterblock_builder_finish(builder, &owned, &error));
    CHECK(filterblock_builder_num_added(builder) == 0);

    add_keys(builder, num_keys);
    capacity = filterblock_builder_max_block_len(builder);
    CHECK(capacity >= owned.len);
    memory = malloc(capacity + 1);
    /* At an odd address; too short first. */
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, (char *)memory + 1, owned.len - 1, &len, &error));
    CHECK(len == 0 && (filterblock_builder_num_added(builder) > 0) == (num_keys > 0));
    OK(filterblock_builder_finish_into(builder, (char *)memory + 1, capacity, &len, &error));
    CHECK(len == owned.len && memcmp((char *)memory + 1, owned.data, len) == 0);
    free(memory);

    add_keys(builder, num_keys);
    allocations_left = 0;
    STATUS(NO_MEMORY, filterblock_builder_finish_with(builder, &allocator, &memory, &len, &error));
    CHECK(memory == NULL && len == 0);
    allocations_left = 9;
    OK(filterblock_builder_finish_with(builder, &allocator, &memory, &len, &error));
    CHECK(len == owned.len && memcmp(memory, owned.data, len) == 0);
    free(memory);
    bytes_allocated = 0;

    add_keys(builder, num_keys);
    OK(filterblock_builder_finish_compact(builder, &frame, &error));
    add_keys(builder, num_keys);
    capacity = filterblock_builder_max_compact_len(builder);
    CHECK(capacity >= frame.len);
    memory = malloc(capacity);
    OK(filterblock_builder_finish_compact_into(builder, memory, capacity, &len, &error));
    CHECK(len == frame.len && memcmp(memory, frame.data, len) == 0);
    free(memory);
    add_keys(builder, num_keys);
    OK(filterblock_builder_finish_compact_with(builder, &allocator, &memory, &len, &error));
    CHECK(len == frame.len && memcmp(memory, frame.data, len) == 0);
    free(memory);
    bytes_allocated = 0;

    filterblock_bytes_free(&frame);
    CHECK(frame.data == NULL && frame.len == 0);
    filterblock_bytes_free(&frame);
    filterblock_bytes_free(&owned);
}

static void test_builders(void) {
    static const char *const sizes[] = {"10", "fpr=0.3%", "max=65536"};
    static const uint64_t numbers[] = {0, 1, 2, 50, 1000, 6000};
    char text[64];
    unsigned num_builders = 0;

    for (uint32_t kind = FILTERBLOCK_KIND_AUTO; kind <= FILTERBLOCK_KIND_FUSE; kind++) {
        for (size_t size = 0; size < LENGTH(sizes); size++) {
            char name[16] = "auto";
            if (kind != FILTERBLOCK_KIND_AUTO) filterblock_kind_name(kind, name, sizeof name);
            snprintf(text, sizeof text, "%s:%s,seed=7", name, sizes[size]);
            filterblock_policy *policy = policy_of(text);
            filterblock_builder *builder = filterblock_builder_new(policy);
            filterblock_policy_free(policy);
            for (size_t i = 0; i < LENGTH(numbers); i++, num_builders++) {
                finish_in_all_ways(builder, numbers[i]);
            }
            filterblock_builder_free(builder);
        }
    }
    CHECK(bytes_allocated == 0);
    printf("counted: %u blocks and compact frames, finished in three ways each\n", num_builders);
}

/* Entries that are repeated far apart: the plan of as many distinct ones does not hold. */
static void test_repeated_entries(void) {
    for (uint32_t kind = FILTERBLOCK_KIND_AUTO; kind <= FILTERBLOCK_KIND_FUSE; kind++) {
        filterblock_policy *policy;
        filterblock_builder *builder;
        filterblock_allocator allocator = counting_allocator();
        filterblock_bytes once;
        size_t len;
        void *memory;

        OK(filterblock_policy_with_false_positive_rate(kind, 0.01, &policy, NULL));
        builder = filterblock_builder_new(policy);
        add_keys(builder, 3000);
        OK(filterblock_builder_finish(builder, &once, NULL));
        for (int i = 0; i < 4; i++) add_keys(builder, 3000);
        CHECK(filterblock_builder_num_added(builder) == 12000);
        OK(filterblock_builder_finish_with(builder, &allocator, &memory, &len, NULL));
        CHECK(len == once.len && memcmp(memory, once.data, len) == 0);
        free(memory);
        bytes_allocated = 0;
        filterblock_bytes_free(&once);
        filterblock_builder_free(builder);
        filterblock_policy_free(policy);
    }
}

/* 150 entries of fuse need more bytes than the 151 that they are taken for: the allocator gets its memory back. */
static void test_a_plan_that_does_not_hold(void) {
    filterblock_policy *policy = policy_of("fuse:fpr=1%");
    filterblock_builder *builder = filterblock_builder_new(policy);
    filterblock_allocator allocator = counting_allocator();
    filterblock_bytes once;
    char memory[1024];
    size_t len, max_len;
    void *block;

    add_keys(builder, 150);
    OK(filterblock_builder_finish(builder, &once, NULL));
    add_keys(builder, 150);
    add_keys(builder, 1);
    max_len = filterblock_builder_max_block_len(builder);
    CHECK(max_len < once.len);
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, memory, max_len, &len, NULL));
    max_len = filterblock_builder_max_block_len(builder); /* Of the distinct entries. */
    OK(filterblock_builder_finish_into(builder, memory, max_len, &len, NULL));
    CHECK(len == once.len && memcmp(memory, once.data, len) == 0);

    add_keys(builder, 150);
    add_keys(builder, 1);
    allocations_left = 1;
    STATUS(NO_MEMORY, filterblock_builder_finish_with(builder, &allocator, &block, &len, NULL));
    CHECK(block == NULL && bytes_allocated == 0);
    filterblock_builder_clear(builder);
    add_keys(builder, 150);
    add_keys(builder, 1);
    allocations_left = 2;
    OK(filterblock_builder_finish_with(builder, &allocator, &block, &len, NULL));
    CHECK(allocations_left == 0 && bytes_allocated == len);
    CHECK(len == once.len && memcmp(block, once.data, len) == 0);
    free(block);
    bytes_allocated = 0;
    filterblock_bytes_free(&once);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

/* A key that could not be added would be denied: the builder refuses to finish. */
static void test_incomplete_builders(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 0, 0, 0, 0, 0, 0};
    filterblock_builder *builder = filterblock_builder_new(policy);
    filterblock_error error;
    filterblock_bytes bytes;

    OK(filterblock_builder_count_in(builder, counters));
    OK(filterblock_builder_set_parallel(builder, true));
    OK(filterblock_builder_reserve(builder, 100));
    STATUS(NO_MEMORY, filterblock_builder_reserve(builder, SIZE_MAX));
    STATUS(ARGUMENT, filterblock_builder_add_key(builder, NULL, 1));
    STATUS(INCOMPLETE, filterblock_builder_finish(builder, &bytes, &error));
    CHECK(bytes.data == NULL && bytes.len == 0 && strstr(error.message, "argument") != NULL);
    STATUS(ARGUMENT, filterblock_builder_add_row(builder, "row", SIZE_MAX));
    STATUS(ARGUMENT, filterblock_builder_add_row_column(builder, "row", 3, NULL, 1));
    STATUS(ARGUMENT, filterblock_builder_add_entry(builder, NULL, 7));
    OK(filterblock_builder_clear(builder));
    OK(filterblock_builder_add_key(builder, NULL, 0));
    OK(filterblock_builder_add_hash(builder, 42));
    /* A row has no entry among whole keys. */
    OK(filterblock_builder_add_row(builder, "row", 3));
    CHECK(filterblock_builder_num_added(builder) == 2 && filterblock_builder_num_without_entry(builder) == 1);
    OK(filterblock_builder_finish(builder, &bytes, &error));
    filterblock_bytes_free(&bytes);

    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == 1 && snapshot.unfinished == 1);
    filterblock_counters_free(counters);
    OK(filterblock_builder_finish(builder, &bytes, &error)); /* The builder keeps its counters. */
    OK(filterblock_builder_count_in(builder, NULL));
    filterblock_bytes_free(&bytes);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);

    policy = policy_of("blocked:max=64");
    builder = filterblock_builder_new(policy);
    add_keys(builder, 1000);
    CHECK(filterblock_builder_max_block_len(builder) == 0);
    STATUS(NOT_BUILT, filterblock_builder_finish(builder, &bytes, &error));
    CHECK(strstr(error.message, "1000 entries") != NULL);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}

struct shared {
    const filterblock_reader *reader;
    filterblock_counters *counters;
    filterblock_bytes block;
    uint64_t num_denied;
};

static void *probe_in_thread(void *argument) {
    struct shared *shared = argument;
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    union {
        char bytes[FILTERBLOCK_READER_SIZE + FILTERBLOCK_READER_ALIGN];
        uint64_t aligned;
    } storage;
    char key[KEY_LEN];

    options.counters = shared->counters;
    for (uint64_t i = 0; i < NUM_KEYS; i++) {
        const filterblock_reader *own = filterblock_reader_init_or_maybe(
            &storage, sizeof storage, shared->block.data, shared->block.len - (i % 100 == 0), &options);
        key_of(i, key);
        shared->num_denied += !filterblock_reader_may_contain(shared->reader, key, KEY_LEN);
        shared->num_denied += !filterblock_reader_may_contain(own, key, KEY_LEN);
    }
    return NULL;
}

static void test_threads(void) {
    enum { NUM_THREADS = 4 };
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 0, 0, 0, 0, 0, 0};
    filterblock_bytes block = block_of("ribbon:10", NUM_KEYS);
    filterblock_reader *reader = NULL;
    pthread_t threads[NUM_THREADS];
    struct shared shared[NUM_THREADS];

    OK(filterblock_reader_open(block.data, block.len, NULL, &reader, NULL));
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
    filterblock_bytes_free(&block);
    filterblock_counters_free(counters);
}

static void test_ledger(void) {
    filterblock_ledger *ledger = filterblock_ledger_new();
    filterblock_bytes block = block_of("blocked:10", NUM_KEYS);
    filterblock_reader *reader = filterblock_reader_open_or_maybe(block.data, block.len, NULL);
    filterblock_account *account = filterblock_ledger_open_account(ledger, 1, 0, reader);
    filterblock_account *bare = filterblock_ledger_open_account(ledger, 2, 1, NULL);
    char text[16384], cut[16];

    OK(filterblock_account_count(account, FILTERBLOCK_LOOKUP_OUTCOME_AVOIDED, false));
    OK(filterblock_account_note_read(account, 4096));
    OK(filterblock_account_count(account, FILTERBLOCK_LOOKUP_OUTCOME_TRUE_POSITIVE, true));
    OK(filterblock_account_note_cache_hit(bare));
    OK(filterblock_account_count(bare, FILTERBLOCK_LOOKUP_OUTCOME_NO_FILTER, true));
    STATUS(ARGUMENT, filterblock_account_count(account, FILTERBLOCK_LOOKUP_OUTCOME_FAILED + 1, false));
    OK(filterblock_ledger_note_unfinished(ledger));
    filterblock_account_close(bare);
    CHECK(filterblock_ledger_json(ledger, text, sizeof text) < sizeof text);
    CHECK(strstr(text, "\"avoided\":1") != NULL && strstr(text, "\"no_filter\":1") != NULL);
    CHECK(strstr(text, "\"filters_not_built\":1") != NULL);
    CHECK(filterblock_ledger_json(ledger, cut, sizeof cut) == strlen(text) && strlen(cut) == sizeof cut - 1);
    CHECK(filterblock_ledger_text(ledger, text, sizeof text) > 0 && strstr(text, "key") != NULL);
    CHECK(filterblock_ledger_prometheus(ledger, text, sizeof text) > 0 && strstr(text, "# TYPE") != NULL);
    filterblock_ledger_free(ledger);
    OK(filterblock_account_count(account, FILTERBLOCK_LOOKUP_OUTCOME_AVOIDED, false));
    filterblock_account_close(account);
    filterblock_reader_free(reader);
    filterblock_bytes_free(&block);
}

int main(void) {
    test_versions();
    test_policies();
    test_sizes();
    test_builders();
    test_repeated_entries();
    test_a_plan_that_does_not_hold();
    test_incomplete_builders();
    test_readers();
    test_threads();
    test_ledger();
    test_null();
    printf("counted: %lu checks of the C interface\n", num_checks);
    return 0;
}
