/* Every function with null pointers, one argument at a time where more than one may be null.  The header's functions are counted
 * against these files by `./run`. */

#include "test.h"

#define MISUSED(call) STATUS(ARGUMENT, call)

static void test_null_policies(filterblock_policy *policy) {
    filterblock_policy *made = policy;
    uint64_t number = 7;
    double rate = 7;
    char text[8];

    MISUSED(filterblock_policy_from_text(NULL, &made, NULL));
    CHECK(made == NULL);
    MISUSED(filterblock_policy_from_text("blocked:10", NULL, NULL));
    MISUSED(filterblock_policy_with_bits_per_key(FILTERBLOCK_KIND_BLOOM, 10, NULL, NULL));
    MISUSED(filterblock_policy_with_false_positive_rate(FILTERBLOCK_KIND_BLOOM, 0.01, NULL, NULL));
    MISUSED(filterblock_policy_with_max_bytes(FILTERBLOCK_KIND_BLOOM, 4096, NULL, NULL));
    CHECK(filterblock_policy_copy(NULL) == NULL);
    filterblock_policy_free(NULL);
    MISUSED(filterblock_policy_set_seed(NULL, 7));
    MISUSED(filterblock_policy_set_secret_key(NULL, "sixteen bytes..."));
    MISUSED(filterblock_policy_set_secret_key(policy, NULL));
    MISUSED(filterblock_policy_set_transform(NULL, "row", NULL));
    MISUSED(filterblock_policy_set_transform(policy, NULL, NULL));
    MISUSED(filterblock_policy_set_level(NULL, 3));
    MISUSED(filterblock_policy_set_self_check(NULL, true));
    CHECK(filterblock_policy_text(NULL, text, sizeof text) == 0 && text[0] == 0);
    CHECK(filterblock_kind_name(FILTERBLOCK_KIND_BLOOM, NULL, 0) == 5);
    CHECK(!filterblock_policy_hash_key(NULL, "key", 3, &number));
    CHECK(!filterblock_policy_hash_key(policy, NULL, 3, &number));
    CHECK(!filterblock_policy_hash_key(policy, "key", 3, NULL));
    MISUSED(filterblock_policy_block_len(NULL, 1, &number, NULL));
    MISUSED(filterblock_policy_block_len(policy, 1, NULL, NULL));
    MISUSED(filterblock_policy_max_block_len(NULL, 1, &number, NULL));
    MISUSED(filterblock_policy_max_compact_len(NULL, 1, &number, NULL));
    MISUSED(filterblock_policy_false_positive_rate(NULL, 1, &rate, NULL));
    CHECK(number == 0 && rate == 0);
    CHECK(filterblock_policy_num_entries(NULL, 4096) == 0);
}

static void test_null_builders(filterblock_builder *builder) {
    filterblock_allocator allocator = counting_allocator(), no_functions = {NULL, NULL, NULL};
    filterblock_bytes bytes = {(uint8_t *)&allocator, 1};
    size_t len = 7;
    void *memory = &len;

    CHECK(filterblock_builder_new(NULL) == NULL);
    filterblock_builder_free(NULL);
    MISUSED(filterblock_builder_clear(NULL));
    MISUSED(filterblock_builder_set_context(NULL, 7));
    MISUSED(filterblock_builder_set_parallel(NULL, true));
    MISUSED(filterblock_builder_count_in(NULL, NULL));
    MISUSED(filterblock_builder_reserve(NULL, 7));
    MISUSED(filterblock_builder_add_key(NULL, "key", 3));
    MISUSED(filterblock_builder_add_row(NULL, "row", 3));
    MISUSED(filterblock_builder_add_row_column(NULL, "row", 3, "column", 6));
    MISUSED(filterblock_builder_add_entry(NULL, "entry", 5));
    MISUSED(filterblock_builder_add_hash(NULL, 7));
    CHECK(filterblock_builder_num_added(NULL) == 0 && filterblock_builder_num_without_entry(NULL) == 0);
    CHECK(filterblock_builder_max_block_len(NULL) == 0 && filterblock_builder_max_compact_len(NULL) == 0);

    OK(filterblock_builder_add_key(builder, "key", 3));
    MISUSED(filterblock_builder_finish(NULL, &bytes, NULL));
    CHECK(bytes.data == NULL && bytes.len == 0);
    MISUSED(filterblock_builder_finish(builder, NULL, NULL));
    MISUSED(filterblock_builder_finish_compact(NULL, &bytes, NULL));
    MISUSED(filterblock_builder_finish_compact(builder, NULL, NULL));
    MISUSED(filterblock_builder_finish_into(NULL, &memory, sizeof memory, &len, NULL));
    CHECK(len == 0);
    MISUSED(filterblock_builder_finish_into(builder, NULL, 4096, &len, NULL));
    MISUSED(filterblock_builder_finish_into(builder, &memory, SIZE_MAX, &len, NULL));
    MISUSED(filterblock_builder_finish_into(builder, &memory, sizeof memory, NULL, NULL));
    MISUSED(filterblock_builder_finish_compact_into(NULL, &memory, sizeof memory, &len, NULL));
    MISUSED(filterblock_builder_finish_compact_into(builder, NULL, 4096, &len, NULL));
    MISUSED(filterblock_builder_finish_with(NULL, &allocator, &memory, &len, NULL));
    CHECK(memory == NULL);
    MISUSED(filterblock_builder_finish_with(builder, NULL, &memory, &len, NULL));
    MISUSED(filterblock_builder_finish_with(builder, &no_functions, &memory, &len, NULL));
    MISUSED(filterblock_builder_finish_with(builder, &allocator, NULL, &len, NULL));
    MISUSED(filterblock_builder_finish_with(builder, &allocator, &memory, NULL, NULL));
    MISUSED(filterblock_builder_finish_compact_with(NULL, &allocator, &memory, &len, NULL));
    MISUSED(filterblock_builder_finish_compact_with(builder, NULL, &memory, &len, NULL));
    /* None of them has cost the builder its key. */
    CHECK(filterblock_builder_num_added(builder) == 1);
    OK(filterblock_builder_finish(builder, &bytes, NULL));
    filterblock_bytes_free(&bytes);
    filterblock_bytes_free(NULL);
}

static void test_null_readers(const filterblock_bytes *block) {
    filterblock_reader *reader = (filterblock_reader *)&reader;
    filterblock_bytes bytes = {NULL, 0};
    filterblock_info info;
    uint64_t hash = 7;
    bool answer = false;
    size_t len = 7;

    MISUSED(filterblock_reader_open(NULL, 64, NULL, &reader, NULL));
    CHECK(reader == NULL);
    MISUSED(filterblock_reader_open(block->data, block->len, NULL, NULL, NULL));
    STATUS(DAMAGED, filterblock_reader_open(NULL, 0, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(NULL, 1024, block->data, block->len, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(&info, 0, block->data, block->len, NULL, &reader, NULL));
    MISUSED(filterblock_reader_init(&info, 1024, block->data, block->len, NULL, NULL, NULL));
    CHECK(filterblock_reader_open_or_maybe(NULL, 64, NULL) == NULL);
    CHECK(filterblock_reader_init_or_maybe(NULL, 1024, block->data, block->len, NULL) == NULL);
    filterblock_reader_free(NULL);

    info.size = sizeof info;
    MISUSED(filterblock_reader_info(NULL, &info));
    OK(filterblock_reader_open(block->data, block->len, NULL, &reader, NULL));
    MISUSED(filterblock_reader_info(reader, NULL));
    CHECK(filterblock_reader_false_positive_rate(NULL) == 1);
    CHECK(!filterblock_reader_hash_key(reader, NULL, 3, &hash) && hash == 0);
    CHECK(!filterblock_reader_hash_key(reader, "key", 3, NULL));

    CHECK(!filterblock_reader_may_contain(reader, NULL, 0)); /* The empty key, which was not added. */
    CHECK(filterblock_reader_may_contain(reader, NULL, 1) && filterblock_reader_may_contain(NULL, "key", 3));
    CHECK(filterblock_reader_may_contain_prefix(reader, NULL, 1) && filterblock_reader_may_contain_prefix(NULL, "key", 3));
    CHECK(filterblock_reader_may_contain_row(reader, NULL, 1) && filterblock_reader_may_contain_row(NULL, "row", 3));
    CHECK(filterblock_reader_may_contain_row_column(reader, NULL, 1, "column", 6));
    CHECK(filterblock_reader_may_contain_row_column(reader, "row", 3, NULL, 1));
    CHECK(filterblock_reader_may_contain_row_column(NULL, "row", 3, "column", 6));
    CHECK(filterblock_reader_may_contain_entry(reader, NULL, 1) && filterblock_reader_may_contain_entry(NULL, "key", 3));
    CHECK(filterblock_reader_may_contain_hash(NULL, 7));
    filterblock_reader_may_contain_hashes(NULL, NULL, 0, NULL);
    filterblock_reader_may_contain_hashes(reader, &hash, 1, NULL);
    filterblock_reader_may_contain_hashes(reader, NULL, 1, &answer);
    CHECK(answer);
    answer = false;
    filterblock_reader_may_contain_keys(reader, NULL, &len, 1, &answer);
    CHECK(answer);
    filterblock_reader_may_contain_keys(NULL, NULL, NULL, 0, NULL);
    answer = false;
    filterblock_probe_tables(NULL, 1, "key", 3, &answer);
    CHECK(answer);
    filterblock_probe_tables(NULL, 0, NULL, 0, NULL);
    answer = false;
    filterblock_probe_tables_hash(NULL, 1, 7, &answer);
    CHECK(answer);

    MISUSED(filterblock_reader_thin(NULL, 1, 0, &bytes, NULL));
    MISUSED(filterblock_reader_thin(reader, 1, 0, NULL, NULL));
    STATUS(COLUMNS, filterblock_reader_thin(reader, 1, 0, &bytes, NULL));
    MISUSED(filterblock_reader_thin_into(NULL, 1, 0, &info, sizeof info, &len, NULL));
    CHECK(len == 0);
    MISUSED(filterblock_reader_thin_into(reader, 1, 0, NULL, 0, &len, NULL));
    MISUSED(filterblock_reader_thin_into(reader, 1, 0, &info, sizeof info, NULL, NULL));
    CHECK(filterblock_reader_thinned_len(NULL, 1) == 0);
    filterblock_reader_free(reader);
}

static void test_null_others(const filterblock_policy *policy) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_allocator allocator = counting_allocator();
    size_t len = 7;
    void *memory = &len;
    char text[8];

    snapshot.size = sizeof snapshot;
    MISUSED(filterblock_counters_read(NULL, &snapshot));
    MISUSED(filterblock_counters_read(counters, NULL));
    filterblock_counters_free(counters);
    filterblock_counters_free(NULL);

    MISUSED(filterblock_compact_build(NULL, NULL, NULL, 0, NULL, &allocator, &memory, &len, NULL));
    CHECK(memory == NULL && len == 0);
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 1, NULL, &allocator, &memory, &len, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, NULL, &memory, &len, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, &allocator, NULL, &len, NULL));
    MISUSED(filterblock_compact_build(policy, NULL, NULL, 0, NULL, &allocator, &memory, NULL, NULL));
    CHECK(filterblock_compact_may_contain(NULL, "\x10", 1, "key", 3, NULL));
    CHECK(filterblock_compact_may_contain(policy, NULL, 1, "key", 3, NULL));
    CHECK(filterblock_compact_may_contain(policy, "\x10", 1, NULL, 3, NULL));
    CHECK(!filterblock_compact_may_contain(policy, "\x10", 1, "key", 3, NULL)); /* The frame of no entries. */
    CHECK(filterblock_compact_may_contain_hash(NULL, "\x10", 1, 7, NULL));

    filterblock_ledger_free(NULL);
    MISUSED(filterblock_ledger_note_unfinished(NULL));
    CHECK(filterblock_ledger_open_account(NULL, 1, 0, NULL) == NULL);
    filterblock_account_close(NULL);
    MISUSED(filterblock_account_count(NULL, FILTERBLOCK_LOOKUP_OUTCOME_AVOIDED, false));
    MISUSED(filterblock_account_note_read(NULL, 4096));
    MISUSED(filterblock_account_note_cache_hit(NULL));
    CHECK(filterblock_ledger_text(NULL, text, sizeof text) == 0 && text[0] == 0);
    CHECK(filterblock_ledger_json(NULL, text, sizeof text) == 0);
    CHECK(filterblock_ledger_prometheus(NULL, NULL, 0) == 0);
}

void test_null(void) {
    filterblock_policy *policy = policy_of("blocked:10");
    filterblock_builder *builder = filterblock_builder_new(policy);
    filterblock_bytes block = block_of("blocked:10", 100);

    test_null_policies(policy);
    test_null_builders(builder);
    test_null_readers(&block);
    test_null_others(policy);
    filterblock_bytes_free(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
}
