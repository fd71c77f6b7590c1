/* An engine's use of filters in partitions, on a page: the index stays with the open table, and partitions are kept opened in the
 * engine's cache, so that a lookup neither parses nor verifies one again. */

#include <filterblock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table's file, and the cache, here without a limit: a partition is freed when no lookup uses it. */
struct table {
    unsigned char file[1 << 18];
    size_t len;
    filterblock_partitioned_reader *filter; /* Null if the index could not be opened: every key is *maybe*. */
    filterblock_partition_reader *cache[64];
    unsigned num_reads;
};

/* Called for a partition that is full. The offset is by what `load` will find it. */
static bool store(void *context, const void *block, size_t len, uint64_t *offset) {
    struct table *table = context;
    if (sizeof table->file - table->len < len) return false;
    memcpy(table->file + table->len, block, len);
    *offset = table->len;
    table->len += len;
    return true;
}

/* Called for the only partition that can have the key. Null, where it cannot be read or opened, is *maybe*. */
static const filterblock_partition_reader *load(void *context, const filterblock_partition *partition) {
    struct table *table = context;
    filterblock_error error;
    if (partition->number >= 64) return NULL;
    if (table->cache[partition->number] == NULL) {
        table->num_reads++;
        if (filterblock_partitioned_reader_open_partition(table->filter, partition->number, table->file + partition->offset,
                                                          partition->len, FILTERBLOCK_OPEN_COPY,
                                                          &table->cache[partition->number], &error) !=
            FILTERBLOCK_STATUS_OK) {
            fprintf(stderr, "partition ignored: %s\n", error.message);
        }
    }
    return table->cache[partition->number];
}

int main(void) {
    static struct table table;
    static unsigned char index[4096];
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_policy *policy = NULL;
    filterblock_builder *builder = NULL;
    filterblock_error error;
    unsigned num_denied = 0;
    size_t index_len = 0;
    char key[16];

    /* While the table is written: 8 KiB a partition. */
    if (filterblock_policy_from_text("blocked:10,seed=24301", &policy, &error) != FILTERBLOCK_STATUS_OK ||
        filterblock_partition_builder_new(policy, 8192, store, &table, NULL, &builder, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "no such policy: %s\n", error.message);
        return 1;
    }
    filterblock_builder_set_context(builder, 7); /* Say the table's number, before the first key. */
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "user%06d", i);
        filterblock_builder_add_key(builder, key, strlen(key)); /* What fails here is reported by the finish. */
    }
    if (filterblock_builder_finish_into(builder, index, sizeof index, &index_len, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "table without filter: %s\n", error.message);
    }
    filterblock_builder_free(builder);

    /* While the table is open. */
    options.context = 7;
    options.expected = policy;
    if (filterblock_partitioned_reader_open(index, index_len, &options, NULL, &table.filter, &error) !=
        FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "filter ignored: %s\n", error.message);
    }
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "user%06d", i);
        if (!filterblock_partitioned_reader_may_contain(table.filter, key, strlen(key), load, &table)) return 1;
        snprintf(key, sizeof key, "user%06dx", i); /* Not stored. */
        num_denied += !filterblock_partitioned_reader_may_contain(table.filter, key, strlen(key), load, &table);
    }
    printf("an index of %u bytes: %u of 100000 absent keys denied, %u partitions read\n", (unsigned)index_len, num_denied,
           table.num_reads);

    for (size_t i = 0; i < 64; i++) filterblock_partition_reader_free(table.cache[i]);
    filterblock_partitioned_reader_free(table.filter);
    filterblock_policy_free(policy);
    return num_denied > 95000 ? 0 : 1;
}
