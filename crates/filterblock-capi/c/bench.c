/* The time of a probe through C, beside `bench.rs`: the same keys, the same filter, the same loop. */

#define _POSIX_C_SOURCE 199309L

#include <filterblock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_LEN = 16, NUM_QUERIES = 1 << 16, NUM_ROUNDS = 60 };

struct key {
    const char *data;
    size_t len;
};

static uint64_t mixed(uint64_t number) {
    uint64_t z = number * 0x9e3779b97f4a7c15u + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void key_of(uint64_t number, char *key) {
    uint64_t words[2];
    words[0] = mixed(number);
    words[1] = number;
    memcpy(key, words, KEY_LEN);
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Absent keys but for one in 64, in memory of the caller. Prints the least time of all rounds. */
static void bench(const char *policy_text, uint64_t num_keys) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    filterblock_policy *policy;
    filterblock_builder *builder;
    filterblock_reader *reader;
    filterblock_error error;
    void *block;
    size_t capacity, len;
    char *data = malloc(NUM_QUERIES * KEY_LEN), key[KEY_LEN];
    struct key *keys = malloc(NUM_QUERIES * sizeof *keys);
    double least = 1e300;
    size_t num_maybe = 0;

    if (filterblock_policy_from_text(policy_text, &policy, &error) != FILTERBLOCK_STATUS_OK) exit(1);
    builder = filterblock_builder_new(policy, NULL);
    for (uint64_t i = 0; i < num_keys; i++) {
        key_of(i, key);
        filterblock_builder_add_key(builder, key, KEY_LEN);
    }
    capacity = filterblock_builder_max_block_len(builder);
    block = malloc(capacity);
    if (filterblock_builder_finish_into(builder, block, capacity, &len, &error) != FILTERBLOCK_STATUS_OK) exit(1);
    options.expected = policy;
    options.flags = FILTERBLOCK_OPEN_COPY;
    if (filterblock_reader_open(block, len, &options, NULL, &reader, &error) != FILTERBLOCK_STATUS_OK) exit(1);
    for (uint64_t i = 0; i < NUM_QUERIES; i++) {
        keys[i].data = data + i * KEY_LEN;
        keys[i].len = KEY_LEN;
        key_of(i % 64 == 0 ? i % num_keys : num_keys + i, data + i * KEY_LEN);
    }
    for (int round = 0; round < NUM_ROUNDS; round++) {
        double begun = now_ns(), ns;
        num_maybe = 0;
        for (size_t i = 0; i < NUM_QUERIES; i++) {
            num_maybe += filterblock_reader_may_contain(reader, keys[i].data, keys[i].len);
        }
        ns = (now_ns() - begun) / NUM_QUERIES;
        if (ns < least) least = ns;
    }
    printf("C %s %lu keys: %.2f ns a probe (%zu maybe)\n", policy_text, (unsigned long)num_keys, least, num_maybe);
    filterblock_reader_free(reader);
    free(block);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    free(keys);
    free(data);
}

int main(void) {
    static const char *const policies[] = {"blocked:10", "ribbon:10"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        bench(policies[i], 10000);
        bench(policies[i], 1000000);
    }
    return 0;
}
