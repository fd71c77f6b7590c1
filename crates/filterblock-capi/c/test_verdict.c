/* Uselessness is reported: counts of filters that are in use and not, and what is said of them. */

#include "test.h"

#include <stddef.h>

/* In the order of the structure, after its size. */
struct counts {
    uint64_t opened, damaged, newer, mismatch, failed, built, unfinished, queries, denied;
};

static const struct {
    struct counts counts;
    uint32_t findings;
    const char *text;
} verdicts[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0}, FILTERBLOCK_FINDING_NO_LOOKUPS, "nothing is known"},
    {{1, 0, 0, 0, 0, 1, 0, 1000, 990}, 0, "filters saved 990 reads in 1000 queries"},
    {{0, 0, 0, 0, 0, 7, 0, 500, 1}, 0, "saved 1 reads"}, /* Compact frames are not counted when they open. */
    {{1, 0, 0, 0, 0, 1, 0, 999, 0}, 0, "saved 0 reads"},
    {{1, 0, 0, 0, 0, 1, 0, 1000, 0}, FILTERBLOCK_FINDING_NEVER_DENIED, "passed all 1000 queries"},
    {{0, 0, 0, 0, 0, 3, 0, 0, 0}, FILTERBLOCK_FINDING_NEVER_OPENED, "3 filters were built and none was opened or queried"},
    {{4, 0, 0, 0, 0, 3, 0, 0, 0}, FILTERBLOCK_FINDING_NEVER_QUERIED, "of which 4 were opened"},
    {{0, 0, 0, 5, 0, 3, 0, 0, 0}, FILTERBLOCK_FINDING_UNUSABLE, "5 times a filter did not open (0 damaged, 0 newer, 5 mismatch"},
    {{9, 1, 2, 3, 4, 0, 0, 50, 1}, FILTERBLOCK_FINDING_UNUSABLE, "10 times"},
    {{0, 0, 0, 0, 0, 0, 6, 0, 0}, FILTERBLOCK_FINDING_NOT_BUILT, "6 filters could not be built"},
    {{1, 1, 0, 0, 0, 1, 1, 2000, 0},
     FILTERBLOCK_FINDING_UNUSABLE | FILTERBLOCK_FINDING_NEVER_DENIED | FILTERBLOCK_FINDING_NOT_BUILT,
     "\nfilters saved 0 reads in 2000 queries"},
};

static void test_counts(void) {
    for (size_t i = 0; i < LENGTH(verdicts); i++) {
        const struct counts *counts = &verdicts[i].counts;
        char text[FILTERBLOCK_VERDICT_SIZE], cut[9];
        filterblock_counters_snapshot snapshot;
        uint32_t findings = 77, again = 77;

        memset(&snapshot, 0, sizeof snapshot);
        snapshot.size = sizeof snapshot;
        CHECK(sizeof *counts == sizeof snapshot - offsetof(filterblock_counters_snapshot, opened));
        memcpy(&snapshot.opened, counts, sizeof *counts);
        OK(filterblock_verdict(&snapshot, &findings, text, sizeof text));
        if (findings != verdicts[i].findings || !strstr(text, verdicts[i].text)) fprintf(stderr, "%s\n", text);
        CHECK(findings == verdicts[i].findings && strstr(text, verdicts[i].text) != NULL);
        CHECK(strlen(text) < sizeof text - 1);
        OK(filterblock_verdict(&snapshot, &again, cut, sizeof cut));
        CHECK(again == findings && strlen(cut) == sizeof cut - 1 && strncmp(cut, text, sizeof cut - 1) == 0);
        OK(filterblock_verdict(&snapshot, &again, NULL, 0));
    }
}

/* An engine that has the wrong policy gets right answers, and reads every table for every key. */
static void test_an_engine(const char *built, const char *expected, bool is_queried, uint32_t findings) {
    filterblock_counters *counters = filterblock_counters_new();
    filterblock_counters_snapshot snapshot;
    filterblock_policy *policy = policy_of(built), *other = policy_of(expected);
    filterblock_builder *builder = filterblock_builder_new(policy, counters);
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_reader *reader;
    struct bytes block;
    uint32_t found;
    char text[FILTERBLOCK_VERDICT_SIZE], key[KEY_LEN];

    add_keys(builder, 100);
    block = finished(builder);
    options.expected = other;
    filterblock_reader_open(block.data, block.len, &options, counters, &reader, NULL);
    for (uint64_t i = 0; is_queried && i < 2000; i++) {
        key_of((UINT64_C(1) << 32) + i, key);
        OK(filterblock_counters_note_queries(counters, 1, !filterblock_reader_may_contain(reader, key, KEY_LEN)));
    }
    snapshot.size = sizeof snapshot;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.queries == (is_queried ? 2000 : 0) && snapshot.denied <= snapshot.queries);
    OK(filterblock_verdict(&snapshot, &found, text, sizeof text));
    CHECK(found == findings);

    /* The structure of 0.1.0 had no queries. */
    snapshot.size = offsetof(filterblock_counters_snapshot, queries);
    snapshot.queries = 77;
    OK(filterblock_counters_read(counters, &snapshot));
    CHECK(snapshot.size == offsetof(filterblock_counters_snapshot, queries) && snapshot.queries == 77);
    OK(filterblock_verdict(&snapshot, &found, text, sizeof text));
    CHECK(strstr(text, "in 0 queries") != NULL);

    filterblock_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    filterblock_policy_free(other);
    filterblock_counters_free(counters);
}

void test_verdict(void) {
    filterblock_counters_snapshot snapshot = {sizeof snapshot, 1, 0, 0, 0, 0, 1, 0, 1, 1};
    uint32_t findings;
    char text[8] = "before";

    test_counts();
    test_an_engine("blocked:10,seed=7", "blocked:10,seed=7", true, 0);
    test_an_engine("blocked:10,seed=7", "blocked:10,seed=7", false, FILTERBLOCK_FINDING_NEVER_QUERIED);
    test_an_engine("blocked:10,seed=7", "blocked:10,seed=8", true,
                   FILTERBLOCK_FINDING_UNUSABLE | FILTERBLOCK_FINDING_NEVER_DENIED);
    STATUS(ARGUMENT, filterblock_counters_note_queries(NULL, 1, 1));
    STATUS(ARGUMENT, filterblock_verdict(NULL, &findings, text, sizeof text));
    CHECK(findings == UINT32_MAX && text[0] == 0); /* What cannot be judged is not fine. */
    STATUS(ARGUMENT, filterblock_verdict(&snapshot, NULL, text, sizeof text));
    snapshot.size = 8;
    STATUS(ARGUMENT, filterblock_verdict(&snapshot, &findings, text, sizeof text));
    printf("counted: %u verdicts\n", (unsigned)LENGTH(verdicts) + 3);
}
