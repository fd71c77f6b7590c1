/* An engine's use of range filters, on a page: a scan leaves out the tables that have nothing where it looks. */

#include <filterblock.h>

#include <stdio.h>
#include <string.h>

static const char *answer(bool may_contain) { return may_contain ? "maybe" : "absent"; }

int main(void) {
    static unsigned char block[65536];
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_range_bound first = {"user0500", 8, 0}, behind = {"user05000", 9, 1};
    filterblock_range_reader *filter = NULL;
    filterblock_builder *builder = NULL;
    filterblock_error error;
    char key[16];
    size_t len = 0;

    /* While the table is written. */
    if (filterblock_range_builder_new("range:14", NULL, &builder, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "no such policy: %s\n", error.message);
        return 1;
    }
    for (int i = 0; i < 10000; i += 10) {
        snprintf(key, sizeof key, "user%04d", i);
        filterblock_builder_add_key(builder, key, strlen(key)); /* What fails here is reported by the finish. */
    }
    filterblock_builder_set_context(builder, 7); /* Say the table's number. */
    if (filterblock_builder_finish_into(builder, block, sizeof block, &len, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "table without filter: %s\n", error.message);
    }
    filterblock_builder_free(builder);

    /* While the table is open. A null reader, of a block that cannot be opened, answers *maybe*. */
    options.context = 7;
    if (filterblock_range_reader_open(block, len, &options, NULL, &filter, &error) != FILTERBLOCK_STATUS_OK) {
        fprintf(stderr, "filter ignored: %s\n", error.message);
    }
    printf("a range filter of %u bytes: keys from user0500 to before user05000 %s,", (unsigned)len,
           answer(filterblock_range_reader_may_contain_range(filter, &first, &behind)));
    first.is_excluded = 1;
    printf(" without user0500 %s,", answer(filterblock_range_reader_may_contain_range(filter, &first, &behind)));
    printf(" from user0500 on %s,", answer(filterblock_range_reader_may_contain_range(filter, &first, NULL)));
    printf(" that begin with group %s\n", answer(filterblock_range_reader_may_contain_prefix(filter, "group", 5)));
    filterblock_range_reader_free(filter);
    return 0;
}
