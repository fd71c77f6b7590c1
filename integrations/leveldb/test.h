// What the tests share: databases in a directory of their own, and reads counted at LevelDB's Env.

#pragma once

#include "filterblock_leveldb.h"

#include <leveldb/env.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#define CHECK(condition) \
    ((condition) ? void() : (std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::exit(1)))

/// Counts what LevelDB reads of its tables.
class CountingEnv : public leveldb::EnvWrapper {
  public:
    CountingEnv() : EnvWrapper(leveldb::Env::Default()) {}
    leveldb::Status NewRandomAccessFile(const std::string &name, leveldb::RandomAccessFile **file) override;

    std::atomic<unsigned long> reads{0};
};

using Policy = std::unique_ptr<filterblock_leveldb, decltype(&filterblock_leveldb_free)>;
Policy policy_of(const std::string &text);

/// A database of `directory`, through LevelDB's C API; without filters if `policy` is null.
class Database {
  public:
    enum Verify { VERIFIED, UNVERIFIED };
    Database(const std::string &directory, filterblock_leveldb *policy, Verify verify = VERIFIED);
    ~Database();
    Database(const Database &) = delete;

    void put(const std::string &key, const std::string &value);
    void erase(const std::string &key);
    /// Whether the key is present; then its value must be that of `value_of`.
    bool has(const std::string &key) const;
    /// All to tables of the last level.
    void compact();

    mutable CountingEnv env;

  private:
    leveldb_options_t *options;
    leveldb_readoptions_t *read;
    leveldb_writeoptions_t *write;
    leveldb_cache_t *cache;
    std::unique_ptr<char[]> env_handle;
    leveldb_t *db;
};

/// Present keys are of even numbers, absent ones of odd.
std::string key_of(unsigned long number);
std::string value_of(const std::string &key);
void fill(Database &database, unsigned long num_keys);

/// A new directory, removed at the end of the program.
std::string scratch(const std::string &name);

void test_damage();
void test_sizes();
