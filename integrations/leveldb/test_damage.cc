// Damaged filters: no answer changes, as LevelDB's checksum of the filters is verified.

#include "test.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace fs = std::filesystem;

namespace {

const unsigned long NUM_KEYS = 2000;

std::string the_table(const std::string &directory)
{
    std::string found;
    for (const auto &entry : fs::directory_iterator(directory))
        if (entry.path().extension() == ".ldb" || entry.path().extension() == ".sst") {
            CHECK(found.empty());
            found = entry.path().string();
        }
    CHECK(!found.empty());
    return found;
}

unsigned long varint(const std::string &bytes, size_t &at)
{
    unsigned long value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned long byte = static_cast<unsigned char>(bytes.at(at++));
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

/// Where a table's filters lie, with their offsets: after the filter's name stands the handle.
std::pair<size_t, size_t> filters_of(const std::string &table, const filterblock_leveldb *policy)
{
    std::string name = std::string("filter.") + filterblock_leveldb_name(policy);
    size_t at = table.rfind(name);
    CHECK(at != std::string::npos);
    at += name.size();
    size_t offset = varint(table, at), len = varint(table, at);
    CHECK(offset + len < table.size() && len > NUM_KEYS);
    return {offset, len};
}

unsigned long num_denied(const std::string &directory, filterblock_leveldb *policy, Database::Verify verify)
{
    Database database(directory, policy, verify);
    unsigned long denied = 0;
    for (unsigned long i = 0; i < NUM_KEYS; i++) {
        denied += !database.has(key_of(2 * i));
        CHECK(!database.has(key_of(2 * i + 1)));
    }
    return denied;
}

} // namespace

void test_damage()
{
    unsigned long num_damaged = 0, denied_unverified = 0;
    for (const char *text : {"golomb:9.2,seed=7", "bloom:10,seed=7", "blocked:20,seed=7", "ribbon:10,seed=7", "fuse:12,seed=7"}) {
        Policy policy = policy_of(text);
        std::string directory = scratch("damaged-" + std::string(text));
        {
            Database database(directory, policy.get());
            fill(database, NUM_KEYS);
            database.compact();
        }
        CHECK(num_denied(directory, policy.get(), Database::VERIFIED) == 0);
        std::string path = the_table(directory), table;
        {
            std::ifstream file(path, std::ios::binary);
            table.assign(std::istreambuf_iterator<char>(file), {});
        }
        auto [offset, len] = filters_of(table, policy.get());
        std::mt19937_64 random(7);
        for (int i = 0; i < 60; i++) {
            std::string damaged = table;
            size_t at = offset + random() % len;
            switch (i % 3) {
            case 0: damaged[at] ^= char(1 << random() % 8); break;
            case 1: damaged.replace(at, 16, 16, char(0)); break;
            default: damaged.replace(at, 16, 16, char(0xff)); break;
            }
            // Zeros may be written over zeros.
            num_damaged += damaged != table;
            std::ofstream(path, std::ios::binary) << damaged;
            CHECK(num_denied(directory, policy.get(), Database::VERIFIED) == 0);
            denied_unverified += num_denied(directory, policy.get(), Database::UNVERIFIED);
        }
        std::ofstream(path, std::ios::binary) << table;
    }
    // Otherwise this test could not fail.
    CHECK(denied_unverified > 0);
    std::printf("counted: %lu damaged tables, none of their keys denied; without LevelDB's verification %lu were\n",
                num_damaged, denied_unverified);
}
