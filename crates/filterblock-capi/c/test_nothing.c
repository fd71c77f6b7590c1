/* No filter of nothing: every call that makes a filter, given no key, and finished twice.  What it would make denies every key
 * of the table, and nothing would show it. */

#include "test.h"

/* A call that finishes what `builder` was given; what it makes is dropped. */
typedef filterblock_status finishing(filterblock_builder *builder);

static filterblock_status into_memory(filterblock_builder *builder) {
    static uint8_t memory[4096];
    size_t len = 7;
    filterblock_status status = filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL);
    CHECK((status == FILTERBLOCK_STATUS_OK) == (len > 0));
    return status;
}

static filterblock_status with_allocator(filterblock_builder *builder) {
    filterblock_allocator allocator = counting_allocator();
    size_t len = 7, capacity = 7;
    void *memory = &len;
    filterblock_status status = filterblock_builder_finish_with(builder, &allocator, &memory, &len, &capacity, NULL);
    CHECK((status == FILTERBLOCK_STATUS_OK) == (len > 0) && (memory == NULL) == (len == 0) && capacity >= len);
    if (memory) give_back(&bytes_allocated, memory, capacity);
    return status;
}

static const struct {
    const char *name, *policy;
    finishing *finish;
} writers[] = {
    {"a filter of keys, into memory", "auto:10", into_memory},
    {"a filter of keys, with an allocator", "auto:10", with_allocator},
    {"bloom", "bloom:10", with_allocator},
    {"blocked", "blocked:10", with_allocator},
    {"golomb", "golomb:10", with_allocator},
    {"ribbon", "ribbon:10", with_allocator},
    {"fuse", "fuse:10", with_allocator},
    {"a size in bytes", "blocked:max=4096", into_memory},
    {"a fixed shape", "bloom:bytes=4000,probes=7", into_memory},
    {"a range filter, into memory", "range:14", into_memory},
    {"a range filter, with an allocator", "range:14", with_allocator},
    {"a range filter of integers, into memory", "range:fpr=1%,len=16", into_memory},
    {"a range filter of integers, with an allocator", "range:fpr=1%,len=16", with_allocator},
    {"partitions, into memory", "partitions:", into_memory},
    {"partitions, with an allocator", "partitions:", with_allocator},
};

static bool store_at_0(void *context, const void *block, size_t len, uint64_t *offset) {
    (void)context, (void)block, (void)len;
    *offset = 0;
    return true;
}

static filterblock_builder *builder_of(const char *text, filterblock_counters *counters) {
    filterblock_builder *builder = NULL;
    if (strcmp(text, "partitions:") == 0) {
        filterblock_policy *policy = policy_of("blocked:10");
        OK(filterblock_partition_builder_new(policy, 0, store_at_0, NULL, counters, &builder, NULL));
        filterblock_policy_free(policy);
        return builder;
    }
    if (strncmp(text, "range:", 6) == 0) {
        OK(filterblock_range_builder_new(text, counters, &builder, NULL));
    } else {
        filterblock_policy *policy = policy_of(text);
        builder = filterblock_builder_new(policy, counters);
        filterblock_policy_free(policy);
    }
    return builder;
}

/* Returns the number of refusals, all of which are counted. */
static unsigned refuse(const char *text, finishing *finish) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_builder *builder = builder_of(text, counters);
    unsigned num_refused = 0;

    STATUS(NOT_BUILT, finish(builder)), num_refused++;
    OK(filterblock_builder_add_key(builder, "8 bytes.", 8));
    OK(finish(builder));
    STATUS(NOT_BUILT, finish(builder)), num_refused++; /* Twice. */
    OK(filterblock_builder_add_key(builder, "8 bytes.", 8));
    OK(filterblock_builder_clear(builder));
    STATUS(NOT_BUILT, finish(builder)), num_refused++;
    /* The permission is for one block, and no more once the table is given up. */
    OK(filterblock_builder_allow_empty(builder));
    OK(filterblock_builder_clear(builder));
    STATUS(NOT_BUILT, finish(builder)), num_refused++;
    OK(filterblock_builder_allow_empty(builder));
    OK(finish(builder));
    STATUS(NOT_BUILT, finish(builder)), num_refused++;
    /* A key that was refused, alone: the finish is refused, permitted or not. */
    OK(filterblock_builder_allow_empty(builder));
    STATUS(ARGUMENT, filterblock_builder_add_key(builder, NULL, 8));
    STATUS(INCOMPLETE, finish(builder)), num_refused++;
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == 2 && snapshot.unfinished == num_refused);
    filterblock_builder_free(builder);
    filterblock_counters_free(counters);
    return num_refused;
}

/* Compact frames are built in one call, so that none is built twice. */
static unsigned refuse_compact_frames(const char *text) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_policy *policy = policy_of(text);
    filterblock_allocator allocator = counting_allocator();
    const uint8_t empty = FILTERBLOCK_COMPACT_EMPTY;
    const void *keys[] = {"key"};
    const size_t lens[] = {3};
    filterblock_error error;
    size_t len = 7, capacity = 7;
    void *frame = &len;

    STATUS(NOT_BUILT,
           filterblock_compact_build(policy, NULL, NULL, 0, counters, &allocator, &frame, &len, &capacity, &error));
    CHECK(frame == NULL && len == 0 && capacity == 0 && strstr(error.message, "FILTERBLOCK_COMPACT_EMPTY") != NULL);
    STATUS(NOT_BUILT, filterblock_compact_build(policy, keys, lens, 0, counters, &allocator, &frame, &len, NULL, NULL));
    /* What is stored after an error is *maybe*; the frame of no keys, stored by name, is not. */
    CHECK(filterblock_compact_may_contain(policy, frame, len, "key", 3, NULL));
    CHECK(!filterblock_compact_may_contain(policy, &empty, 1, "key", 3, NULL));
    OK(filterblock_compact_build(policy, keys, lens, 1, counters, &allocator, &frame, &len, &capacity, NULL));
    CHECK(filterblock_compact_may_contain(policy, frame, len, "key", 3, NULL));
    give_back(&bytes_allocated, frame, capacity);
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.built == 1 && snapshot.unfinished == 2);
    filterblock_policy_free(policy);
    filterblock_counters_free(counters);
    return 2;
}

void test_nothing(void) {
    static const char *const compact[] = {"auto:10", "bloom:10", "blocked:10", "golomb:10", "ribbon:10", "fuse:10"};
    unsigned num_refused = 0;

    for (size_t i = 0; i < LENGTH(writers); i++) {
        unsigned refused = refuse(writers[i].policy, writers[i].finish);
        CHECK(refused == 6);
        num_refused += refused;
    }
    for (size_t i = 0; i < LENGTH(compact); i++) num_refused += refuse_compact_frames(compact[i]);
    printf("counted: %u finishes of nothing, by %u writers, all refused\n", num_refused,
           (unsigned)(LENGTH(writers) + LENGTH(compact)));
}
