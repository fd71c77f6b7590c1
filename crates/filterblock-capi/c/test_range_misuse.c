/* Plausible mistakes with range filters.  Each row stores keys in one way, and scans around each of them in another; the rows
 * are README.md's, as those of `test_misuse.c`. */

#include "test.h"

enum { NUM_ADDED = 70, MAX_LEN = 32 };

typedef size_t encoding(uint64_t number, uint8_t *key);
typedef bool scan(const filterblock_range_reader *reader, uint64_t number);

/* The i-th of the stored numbers. */
static uint64_t number_of(uint64_t i) { return 10 + i; }

static size_t of_bytes(uint64_t number, uint8_t *key, size_t len) {
    for (size_t i = len; i-- > 0; number >>= 8) key[i] = (uint8_t)number;
    return len;
}
static size_t big_endian(uint64_t number, uint8_t *key) { return of_bytes(number * 1000, key, 8); }
static size_t of_four_bytes(uint64_t number, uint8_t *key) { return of_bytes(number * 1000, key, 4); }
static size_t reversed_bytes(uint64_t number, uint8_t *key) {
    for (size_t i = 0; i < 8; i++) key[i] = (uint8_t)(number >> 8 * i);
    return 8;
}
static size_t little_endian(uint64_t number, uint8_t *key) { return reversed_bytes(number * 256 + 5, key); }
static size_t decimal(uint64_t number, uint8_t *key) { return (size_t)sprintf((char *)key, "%u", (unsigned)number); }
static size_t padded(uint64_t number, uint8_t *key) { return (size_t)sprintf((char *)key, "%08u", (unsigned)number); }
static size_t capitals(uint64_t number, uint8_t *key) { return (size_t)sprintf((char *)key, "ROW%02u", (unsigned)number); }
static size_t most_cut(uint64_t number, uint8_t *key) { return big_endian(number, key) - (number > 10); } /* By a byte. */
static size_t with_sequence(uint64_t number, uint8_t *key) {
    size_t len = padded(number, key);
    return len + of_bytes(~number, key + len, 8);
}
/* Of both signs, in two's complement. */
static size_t signed_number(uint64_t number, uint8_t *key) {
    return of_bytes(number % 2 == 0 ? number * 1000 : 0 - number * 1000, key, 8);
}

static bool between(const filterblock_range_reader *reader, encoding *encode, uint64_t lower, uint64_t upper,
                    uint32_t lower_is_excluded, uint32_t upper_is_excluded) {
    uint8_t keys[2][MAX_LEN];
    filterblock_range_bound from = {keys[0], encode(lower, keys[0]), lower_is_excluded};
    filterblock_range_bound to = {keys[1], encode(upper, keys[1]), upper_is_excluded};
    return filterblock_range_reader_may_contain_range(reader, &from, &to);
}

/* Scans of integers that have `number` between their bounds, as the caller means them. */
static bool around(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, big_endian, number - 1, number + 1, 0, 1);
}
static bool exactly(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, big_endian, number, number, 0, 0);
}
static bool swapped(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, big_endian, number + 1, number - 1, 0, 1);
}
static bool to_the_last_excluded(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, big_endian, number - 1, number, 1, 1);
}
static bool of_unknown_form(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, big_endian, number - 2, number - 1, 0, 2);
}
static bool around_little_endian(const filterblock_range_reader *reader, uint64_t number) {
    uint8_t keys[2][MAX_LEN];
    filterblock_range_bound from = {keys[0], reversed_bytes(number * 256 - 250, keys[0]), 0};
    filterblock_range_bound to = {keys[1], reversed_bytes(number * 256 + 7, keys[1]), 0};
    return filterblock_range_reader_may_contain_range(reader, &from, &to);
}
static bool around_of_four_bytes(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, of_four_bytes, number - 1, number + 1, 0, 1);
}
/* From `-n` to `n`. */
static bool across_zero(const filterblock_range_reader *reader, uint64_t number) {
    uint64_t odd = number | 1;
    return between(reader, signed_number, odd, odd + 1, 0, 0);
}
static bool between_8_and_95(const filterblock_range_reader *reader, uint64_t number) {
    (void)number;
    return between(reader, decimal, 8, 95, 0, 0);
}
static bool around_padded(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, padded, number - 1, number + 1, 1, 1);
}
static bool exactly_padded(const filterblock_range_reader *reader, uint64_t number) {
    return between(reader, padded, number, number, 0, 0);
}
static bool in_small_letters(const filterblock_range_reader *reader, uint64_t number) {
    filterblock_range_bound from = {"row", 3, 0}, to = {"rox", 3, 1};
    (void)number;
    return filterblock_range_reader_may_contain_range(reader, &from, &to);
}
static bool by_zeros(const filterblock_range_reader *reader, uint64_t number) {
    filterblock_range_bound zeros;
    (void)number;
    memset(&zeros, 0, sizeof zeros);
    return filterblock_range_reader_may_contain_range(reader, &zeros, &zeros);
}
/* The keys that begin with "ROW\xff", up to the prefix with its last byte raised by one, which wraps around. */
static bool to_a_wrapped_successor(const filterblock_range_reader *reader, uint64_t number) {
    filterblock_range_bound from = {"ROW\xff", 4, 0}, to = {"ROW\0", 4, 1};
    (void)number;
    return filterblock_range_reader_may_contain_range(reader, &from, &to);
}
static size_t above_a_prefix(uint64_t number, uint8_t *key) {
    memcpy(key, "ROW\xff", 4);
    key[4] = (uint8_t)number;
    return 5;
}
/* From the first row on, to an empty string. */
static bool to_an_empty_string(const filterblock_range_reader *reader, uint64_t number) {
    uint8_t key[MAX_LEN];
    filterblock_range_bound from = {key, big_endian(number, key), 0}, to = {"", 0, 1};
    return filterblock_range_reader_may_contain_range(reader, &from, &to);
}
static bool without_a_reader(const filterblock_range_reader *reader, uint64_t number) {
    return around(NULL, number) && reader != NULL;
}

static const struct {
    const char *name, *policy;
    encoding *stored;
    scan *asked;
    enum outcome outcome;
} mistakes[] = {
    {"none, of ranges", "range:14", big_endian, around, MAYBE},             /* The controls. */
    {"none, of ranges of integers", "range:fpr=1%,len=2000", big_endian, around, MAYBE},
    {"none, of ranges of padded numbers", "range:14", padded, around_padded, MAYBE},
    {"bounds of zeros, meant as none", "range:14", big_endian, by_zeros, MAYBE},
    {"an empty string as the upper bound, meant as none", "range:14", big_endian, to_an_empty_string, MAYBE},
    {"a range filter that could not be opened is used all the same", "range:14", big_endian, without_a_reader, MAYBE},
    {"`is_excluded` is neither 0 nor 1", "range:14", big_endian, of_unknown_form, MAYBE},
    {"bounds are swapped, as by a descending scan", "range:14", big_endian, swapped, MAYBE},
    {"bounds of integers are swapped", "range:fpr=1%,len=2000", big_endian, swapped, MAYBE},
    {"signed integers as they are, scanned across 0", "range:14", signed_number, across_zero, MAYBE},
    {"the end of a prefix is computed without a carry", "range:14", above_a_prefix, to_a_wrapped_successor, MAYBE},
    {"a bound is excluded, and meant as part of the range", "range:40", big_endian, to_the_last_excluded, DENIES},
    {"little-endian integers", "range:14", little_endian, around_little_endian, DENIES},
    {"integers of another width", "range:fpr=1%,len=2000", big_endian, around_of_four_bytes, DENIES},
    {"numbers as text without padding", "range:14", decimal, between_8_and_95, DENIES},
    {"keys with a sequence number, bounds without", "range:40", with_sequence, exactly_padded, DENIES},
    {"prefixes are added, bounds are whole keys", "range:40", most_cut, exactly, DENIES},
    {"keys of a comparator that is not bytewise", "range:14", capitals, in_small_letters, DENIES},
};

static enum outcome commit(const char *policy, encoding *stored, scan *asked) {
    filterblock_builder *builder;
    filterblock_range_reader *reader;
    struct bytes block;
    uint8_t key[MAX_LEN];
    unsigned num_denied = 0;

    OK(filterblock_range_builder_new(policy, NULL, &builder, NULL));
    for (uint64_t i = 0; i < NUM_ADDED; i++) {
        OK(filterblock_builder_add_key(builder, key, stored(number_of(i), key)));
    }
    block = finished(builder);
    OK(filterblock_range_reader_open(block.data, block.len, NULL, NULL, &reader, NULL));
    for (uint64_t i = 0; i < NUM_ADDED; i++) num_denied += !asked(reader, number_of(i));
    filterblock_range_reader_free(reader);
    drop(&block);
    filterblock_builder_free(builder);
    return num_denied == 0 ? MAYBE : DENIES;
}

/* What is added to a builder of ranges that takes whole keys alone. */
static enum outcome added(filterblock_status (*add)(filterblock_builder *)) {
    filterblock_builder *builder;
    uint8_t memory[256];
    size_t len;
    enum outcome outcome;

    OK(filterblock_range_builder_new("range:14", NULL, &builder, NULL));
    outcome = add(builder) == FILTERBLOCK_STATUS_OK ? DENIES : REFUSED;
    if (outcome == REFUSED) CHECK(filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL) != 0);
    filterblock_builder_free(builder);
    return outcome;
}
static filterblock_status add_a_row(filterblock_builder *builder) { return filterblock_builder_add_row(builder, "row", 3); }
static filterblock_status add_a_hash(filterblock_builder *builder) { return filterblock_builder_add_hash(builder, 7); }

/* Keys of two lengths, for which no rate holds. */
static enum outcome not_integers(const char *policy) {
    filterblock_builder *builder;
    filterblock_range_reader *reader;
    uint8_t memory[256];
    size_t len;
    enum outcome outcome = REFUSED;

    OK(filterblock_range_builder_new(policy, NULL, &builder, NULL));
    OK(filterblock_builder_add_key(builder, "9", 1));
    OK(filterblock_builder_add_key(builder, "10", 2));
    if (filterblock_builder_finish_into(builder, memory, sizeof memory, &len, NULL) == FILTERBLOCK_STATUS_OK) {
        OK(filterblock_range_reader_open(memory, len, NULL, NULL, &reader, NULL));
        outcome = filterblock_range_reader_may_contain(reader, "9", 1) ? MAYBE : DENIES;
        filterblock_range_reader_free(reader);
    }
    filterblock_builder_free(builder);
    return outcome;
}

static enum outcome keys_opened_as_ranges(void) {
    struct bytes block = block_of("blocked:10", 10);
    filterblock_range_reader *reader;
    filterblock_range_reader_open(block.data, block.len, NULL, NULL, &reader, NULL);
    drop(&block);
    return reader ? DENIES : REFUSED;
}

struct mistakes commit_range_mistakes(void) {
    struct mistakes noted = {0, 0};
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        enum outcome outcome = commit(mistakes[i].policy, mistakes[i].stored, mistakes[i].asked);
        note(&noted, mistakes[i].name, mistakes[i].outcome, outcome);
    }
    note(&noted, "a row is added to a range filter", REFUSED, added(add_a_row));
    note(&noted, "a hash is added to a range filter", REFUSED, added(add_a_hash));
    note(&noted, "keys that are not integers, under a policy with a rate", MAYBE, not_integers("range:fpr=1%,len=16"));
    note(&noted, "the same, with form=integers", REFUSED, not_integers("range:fpr=1%,len=16,form=integers"));
    note(&noted, "a filter of keys is opened as one of ranges", REFUSED, keys_opened_as_ranges());
    return noted;
}
