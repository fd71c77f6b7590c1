/* A LevelDB database whose filters are filter blocks: example DIRECTORY */

#include "filterblock_leveldb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char *what, char *error)
{
    if (!error)
        return;
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "example DIRECTORY\n");
        return 2;
    }
    filterblock_error refused;
    filterblock_leveldb *policy = filterblock_leveldb_new("golomb:9.2,seed=7", &refused);
    if (!policy) {
        fprintf(stderr, "%s\n", refused.message);
        return 1;
    }

    char *error = NULL;
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_error_if_exists(options, 1);
    filterblock_leveldb_use(policy, options);
    leveldb_t *db = leveldb_open(options, argv[1], &error);
    must("open", error);

    leveldb_writeoptions_t *write = leveldb_writeoptions_create();
    for (int i = 0; i < 100000; i++) {
        char key[16], value[64];
        snprintf(key, sizeof key, "user%08d", 2 * i);
        snprintf(value, sizeof value, "the %d. of the stored values", i);
        leveldb_put(db, write, key, strlen(key), value, strlen(value), &error);
        must("put", error);
    }
    leveldb_compact_range(db, NULL, 0, NULL, 0); /* from memory to tables */

    leveldb_readoptions_t *read = leveldb_readoptions_create();
    for (int i = 0; i < 1000; i++) {
        char key[16];
        size_t len;
        snprintf(key, sizeof key, "user%08d", 2 * i + 1);
        char *value = leveldb_get(db, read, key, strlen(key), &len, &error);
        must("get", error);
        if (value) {
            fprintf(stderr, "%s was never stored\n", key);
            return 1;
        }
    }
    char verdict[FILTERBLOCK_VERDICT_SIZE];
    filterblock_leveldb_verdict(policy, verdict, sizeof verdict);
    printf("%s\n", verdict);
    filterblock_leveldb_counts counts = filterblock_leveldb_read(policy);
    printf("%llu filters; %llu of %llu lookups of absent keys needed no data block\n", (unsigned long long)counts.built,
           (unsigned long long)counts.negatives, (unsigned long long)counts.queries);

    leveldb_readoptions_destroy(read);
    leveldb_writeoptions_destroy(write);
    leveldb_close(db);
    leveldb_options_destroy(options);
    filterblock_leveldb_free(policy);
    return 0;
}
