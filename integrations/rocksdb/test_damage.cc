// Filters that are damaged, another policy's, or missing: no answer changes.

#include "test.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

constexpr uint64_t kKeys = 3000;
constexpr size_t kHeaderLen = 64, kTrailerLen = 5;

// Counts what the policy logs.
class CountingLogger : public rocks::Logger {
 public:
  using rocks::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    if (strstr(line, "filterblock:") != nullptr) ++lines;
  }
  std::atomic<int> lines{0};
};

using Extent = std::pair<size_t, size_t>;  // Begin and end.

// Where the filters of a table lie in its file.
std::vector<Extent> FiltersOf(const std::string& file) {
  const std::string magic("\xf1" "FBLK\r\n\x1a", 8), mark("\0fbk", 4);
  std::vector<Extent> filters;
  for (size_t begin = file.find(magic); begin != std::string::npos; begin = file.find(magic, begin + 1)) {
    const size_t end = file.find(mark, begin);
    CHECK(end != std::string::npos);
    filters.push_back({begin, end + kTrailerLen});
  }
  return filters;
}

struct Case {
  const char* name;
  bool checksums;  // Whether RocksDB writes them,
  bool verified;   // and lookups verify them.
  bool trusted;
  bool partitioned;
  int reaches_policy;  // Whether RocksDB passes damaged bytes on: -1 where only newer versions do.
};

constexpr Case kCases[] = {
    {"verified by RocksDB", true, true, false, false, 0},
    {"verified by RocksDB, trusted", true, true, true, false, 0},
    {"not verified by RocksDB", true, false, false, false, -1},
    {"without checksums of RocksDB", false, true, false, false, 1},
    {"without checksums of RocksDB, trusted", false, true, true, false, 1},
    {"partitions, not verified by RocksDB", true, false, false, true, -1},
    {"partitions, without checksums of RocksDB, trusted", false, true, true, true, 1},
};

Setting SettingOf(const Case& of, const char* policy, std::shared_ptr<rocks::Logger> log = nullptr) {
  Setting setting(Ours(policy, policy, of.trusted, std::move(log)));
  if (of.partitioned) setting.Partitioned().table.metadata_block_size = 512;
  setting.table.cache_index_and_filter_blocks = true;
  setting.table.checksum = of.checksums ? rocks::kXXH3 : rocks::kNoChecksum;
  return setting;
}

// Writes `bytes` over the table, looks all keys up, and restores it. Returns how many filters were found damaged.
uint64_t LookUpDamaged(Database& db, const Case& of, const char* policy, const std::string& path, size_t offset,
                       const std::string& bytes, const std::string& intact) {
  const auto log = std::make_shared<CountingLogger>();
  const Setting setting = SettingOf(of, policy, log);
  rocks::ReadOptions options;
  options.verify_checksums = of.verified;
  db.Close();
  const std::string damaged = std::string(intact).replace(offset, bytes.size(), bytes);
  REQUIRE(rocks::WriteStringToFile(rocks::Env::Default(), damaged, path));
  db.Reopen(setting);
  CHECK(db.Wrong(0, kKeys, options) == 0);
  CHECK(db.Wrong(kAbsent, kAbsent + 100, options) == 0);
  const filterblock::RocksdbFilterCounts counts = CountsOf(setting.policy);
  const uint64_t failed = counts.damaged + counts.newer + counts.mismatch + counts.not_built;
  CHECK(log->lines <= 2 && (log->lines > 0) == (failed > 0));
  CHECK(failed == 0 || of.reaches_policy != 0);
  // It does not look at partitions of filters.
  CHECK(of.partitioned || db->VerifyChecksum().ok() != of.checksums);
  db.Close();
  REQUIRE(rocks::WriteStringToFile(rocks::Env::Default(), intact, path));
  return failed;
}

void IsRefused(const Case& of, uint64_t failed) {
  CHECK(of.reaches_policy == -1 || (failed > 0) == (of.reaches_policy == 1));
}

void DamageFilters(const Case& of, const char* policy, size_t step) {
  Database db(SettingOf(of, policy));
  db.Put(0, kKeys);
  db.Compact();
  CHECK(db.Tables().size() == 1);
  const std::string path = db.Tables()[0];
  std::string intact;
  REQUIRE(rocks::ReadFileToString(rocks::Env::Default(), path, &intact));
  const std::vector<Extent> filters = FiltersOf(intact);
  CHECK(of.partitioned ? filters.size() > 3 : filters.size() == 1);
  std::mt19937_64 random(7);
  uint64_t damages = 0, noticed = 0;
  const auto damage = [&](size_t offset, const std::string& bytes) {
    const uint64_t failed = LookUpDamaged(db, of, policy, path, offset, bytes, intact);
    ++damages;
    noticed += failed != 0;
    return failed;
  };

  const size_t begin = filters[filters.size() / 2].first, len = filters[filters.size() / 2].second - begin;
  const size_t payload = begin + kHeaderLen, end = begin + len - kTrailerLen;
  std::vector<size_t> places;
  for (size_t i = 0; i < kHeaderLen; i += step) places.push_back(begin + i);
  for (size_t i = 0; i < 64; i += step) places.push_back(payload + random() % (end - payload));
  for (const size_t place : places) {
    const char damaged = static_cast<char>(intact[place] ^ (1 << random() % 8));
    IsRefused(of, damage(place, std::string(1, damaged)));
  }
  // The trailer states what wrote the filter, and can be any other's.
  for (size_t i = 0; i < kTrailerLen; ++i) {
    for (const int byte : {0, 1, 6, 0xfe, 0xff}) {
      if (intact[end + i] != static_cast<char>(byte)) damage(end + i, std::string(1, static_cast<char>(byte)));
    }
  }
  for (const std::string& trailer : {std::string("\xff\0\6\0\0", 5), std::string("\xfe\0\3\0\0", 5)}) {
    // In front of the payload nothing is damaged: the block is read, or refused.
    damage(end, trailer);
    // Both are: it looks like RocksDB's. Where this reads as a sound one, only RocksDB's checksum can tell.
    if (of.verified && of.checksums) damage(begin, std::string(len - kTrailerLen, '\0') + trailer);
  }
  for (const char byte : {'\0', '\xff', 'x'}) {
    IsRefused(of, damage(begin, std::string(len, byte)));
    damage(payload, std::string(end - payload, byte));
    // With the last byte of a table that RocksDB verifies.
    damage(payload, std::string(len - kHeaderLen - 1, byte) + 'c');
  }
  for (const Extent& each : filters) {
    std::string noise;
    while (noise.size() < each.second - each.first) noise.push_back(static_cast<char>(random()));
    damage(each.first, noise);
  }
  printf("counted: %s, %s: %llu damaged filters, %llu refused by the policy, no answer changed\n", policy, of.name,
         static_cast<unsigned long long>(damages), static_cast<unsigned long long>(noticed));
}

}  // namespace

void TestDamage(bool long_plan) {
  for (const Case& of : kCases) {
    if (long_plan) {
      DamageFilters(of, "blocked:10", 1);
      DamageFilters(of, "ribbon:10", 1);
    } else if (of.reaches_policy == 1) {
      DamageFilters(of, of.partitioned ? "ribbon:10" : "blocked:10", 16);
    }
  }
}

// From RocksDB's policies to this one and back: filters that were written before are still used, or match.
void TestOtherPolicies() {
  constexpr uint64_t kStored = 10000;
  const PolicyPtr ours = Ours("blocked:10", "ribbon:10");
  const PolicyPtr bloom(rocks::NewBloomFilterPolicy(10));
  const PolicyPtr theirs[] = {bloom, PolicyPtr(rocks::NewRibbonFilterPolicy(10, -1)), bloom};
  for (int i = 0; i < 6; ++i) {
    for (const bool compacted : {false, true}) {
      const bool partitioned = i >= 3, legacy = i % 3 == 2;
      Setting from(theirs[i % 3]), to(ours);
      if (partitioned) from.Partitioned(), to.Partitioned();
      if (legacy) from.table.format_version = 4;
      {
        Database db(from);
        db.Put(0, kStored);
        if (compacted) db.Compact();
        db.Reopen(to);
        db.CheckAll(kStored);
      }
      Database db(to);
      db.Put(0, kStored);
      if (compacted) db.Compact();
      db.Reopen(from);
      db.CheckAll(kStored, false);
      db.Compact();
      db.Reopen(to);
      db.CheckAll(kStored);
      // Written with other settings.
      db.Reopen(Setting(Ours("fuse:fpr=1%,seed=9", "golomb:8")));
      CHECK(db.Wrong(0, kStored) == 0);
    }
  }
  const filterblock::RocksdbFilterCounts counts = CountsOf(ours);
  CHECK(counts.damaged == 0 && counts.newer == 0 && counts.mismatch == 0 && counts.not_built == 0);
}

// The tables that a database has written.
struct CountingTables final : rocks::EventListener {
  void OnTableFileCreated(const rocks::TableFileCreationInfo& info) override { created += info.status.ok(); }
  std::atomic<uint64_t> created{0};
};

// A cap too small for the keys: tables have no filter, for this policy and for RocksDB's.
void TestFailedBuilds() {
  constexpr uint64_t kStored = 20000;
  const auto log = std::make_shared<CountingLogger>();
  const auto tables = std::make_shared<CountingTables>();
  Setting setting(Ours("blocked:max=300", "ribbon:max=300", false, log));
  setting.options.listeners.push_back(tables);
  Database db(setting);
  db.Put(0, kStored);
  db.Put(kStored, 2 * kStored);
  CHECK(CountsOf(setting.policy).unfinished == 2 && CountsOf(setting.policy).built == 0);
  // When the first is written, and when it is opened.
  CHECK(db.Wrong(0, 2 * kStored) == 0 && CountsOf(setting.policy).not_built >= 1 && log->lines == 2);
  db.Compact();
  // Newer versions write the bottommost table twice.
  CHECK(CountsOf(setting.policy).unfinished == tables->created && tables->created >= 3);
  db.Reopen(setting);
  CHECK(db.Wrong(0, 2 * kStored) == 0 && log->lines == 2);
  db.Reopen(Setting(PolicyPtr(rocks::NewBloomFilterPolicy(10))));
  CHECK(db.Wrong(0, 2 * kStored) == 0);

  // Without a logger of its own the policy uses that of the database, when the next table is written.
  Setting silent(Ours("blocked:10", "ribbon:10"));
  const auto info = std::make_shared<CountingLogger>();
  silent.options.info_log = info;
  db.Reopen(silent);
  CHECK(db.Wrong(0, 2 * kStored) == 0 && CountsOf(silent.policy).not_built >= 1);
  const int before = info->lines;
  db.Put(2 * kStored, 3 * kStored);
  CHECK(info->lines == before + 1);
  db.Put(3 * kStored, 4 * kStored);
  CHECK(info->lines == before + 1);
}
