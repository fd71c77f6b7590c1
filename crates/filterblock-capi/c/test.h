/* What the tests share. */

#ifndef FILTERBLOCK_TEST_H
#define FILTERBLOCK_TEST_H

#include <filterblock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Ends the test unless `condition` holds. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
/* The call ends with this status. */
#define STATUS(status, call) CHECK((call) == FILTERBLOCK_STATUS_##status)
#define OK(call) STATUS(OK, call)

extern unsigned long num_checks;
void check(bool condition, const char *text, const char *file, int line);

/* Keys are numbers, spread over 16 bytes; those from 2^32 on are never added. */
enum { KEY_LEN = 16, NUM_KEYS = 5000 };
void key_of(uint64_t number, char *key);
void add_keys(filterblock_builder *builder, uint64_t num_keys);

filterblock_policy *policy_of(const char *text);

/* By malloc; refuses when no allocations are left, and counts the bytes that it was not given back. */
extern int allocations_left;
extern size_t bytes_allocated;
filterblock_allocator counting_allocator(void);
void give_back(void *context, void *memory, size_t len);

/* What was finished, in memory of the counting allocator: to be given back by `drop`. */
struct bytes {
    uint8_t *data;
    size_t len, capacity;
};
struct bytes finished(filterblock_builder *builder);
struct bytes block_of(const char *policy_text, uint64_t num_keys);
void drop(struct bytes *bytes);

/* A reader of the whole block, which must be intact. */
filterblock_reader *open_block(const struct bytes *block, const filterblock_open_options *options);

/* What becomes of a mistake: an error, no stored key denied, or stored keys denied, for which README.md lists it. */
enum outcome { REFUSED, MAYBE, DENIES };
/* The mistake must have the outcome that its row states; it is counted. */
struct mistakes {
    unsigned num_noticed, num_listed;
};
void note(struct mistakes *mistakes, const char *name, enum outcome expected, enum outcome outcome);

void test_readers(void);
void test_misuse(void);
void test_null(void);
void test_nothing(void);
void test_partitions(void);
void test_verdict(void);
void test_ranges(void);
struct mistakes commit_range_mistakes(void);
void commit_partition_mistakes(struct mistakes *noted);

#endif
