// Filter blocks inside LevelDB, by what LevelDB reads of its tables.

#include "test.h"

#include <leveldb/filter_policy.h>
#include <leveldb/options.h>

#include <cstring>
#include <set>
#include <thread>

namespace {

/// How many of the keys `first`, `first` + 2, ... a database has.
unsigned long num_found(const Database &database, unsigned long num_keys, unsigned long first)
{
    unsigned long found = 0;
    for (unsigned long i = 0; i < num_keys; i++)
        found += database.has(key_of(2 * i + first));
    return found;
}

/// After reopening, and after compaction.
void keys_are_found(unsigned long num_keys)
{
    Policy policy = policy_of("golomb:9.2,seed=7");
    {
        Database database(scratch("million"), policy.get());
        fill(database, num_keys);
    }
    {
        Database database(scratch("million"), policy.get());
        CHECK(num_found(database, num_keys, 0) == num_keys);
        database.compact();
        CHECK(num_found(database, num_keys, 0) == num_keys);
    }
    Database database(scratch("million"), policy.get());
    std::thread other([&] { CHECK(num_found(database, num_keys / 2, 0) == num_keys / 2); });
    CHECK(num_found(database, num_keys / 2, num_keys) == num_keys / 2);
    other.join();
    filterblock_leveldb_counts counts = filterblock_leveldb_read(policy.get());
    CHECK(counts.built > 0 && counts.unfinished == 0 && counts.unreadable == 0);
    std::printf("counted: %lu keys found after reopening, after compaction, and by two threads; %llu filters built\n", num_keys,
                static_cast<unsigned long long>(counts.built));
}

/// Reads for absent keys, once every table is open.
unsigned long reads_of_absent(filterblock_leveldb *policy, const std::string &name, unsigned long num_keys)
{
    Database database(scratch(name), policy);
    fill(database, num_keys);
    database.compact();
    CHECK(num_found(database, num_keys, 0) == num_keys);
    unsigned long before = database.env.reads;
    CHECK(num_found(database, num_keys, 1) == 0);
    return database.env.reads - before;
}

void reads_are_avoided(unsigned long num_keys)
{
    unsigned long without = reads_of_absent(nullptr, "without", num_keys);
    CHECK(without >= num_keys * 99 / 100);
    for (const char *text : {"golomb:9.2", "bloom:10"}) {
        Policy policy = policy_of(text);
        unsigned long with = reads_of_absent(policy.get(), text, num_keys);
        CHECK(with * 100 <= without * 2);
        // LevelDB's count, and ours.
        filterblock_leveldb_counts counts = filterblock_leveldb_read(policy.get());
        CHECK(counts.negatives + with >= without);
        std::printf("counted: %s: %lu of %lu reads of absent keys avoided (%.2f %%)\n", text, without - with, without,
                    100.0 * double(without - with) / double(without));
    }
}

/// Filters under another name are ignored, so policies that would deny the keys of each other's have different names.
void names_tell_transforms_and_seeds_apart()
{
    std::set<std::string> names;
    for (const char *transform : {"whole-key", "prefix:4", "prefix:511", "prefix:512", "prefix:513", "prefix:65535"}) {
        for (const char *seed : {"1", "2"}) {
            Policy policy = policy_of(std::string("bloom:10,seed=") + seed + ",transform=" + transform);
            CHECK(names.insert(filterblock_leveldb_name(policy.get())).second);
        }
    }
}

/// Kind and size may change; under another seed, the name is another, and old filters are ignored.
void policies_may_change()
{
    const unsigned long num_keys = 20000;
    {
        Policy policy = policy_of("golomb:9.2,seed=7");
        Database database(scratch("changed"), policy.get());
        fill(database, num_keys);
        database.compact();
    }
    for (const char *text : {"bloom:12,seed=7", "ribbon:8,seed=7", "golomb:9.2,seed=8", "golomb:9.2,seed=7,transform=prefix:6"}) {
        Policy policy = policy_of(text);
        Database database(scratch("changed"), policy.get());
        CHECK(num_found(database, num_keys, 0) == num_keys);
        CHECK(num_found(database, num_keys, 1) == 0);
        bool is_same = std::string(text).find("seed=7") != std::string::npos && !std::strstr(text, "transform");
        CHECK((filterblock_leveldb_read(policy.get()).negatives > num_keys * 9 / 10) == is_same);
    }
    std::printf("counted: 4 changes of the policy, no key of 20000 denied\n");
}

/// What cannot be built matches every key. Deleted keys stay deleted.
void filters_that_cannot_be_built_deny_nothing()
{
    const unsigned long num_keys = 20000;
    Policy policy = policy_of("bloom:max=66");
    CHECK(filterblock_leveldb_verdict(policy.get(), nullptr, 0) == FILTERBLOCK_FINDING_NO_LOOKUPS);
    Database database(scratch("unbuilt"), policy.get());
    fill(database, num_keys);
    database.compact();
    CHECK(num_found(database, num_keys, 0) == num_keys);
    for (unsigned long i = 0; i < num_keys; i += 2)
        database.erase(key_of(2 * i));
    database.compact();
    CHECK(num_found(database, num_keys, 0) == num_keys / 2);
    filterblock_leveldb_counts counts = filterblock_leveldb_read(policy.get());
    CHECK(counts.built == 0 && counts.unfinished > 0);
    CHECK(counts.queries > 0 && counts.negatives == 0 && counts.unreadable == counts.queries);
    char verdict[FILTERBLOCK_VERDICT_SIZE];
    CHECK(filterblock_leveldb_verdict(policy.get(), verdict, sizeof verdict) ==
          (FILTERBLOCK_FINDING_UNUSABLE | FILTERBLOCK_FINDING_NEVER_DENIED | FILTERBLOCK_FINDING_NOT_BUILT));
    CHECK(std::strstr(verdict, "could not be built"));
    std::printf("counted: %llu filters not built, no key denied\n", static_cast<unsigned long long>(counts.unfinished));
}

/// LevelDB answers no itself where a part of a table has no keys. A filter that is made of none matches every key, and so do the
/// filters of two calls in a row the keys of their own.
void filters_of_no_keys_deny_nothing()
{
    Policy policy = policy_of("golomb:9.2,seed=7");
    leveldb_options_t *options = leveldb_options_create();
    filterblock_leveldb_use(policy.get(), options);
    const leveldb::FilterPolicy *filters = reinterpret_cast<const leveldb::Options *>(options)->filter_policy;
    std::string nothing;
    filters->CreateFilter(nullptr, 0, &nothing);
    CHECK(nothing.size() == 1);
    CHECK(filters->KeyMayMatch("key", nothing) && filters->KeyMayMatch("", nothing));
    for (int i = 0; i < 2; i++) {
        const std::string key = key_of(2 * i);
        const leveldb::Slice slice(key);
        std::string filter;
        filters->CreateFilter(&slice, 1, &filter);
        CHECK(filters->KeyMayMatch(key, filter) && !filters->KeyMayMatch(key_of(1), filter));
    }
    filterblock_leveldb_counts counts = filterblock_leveldb_read(policy.get());
    CHECK(counts.built == 2 && counts.unfinished == 1 && counts.unreadable == 2);
    leveldb_options_destroy(options);
}

void texts_that_are_no_policy_are_refused()
{
    filterblock_error error;
    CHECK(!filterblock_leveldb_new("golomb:1000", &error));
    CHECK(error.status == FILTERBLOCK_STATUS_SETTING && error.message[0]);
    CHECK(!filterblock_leveldb_new("golomb:9,transform=cell", nullptr));
    for (const char *text : {"bloom:9,transform=delimited:/", "bloom:9,transform=delimited:0x00:4"})
        CHECK(!filterblock_leveldb_new(text, nullptr));
    filterblock_leveldb_free(nullptr);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::string(argv[1]) == "sizes") {
        test_sizes();
        return 0;
    }
    texts_that_are_no_policy_are_refused();
    names_tell_transforms_and_seeds_apart();
    policies_may_change();
    filters_that_cannot_be_built_deny_nothing();
    filters_of_no_keys_deny_nothing();
    test_damage();
    bool is_short = argc > 1 && std::string(argv[1]) == "short";
    reads_are_avoided(is_short ? 10000 : 100000);
    test_sizes();
    keys_are_found(is_short ? 20000 : 1000000);
    return 0;
}
