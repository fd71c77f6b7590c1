#include "test.h"

unsigned long num_checks;
int allocations_left = 1000000;
size_t bytes_allocated;

void check(bool condition, const char *text, const char *file, int line) {
    num_checks++;
    if (!condition) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
        exit(1);
    }
}

static uint64_t mixed(uint64_t number) {
    uint64_t z = number * 0x9e3779b97f4a7c15u + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void key_of(uint64_t number, char *key) {
    uint64_t words[2];
    words[0] = number;
    words[1] = mixed(number);
    memcpy(key, words, KEY_LEN);
}

void add_keys(filterblock_builder *builder, uint64_t num_keys) {
    char key[KEY_LEN];
    for (uint64_t i = 0; i < num_keys; i++) {
        key_of(i, key);
        OK(filterblock_builder_add_key(builder, key, KEY_LEN));
    }
}

filterblock_policy *policy_of(const char *text) {
    filterblock_policy *policy = NULL;
    OK(filterblock_policy_from_text(text, &policy, NULL));
    CHECK(policy != NULL);
    return policy;
}

static void *alloc(void *context, size_t len) {
    CHECK(context == &bytes_allocated);
    if (allocations_left == 0) return NULL;
    allocations_left--;
    bytes_allocated += len;
    return malloc(len);
}

void give_back(void *context, void *memory, size_t len) {
    CHECK(context == &bytes_allocated && bytes_allocated >= len);
    bytes_allocated -= len;
    free(memory);
}

filterblock_allocator counting_allocator(void) {
    filterblock_allocator allocator;
    allocator.size = sizeof allocator;
    allocator.context = &bytes_allocated;
    allocator.alloc = alloc;
    allocator.free = give_back;
    allocations_left = 1000000;
    return allocator;
}

struct bytes finished(filterblock_builder *builder) {
    filterblock_allocator allocator = counting_allocator();
    size_t before = bytes_allocated;
    struct bytes bytes;
    void *memory;
    OK(filterblock_builder_finish_with(builder, &allocator, &memory, &bytes.len, &bytes.capacity, NULL));
    bytes.data = memory;
    CHECK(bytes.len <= bytes.capacity && bytes_allocated - before == bytes.capacity);
    return bytes;
}

struct bytes block_of(const char *policy_text, uint64_t num_keys) {
    filterblock_policy *policy = policy_of(policy_text);
    filterblock_builder *builder = filterblock_builder_new(policy, NULL);
    struct bytes block;
    OK(filterblock_builder_allow_empty(builder));
    add_keys(builder, num_keys);
    block = finished(builder);
    filterblock_builder_free(builder);
    filterblock_policy_free(policy);
    return block;
}

void drop(struct bytes *bytes) {
    give_back(&bytes_allocated, bytes->data, bytes->capacity);
    bytes->data = NULL;
    bytes->len = bytes->capacity = 0;
}

filterblock_reader *open_block(const struct bytes *block, const filterblock_open_options *options) {
    filterblock_reader *reader;
    OK(filterblock_reader_open(block->data, block->len, options, NULL, &reader, NULL));
    return reader;
}

void note(struct mistakes *mistakes, const char *name, enum outcome expected, enum outcome outcome) {
    if (outcome != expected) fprintf(stderr, "the mistake: %s\n", name);
    CHECK(outcome == expected);
    if (outcome == DENIES) mistakes->num_listed++;
    else mistakes->num_noticed++;
}
