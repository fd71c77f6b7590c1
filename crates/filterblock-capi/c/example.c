/* An engine's use of filterblock, on a page: a table writer, a table reader, and what they do when something is wrong. */

#include <filterblock.h>

#include <stdio.h>
#include <stdlib.h>

/* What the engine keeps of an open table: its filter, and the bytes that the filter borrows. */
struct table {
    void *filter_block;
    filterblock_reader *filter; /* Null if the block could not be opened: every key is *maybe*. */
};

static void *allocate(void *context, size_t len) {
    (void)context;
    return malloc(len);
}

static void give_back(void *context, void *memory, size_t len) {
    (void)context, (void)len;
    free(memory);
}

/* Writes a filter with the table. Without one the table is read for every key: slower, never wrong. */
static void *write_filter(filterblock_builder *builder, size_t *len) {
    static const filterblock_allocator allocator = {sizeof allocator, NULL, allocate, give_back};
    filterblock_error error;
    void *block;
    char key[16];

    for (int i = 0; i < 100000; i++) {
        int key_len = snprintf(key, sizeof key, "user%d", i);
        /* What fails here is reported by the finish. */
        filterblock_builder_add_key(builder, key, (size_t)key_len);
    }
    if (filterblock_builder_finish_with(builder, &allocator, &block, len, NULL, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "table without filter: %s\n", error.message);
        filterblock_builder_clear(builder);
    }
    return block;
}

static struct table open_table(void *block, size_t len, const filterblock_policy *policy, filterblock_counters *counters) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_error error;
    struct table table = {block, NULL};

    options.expected = policy; /* Hash, seed and transform are compared. */
    if (filterblock_reader_open(block, len, &options, counters, &table.filter, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "filter ignored: %s\n", error.message);
    }
    return table;
}

int main(void) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_policy *policy;
    filterblock_builder *builder;
    filterblock_error error;
    struct table table;
    size_t len = 0;
    uint64_t num_denied = 0;
    uint32_t findings;
    char verdict[FILTERBLOCK_VERDICT_SIZE], key[16];
    void *block;

    if (filterblock_abi_version() != FILTERBLOCK_ABI_VERSION) {
        fprintf(stderr, "compiled for another filterblock\n");
        return 1;
    }
    /* From the engine's options file. One seed per store. */
    if (filterblock_policy_from_text("blocked:10,seed=24301", &policy, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "no such policy: %s\n", error.message);
        return 1;
    }
    builder = filterblock_builder_new(policy, counters); /* Is used for one table after the other. */
    block = write_filter(builder, &len);
    table = open_table(block, len, policy, counters);
    for (int i = 0; i < 1000; i++) {
        int key_len = snprintf(key, sizeof key, "item%d", i);
        num_denied += !filterblock_reader_may_contain(table.filter, key, (size_t)key_len);
    }
    printf("a filter of %zu bytes: user7 %s, nobody %s\n", len,
           filterblock_reader_may_contain(table.filter, "user7", 5) ? "maybe" : "absent",
           filterblock_reader_may_contain(table.filter, "nobody", 6) ? "maybe" : "absent");

    /* Now and then: are filters in use, and do they pay? */
    filterblock_counters_note_queries(counters, 1000, num_denied);
    snapshot.size = sizeof snapshot;
    filterblock_counters_read(counters, &snapshot);
    filterblock_verdict(&snapshot, &findings, verdict, sizeof verdict);
    printf("%s: %s\n", findings == 0 ? "fine" : "not fine", verdict);

    filterblock_reader_free(table.filter); /* Before the bytes that it borrows. */
    free(table.filter_block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    filterblock_counters_free(counters);
    return 0;
}
