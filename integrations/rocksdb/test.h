// What the tests share: databases with counted lookups, and the keys in them.

#ifndef FILTERBLOCK_ROCKSDB_TEST_H
#define FILTERBLOCK_ROCKSDB_TEST_H

#include "filterblock_rocksdb.h"

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rocks = ROCKSDB_NAMESPACE;

extern uint64_t num_checks;
void Check(bool condition, const char* text, const char* file, int line);
void CheckOk(const rocks::Status& status, const char* text, const char* file, int line);
#define CHECK(condition) Check(condition, #condition, __FILE__, __LINE__)
#define REQUIRE(status) CheckOk(status, #status, __FILE__, __LINE__)

using PolicyPtr = std::shared_ptr<const rocks::FilterPolicy>;

// A policy of the library's; one text for all levels.
PolicyPtr Ours(const std::string& upper, const std::string& bottommost, bool trusted = false,
               std::shared_ptr<rocks::Logger> log = nullptr);
filterblock::RocksdbFilterCounts CountsOf(const PolicyPtr& policy);

// 16 bytes, in no order. Numbers from kAbsent on are never stored.
constexpr uint64_t kAbsent = uint64_t{1} << 40;
std::string KeyOf(uint64_t number);
std::string ValueOf(uint64_t number);

// Newer versions give a unique_ptr.
rocks::Status Open(const rocks::Options& options, const std::string& path, std::unique_ptr<rocks::DB>* db);

struct Setting {
  PolicyPtr policy;
  rocks::BlockBasedTableOptions table;
  rocks::Options options;

  explicit Setting(PolicyPtr policy);
  // One filter and one index for every few kilobytes.
  Setting& Partitioned();
  // The options for a database.
  rocks::Options Final() const;
};

// A database in a directory of its own, which is removed with it.
class Database {
 public:
  explicit Database(const Setting& setting);
  ~Database();

  void Close() { db_.reset(); }
  void Reopen(const Setting& setting) { REQUIRE(TryReopen(setting.Final())); }
  rocks::Status TryReopen(const rocks::Options& options);
  rocks::DB* operator->() { return db_.get(); }
  const std::string& path() const { return path_; }
  // The files of its tables.
  std::vector<std::string> Tables() const;

  // Puts keys from `begin` to `end`, in tables of their own.
  void Put(uint64_t begin, uint64_t end);
  // Into the bottommost level.
  void Compact();
  // Gets that are answered wrongly, of keys from `begin` to `end`, all present or all absent.
  uint64_t Wrong(uint64_t begin, uint64_t end, const rocks::ReadOptions& options = rocks::ReadOptions());
  // Keys up to `stored` are there, as many others are not, and filters deny these, or none has been asked.
  void CheckAll(uint64_t stored, bool filtered = true);
  // What a ticker has grown by since it was last taken.
  const rocks::Statistics& statistics() const { return *statistics_; }
  uint64_t Taken(rocks::Tickers ticker) { return statistics_->getAndResetTickerCount(ticker); }

 private:
  std::string path_;
  std::shared_ptr<rocks::Statistics> statistics_;
  std::unique_ptr<rocks::DB> db_;
};

// test_equal.cc
void TestEqualKeys();

// test_verdict.cc
void TestNothing();
void TestVerdict();

// test_ranges.cc
void TestRanges(uint64_t num_keys);

// test_damage.cc
void TestDamage(bool long_plan);
void TestOtherPolicies();
void TestFailedBuilds();

#endif  // FILTERBLOCK_ROCKSDB_TEST_H
