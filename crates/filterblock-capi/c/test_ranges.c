/* Range filters: answers for every form of bound, and what is refused. */

#include "test.h"

enum { NUM_STEPS = 1000 };
static const uint64_t step = 1000000;

/* Keys are numbers of 8 bytes, in their order. */
static const uint8_t *number(uint64_t value, uint8_t *key) {
    for (int i = 7; i >= 0; i--, value >>= 8) key[i] = (uint8_t)value;
    return key;
}

static filterblock_builder *builder_of(const char *text, filterblock_counters *counters) {
    filterblock_builder *builder;
    filterblock_error error;
    OK(filterblock_range_builder_new(text, counters, &builder, &error));
    CHECK(builder != NULL && error.message[0] == 0);
    return builder;
}

static void add_steps(filterblock_builder *builder, bool descending) {
    uint8_t key[8];
    for (uint64_t i = 0; i < NUM_STEPS; i++) {
        OK(filterblock_builder_add_key(builder, number((descending ? NUM_STEPS - 1 - i : i) * step, key), 8));
    }
}

/* 0 and 1 are forms of a bound; 2 is none. */
static bool ask(const filterblock_range_reader *reader, uint64_t lower, uint32_t form, uint64_t upper, uint32_t other) {
    uint8_t keys[2][8];
    filterblock_range_bound from = {number(lower, keys[0]), 8, form}, to = {number(upper, keys[1]), 8, other};
    return filterblock_range_reader_may_contain_range(reader, form == 2 ? NULL : &from, other == 2 ? NULL : &to);
}

static void check_ranges(const filterblock_range_reader *reader) {
    uint8_t key[8];
    for (uint64_t i = 1; i < NUM_STEPS; i++) {
        uint64_t at = i * step;
        for (uint32_t form = 0; form < 9; form++) {
            CHECK(ask(reader, at - 1, form / 3, at + 1, form % 3));
            /* Bounds that are not in order, one key that is excluded among them, are *maybe*. Above the last key is none. */
            CHECK(ask(reader, at, form / 3, at, form % 3) || (form == 5 && i == NUM_STEPS - 1));
            if (form / 3 == 2 || form % 3 == 2) continue;
            CHECK(!ask(reader, at + step * 2 / 5, form / 3, at + step / 2, form % 3));
            CHECK(ask(reader, at + step / 2, form / 3, at + step * 2 / 5, form % 3));
        }
        CHECK(filterblock_range_reader_may_contain(reader, number(at, key), 8));
        CHECK(filterblock_range_reader_may_contain_prefix(reader, key, i % 9));
        CHECK(!filterblock_range_reader_may_contain(reader, number(at + step * 2 / 5, key), 8));
    }
    CHECK(!ask(reader, UINT64_MAX / 2, 1, 0, 2) && !filterblock_range_reader_may_contain_prefix(reader, "\xff", 1));
}

/* Both ways to finish give the same bytes, whatever the order of the keys; what fails leaves them in the builder. */
static struct bytes block_of_steps(filterblock_builder *builder) {
    filterblock_allocator allocator = counting_allocator();
    uint8_t memory[8192];
    size_t len, capacity;
    struct bytes block;
    void *data;

    OK(filterblock_builder_set_context(builder, 42));
    add_steps(builder, true);
    allocations_left = 0;
    STATUS(NO_MEMORY, filterblock_builder_finish_with(builder, &allocator, &data, &len, &capacity, NULL));
    block = finished(builder);
    CHECK(block.capacity == block.len && filterblock_builder_num_added(builder) == 0);
    OK(filterblock_builder_set_context(builder, 42));
    add_steps(builder, false);
    CHECK(filterblock_builder_max_block_len(builder) == 0 && filterblock_builder_num_without_entry(builder) == 0);
    STATUS(TOO_SHORT, filterblock_builder_finish_into(builder, memory + 1, block.len - 1, &len, NULL));
    STATUS(ARGUMENT, filterblock_builder_finish_into(builder, NULL, block.len, &len, NULL));
    CHECK(len == 0 && filterblock_builder_num_added(builder) == NUM_STEPS);
    OK(filterblock_builder_finish_into(builder, memory + 1, sizeof memory - 1, &len, NULL));
    CHECK(len == block.len && memcmp(memory + 1, block.data, len) == 0);
    return block;
}

static void test_refusals(filterblock_builder *builder) {
    filterblock_builder *other = builder;
    filterblock_error error;
    uint8_t memory[64];
    size_t len;

    STATUS(SETTING, filterblock_range_builder_new("range:1000", NULL, &other, &error));
    CHECK(other == NULL && strstr(error.message, "2 to 200") != NULL);
    STATUS(SETTING, filterblock_range_builder_new("blocked:10", NULL, &other, NULL));
    STATUS(ARGUMENT, filterblock_range_builder_new(NULL, NULL, &other, NULL));
    STATUS(ARGUMENT, filterblock_range_builder_new("range:14", NULL, NULL, NULL));
    STATUS(NOT_BUILT, filterblock_builder_add_row(builder, "row", 3));
    STATUS(INCOMPLETE, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_clear(builder));
    STATUS(ARGUMENT, filterblock_builder_add_key(builder, NULL, 1));
    STATUS(INCOMPLETE, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_clear(builder));
    STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    OK(filterblock_builder_allow_empty(builder));
    OK(filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL));
    CHECK(len == 64);
}

/* A bound of length 0 is none, whatever its pointer, excluded or not, below or above. */
static void test_no_bounds(const filterblock_range_reader *reader) {
    const filterblock_range_bound high = {"\xff", 1, 0}, low = {"\0\0", 2, 1};
    filterblock_range_bound none;

    for (int i = 0; i < 4; i++) {
        memset(&none, 0, sizeof none);
        none.key = i < 2 ? NULL : "";
        none.is_excluded = (uint32_t)i % 2;
        CHECK(filterblock_range_reader_may_contain_range(reader, &none, &none));
        CHECK(filterblock_range_reader_may_contain_range(reader, NULL, &none));
        CHECK(filterblock_range_reader_may_contain_range(reader, &none, NULL));
        CHECK(filterblock_range_reader_may_contain_range(reader, &none, &high));
        CHECK(filterblock_range_reader_may_contain_range(reader, &low, &none));
        CHECK(!filterblock_range_reader_may_contain_range(reader, &high, &none)); /* The other bound applies. */
        CHECK(!filterblock_range_reader_may_contain_range(reader, &none, &low));
    }
}

/* Impossible arguments are *maybe*, though all else is denied. */
static void test_maybe(const filterblock_range_reader *reader) {
    filterblock_range_bound none = {NULL, 1, 0}, unknown = {"\xff", 1, 2};

    CHECK(filterblock_range_reader_may_contain_range(reader, &none, &none));
    CHECK(filterblock_range_reader_may_contain_range(reader, &none, NULL));
    CHECK(filterblock_range_reader_may_contain_range(reader, &unknown, NULL));
    unknown.is_excluded = 1;
    CHECK(!filterblock_range_reader_may_contain_range(reader, &unknown, NULL));
    CHECK(filterblock_range_reader_may_contain_range(NULL, &unknown, NULL));
    CHECK(filterblock_range_reader_may_contain_prefix(NULL, "\xff", 1) && filterblock_range_reader_may_contain(NULL, "", 0));
    CHECK(filterblock_range_reader_may_contain_prefix(reader, NULL, 1) && filterblock_range_reader_may_contain(reader, NULL, 1));
}

/* What a filter has become, which the policy alone does not tell; `text` with ",form=integers" refuses what has no rate. */
static void test_form(const char *text, size_t key_len, bool are_integers, uint32_t form, double most) {
    filterblock_builder *builder = builder_of(text, NULL);
    filterblock_range_reader *reader;
    filterblock_range_info info;
    filterblock_error error;
    struct bytes block;
    uint8_t memory[8192], key[8];
    size_t len;

    for (uint64_t i = 0; i < NUM_STEPS; i++) {
        number(i * step, key);
        OK(filterblock_builder_add_key(builder, key, are_integers ? key_len : 1 + i % key_len));
    }
    if (form == 0) {
        STATUS(NOT_BUILT, filterblock_builder_finish_into(builder, memory, sizeof memory, &len, &error));
        CHECK(strstr(error.message, "1 to 8 bytes") != NULL && strstr(error.message, "form=integers") != NULL);
    } else {
        block = finished(builder);
        OK(filterblock_range_reader_open(block.data, block.len, NULL, NULL, &reader, NULL));
        info.size = sizeof info;
        OK(filterblock_range_reader_info(reader, &info));
        CHECK(info.size == sizeof info && info.form == form && info.block_len == block.len && info.reserved == 0);
        CHECK(info.num_keys > 0 && info.num_keys <= NUM_STEPS && info.num_leaves > 0 && info.num_leaves <= info.num_keys);
        for (uint64_t range_len = 1; range_len <= 1024; range_len *= 4) {
            double rate = filterblock_range_reader_false_positive_rate(reader, range_len);
            CHECK(form == FILTERBLOCK_RANGE_FORM_INTEGERS ? rate > 0 && rate < most : rate == most);
        }
        info.size--;
        STATUS(ARGUMENT, filterblock_range_reader_info(reader, &info));
        STATUS(ARGUMENT, filterblock_range_reader_info(reader, NULL));
        filterblock_range_reader_free(reader);
        drop(&block);
    }
    filterblock_builder_free(builder);
}

static void test_forms(void) {
    filterblock_range_info info = {sizeof info, 0, 0, 0, 0, 0};
    filterblock_builder *builder = builder_of("range:14", NULL);
    filterblock_range_reader *reader;
    struct bytes block;

    test_form("range:14", 8, true, FILTERBLOCK_RANGE_FORM_CUT, 1);
    test_form("range:fpr=1%,len=1024", 8, true, FILTERBLOCK_RANGE_FORM_CUT, 0); /* Whole in as many bits. */
    test_form("range:fpr=1%,len=1024", 8, false, FILTERBLOCK_RANGE_FORM_CUT, 1); /* Silently: of several lengths. */
    test_form("range:fpr=1%,len=1024,form=integers", 8, true, FILTERBLOCK_RANGE_FORM_INTEGERS, 0.0101);
    test_form("range:fpr=1%,len=1024,form=integers", 8, false, 0, 0);
    OK(filterblock_builder_allow_empty(builder));
    block = finished(builder);
    OK(filterblock_range_reader_open(block.data, block.len, NULL, NULL, &reader, NULL));
    OK(filterblock_range_reader_info(reader, &info));
    CHECK(info.form == 0 && info.num_keys == 0 && info.num_leaves == 0 && info.block_len == 64);
    CHECK(filterblock_range_reader_false_positive_rate(reader, 1) == 1);
    filterblock_range_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    STATUS(ARGUMENT, filterblock_range_reader_info(NULL, &info));
    CHECK(filterblock_range_reader_false_positive_rate(NULL, 1) == 1);
}

void test_ranges(void) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    filterblock_builder *builder = builder_of("range:20", counters);
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    struct bytes block = block_of_steps(builder), keys = block_of("blocked:10", 10);
    filterblock_range_reader *reader, *copy;
    filterblock_reader *other;
    filterblock_error error;

    STATUS(MISMATCH, filterblock_range_reader_open(block.data, block.len, NULL, counters, &reader, &error));
    CHECK(reader == NULL && strstr(error.message, "context") != NULL);
    STATUS(MISMATCH, filterblock_range_reader_open(keys.data, keys.len, NULL, counters, &reader, NULL));
    options.context = 42;
    STATUS(MISMATCH, filterblock_reader_open(block.data, block.len, &options, counters, &other, NULL));
    OK(filterblock_range_reader_open(block.data, block.len, &options, counters, &reader, NULL));
    test_forms();
    check_ranges(reader);
    test_no_bounds(reader);
    test_maybe(reader);
    options.flags = FILTERBLOCK_OPEN_COPY;
    OK(filterblock_range_reader_open(block.data, block.len, &options, counters, &copy, NULL));
    filterblock_range_reader_free(reader);
    options.flags = FILTERBLOCK_OPEN_TRUSTED;
    for (size_t i = 0; i < block.len; i += 3) {
        block.data[i] ^= 0x55;
        CHECK(filterblock_range_reader_open(block.data, block.len, NULL, counters, &reader, NULL) != FILTERBLOCK_STATUS_OK);
        /* Where nothing verifies the bytes, any answer is one, but no read outside of them. */
        filterblock_range_reader_open(block.data, block.len, &options, NULL, &reader, NULL);
        ask(reader, i * step, 0, i * step + 1, 1);
        filterblock_range_reader_free(reader);
    }
    drop(&block);
    check_ranges(copy);
    filterblock_range_reader_free(copy);
    filterblock_range_reader_free(NULL);
    STATUS(ARGUMENT, filterblock_range_reader_open(NULL, 1, NULL, NULL, &reader, NULL));
    STATUS(ARGUMENT, filterblock_range_reader_open(keys.data, keys.len, NULL, NULL, NULL, NULL));
    drop(&keys);
    test_refusals(builder);
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == 3 && snapshot.opened == 2 && snapshot.mismatch >= 3 && snapshot.damaged > 0);
    filterblock_builder_free(builder);
    filterblock_counters_free(counters);
}
