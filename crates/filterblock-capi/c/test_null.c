/* Every function with null pointers, one argument at a time where more than one may be null.  The header's functions are counted
 * against these files by `../run`. */

#include "test.h"

#define MISUSED(call) STATUS(ARGUMENT, call)

static void test_null_policies(filterblock_policy *policy) {
    filterblock_policy *made = policy;
    filterblock_prediction prediction;
    uint64_t hash = 7;
    char text[8];

    MISUSED(filterblock_policy_from_text(NULL, &made, NULL));
    CHECK(made == NULL);
    MISUSED(filterblock_policy_from_text("blocked:10", NULL, NULL));
    CHECK(filterblock_policy_at_level(NULL, 3) == NULL);
    filterblock_policy_free(NULL);
    MISUSED(filterblock_policy_set_secret_key(NULL, "sixteen bytes..."));
    MISUSED(filterblock_policy_set_secret_key(policy, NULL));
    CHECK(filterblock_policy_text(NULL, text, sizeof text) == 0 && text[0] == 0);
    CHECK(!filterblock_policy_hash_key(NULL, "key", 3, &hash) && hash == 0);
    CHECK(!filterblock_policy_hash_key(policy, NULL, 3, &hash));
    CHECK(!filterblock_policy_hash_key(policy, "key", 3, NULL));
    prediction.size = sizeof prediction;
    MISUSED(filterblock_policy_predict(NULL, 1, &prediction, NULL));
    MISUSED(filterblock_policy_predict(policy, 1, NULL, NULL));
    CHECK(filterblock_policy_num_entries(NULL, 4096) == 0);
}

static void test_null_builders(const filterblock_policy *policy) {
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    filterblock_allocator allocator = counting_allocator(), no_functions = allocator, no_size = allocator;
    size_t len = 7, capacity = 7;
    void *memory = &len;
    struct bytes block;

    CHECK(filterblock_builder_new(NULL, NULL) == NULL);
    filterblock_builder_free(NULL);
    MISUSED(filterblock_builder_clear(NULL));
    MISUSED(filterblock_builder_set_context(NULL, 7));
    MISUSED(filterblock_builder_allow_empty(NULL));
    MISUSED(filterblock_builder_add_key(NULL, "key", 3));
    MISUSED(filterblock_builder_add_row(NULL, "row", 3));
    MISUSED(filterblock_builder_add_row_column(NULL, "row", 3, "column", 6));
    MISUSED(filterblock_builder_add_hash(NULL, 7));
    CHECK(filterblock_builder_num_added(NULL) == 0 && filterblock_builder_num_without_entry(NULL) == 0);
    CHECK(filterblock_builder_max_block_len(NULL) == 0);

    OK(filterblock_builder_add_key(builder, "key", 3));
    MISUSED(filterblock_builder_finish_into(NULL, &memory, sizeof memory, &len, NULL));
    CHECK(len == 0);
    MISUSED(filterblock_builder_finish_into(builder, NULL, 4096, &len, NULL));
    MISUSED(filterblock_builder_finish_into(builder, &memory, sizeof memory, NULL, NULL));
    MISUSED(filterblock_builder_finish_with(NULL, &allocator, &memory, &len, &capacity, NULL));
    CHECK(memory == NULL && capacity == 0);
    MISUSED(filterblock_builder_finish_with(builder, NULL, &memory, &len, &capacity, NULL));
    no_functions.alloc = NULL;
    MISUSED(filterblock_builder_finish_with(builder, &no_functions, &memory, &len, &capacity, NULL));
    no_functions = allocator;
    no_functions.free = NULL;
    MISUSED(filterblock_builder_finish_with(builder, &no_functions, &memory, &len, &capacity, NULL));
    no_size.size = 0;
    MISUSED(filterblock_builder_finish_with(builder, &no_size, &memory, &len, &capacity, NULL));
    MISUSED(filterblock_builder_finish_with(builder, &allocator, NULL, &len, &capacity, NULL));
    MISUSED(filterblock_builder_finish_with(builder, &allocator, &memory, NULL, &capacity, NULL));
    /* None of them has cost the builder its key. */
    CHECK(filterblock_builder_num_added(builder) == 1);
    block = finished(builder);
    drop(&block);
    filterblock_builder_free(builder);
}

static void test_null_readers(const struct bytes *block) {
    filterblock_reader *reader = (filterblock_reader *)&reader;
    filterblock_info info;
    uint64_t hash = 7;
    bool answer = false;
    size_t len = 7;

    MISUSED(filterblock_reader_open(NULL, 64, NULL, NULL, &reader, NULL));
    CHECK(reader == NULL);
    MISUSED(filterblock_reader_open(block->data, block->len, NULL, NULL, NULL, NULL));
    STATUS(DAMAGED, filterblock_reader_open(NULL, 0, NULL, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(NULL, 1024, block->data, block->len, NULL, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(&info, 0, block->data, block->len, NULL, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(&info, 1024, block->data, block->len, NULL, NULL, NULL, NULL));
    filterblock_reader_free(NULL);

    info.size = sizeof info;
    MISUSED(filterblock_reader_info(NULL, &info));
    reader = open_block(block, NULL);
    MISUSED(filterblock_reader_info(reader, NULL));
    CHECK(filterblock_reader_false_positive_rate(NULL) == 1);

    CHECK(!filterblock_reader_may_contain(reader, NULL, 0)); /* The empty key, which was not added. */
    CHECK(filterblock_reader_may_contain(reader, NULL, 1) && filterblock_reader_may_contain(NULL, "key", 3));
    CHECK(filterblock_reader_may_contain_prefix(reader, NULL, 1) && filterblock_reader_may_contain_prefix(NULL, "key", 3));
    CHECK(filterblock_reader_may_contain_row(reader, NULL, 1) && filterblock_reader_may_contain_row(NULL, "row", 3));
    CHECK(filterblock_reader_may_contain_row_column(reader, NULL, 1, "column", 6));
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, NULL, 1));
    CHECK(filterblock_reader_may_contain_row_column(NULL, "row", 3, "column", 6));
    CHECK(filterblock_reader_may_contain_hash(NULL, 7));
    filterblock_reader_may_contain_hashes(NULL, NULL, 0, NULL);
    filterblock_reader_may_contain_hashes(reader, &hash, 1, NULL);
    filterblock_reader_may_contain_hashes(reader, NULL, 1, &answer);
    CHECK(answer);
    answer = false;
    filterblock_reader_may_contain_keys(reader, NULL, &len, 1, &answer);
    CHECK(answer);
    filterblock_reader_may_contain_keys(NULL, NULL, NULL, 0, NULL);
    filterblock_reader_free(reader);
}

static void test_null_others(const filterblock_policy *policy) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_allocator allocator = counting_allocator();
    size_t len = 7;
    void *memory = &len;

    snapshot.size = sizeof snapshot;
    MISUSED(filterblock_counters_read(NULL, &snapshot));
    MISUSED(filterblock_counters_read(counters, NULL));
    filterblock_counters_free(counters);
    filterblock_counters_free(NULL);

    MISUSED(filterblock_compact_build(NULL, NULL, NULL, 0, NULL, &allocator, &memory, &len, NULL, NULL));
    CHECK(memory == NULL && len == 0);
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 1, NULL, &allocator, &memory, &len, NULL, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, NULL, &memory, &len, NULL, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, &allocator, NULL, &len, NULL, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, &allocator, &memory, NULL, NULL, NULL));
    CHECK(filterblock_compact_may_contain(NULL, "\x10", 1, "key", 3, NULL));
    CHECK(filterblock_compact_may_contain(policy, NULL, 1, "key", 3, NULL));
    CHECK(filterblock_compact_may_contain(policy, "\x10", 1, NULL, 3, NULL));
    CHECK(!filterblock_compact_may_contain(policy, "\x10", 1, "key", 3, NULL)); /* The frame of no entries. */
}

void test_null(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    struct bytes block = block_of("blocked:10", 100);

    test_null_policies(policy);
    test_null_builders(policy);
    test_null_readers(&block);
    test_null_others(policy);
    drop(&block);
    filterblock_policy_free(policy);
}
