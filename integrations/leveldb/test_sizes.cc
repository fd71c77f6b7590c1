// Filters as small as LevelDB's: bytes and false positives of each kind beside its own filter of 10 bits a key.

#include "test.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

using Keys = std::vector<std::string>;
using Build = std::function<std::string(const Keys &)>;
using Query = std::function<bool(const std::string &filter, const std::string &key)>;

struct Row {
    double bytes = 0, passed = 0, asked = 0;
    double rate() const { return passed / asked; }
};

/// Filters of 18 to 36 keys, as in data blocks of 4 KiB with values of 100 bytes, and 64 absent keys of each.
Row measured(const Build &build, const Query &query)
{
    Row row;
    unsigned long next = 0;
    for (int round = 0; round < 2000; round++)
        for (unsigned long n = 18; n <= 36; n++) {
            Keys keys;
            for (unsigned long i = 0; i < n; i++)
                keys.push_back(key_of(2 * next++));
            std::string filter = build(keys);
            row.bytes += double(filter.size());
            for (const std::string &key : keys)
                CHECK(query(filter, key));
            for (unsigned long i = 0; i < 64; i++)
                row.passed += query(filter, key_of(2 * (next + i) + 1));
            row.asked += 64;
        }
    return row;
}

Row of_leveldb()
{
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
    return measured(
        [&](const Keys &keys) {
            std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
            std::string filter;
            policy->CreateFilter(slices.data(), int(slices.size()), &filter);
            return filter;
        },
        [&](const std::string &filter, const std::string &key) { return policy->KeyMayMatch(key, filter); });
}

Row of_filterblock(const char *text)
{
    const filterblock_allocator allocator = {sizeof allocator, nullptr, [](void *, size_t len) { return std::malloc(len); },
                                             [](void *, void *memory, size_t) { std::free(memory); }};
    filterblock_policy *policy = nullptr;
    CHECK(filterblock_policy_from_text(text, &policy, nullptr) == FILTERBLOCK_STATUS_OK);
    Row row = measured(
        [&](const Keys &keys) {
            std::vector<const void *> starts;
            std::vector<size_t> lens;
            for (const std::string &key : keys) {
                starts.push_back(key.data());
                lens.push_back(key.size());
            }
            void *memory = nullptr;
            size_t len = 0;
            CHECK(filterblock_compact_build(policy, starts.data(), lens.data(), keys.size(), nullptr, &allocator, &memory, &len,
                                            nullptr, nullptr) == FILTERBLOCK_STATUS_OK);
            std::string filter(static_cast<char *>(memory), len);
            std::free(memory);
            return filter;
        },
        [&](const std::string &filter, const std::string &key) {
            return filterblock_compact_may_contain(policy, filter.data(), filter.size(), key.data(), key.size(), nullptr);
        });
    filterblock_policy_free(policy);
    return row;
}

} // namespace

void test_sizes()
{
    Row theirs = of_leveldb();
    std::printf("%-24s %8s %8s %6s\n", "filters of 18-36 keys", "bytes", "passed", "ratio");
    auto print = [&](const char *name, const Row &row) {
        std::printf("%-24s %8.2f %6.3f %% %6.2f\n", name, row.bytes / row.asked * 64, 100 * row.rate(),
                    row.rate() / theirs.rate());
    };
    print("LevelDB's bloom(10)", theirs);
    for (const char *text : {"bloom:9.9", "ribbon:3.5", "fuse:3", "golomb:9.2", "golomb:fpr=1%"}) {
        Row ours = of_filterblock(text);
        print(text, ours);
        if (std::string(text) == "golomb:9.2") {
            CHECK(ours.bytes <= theirs.bytes);
            // With four standard deviations of both counts to spare.
            double spread = std::sqrt(1 / ours.passed + 1 / theirs.passed);
            CHECK(ours.rate() / theirs.rate() * (1 + 4 * spread) <= 0.85);
        }
    }
}
