#include "test.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

uint64_t num_checks;

void Check(bool condition, const char* text, const char* file, int line) {
  ++num_checks;
  if (condition) return;
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
  exit(1);
}

void CheckOk(const rocks::Status& status, const char* text, const char* file, int line) {
  Check(status.ok(), (std::string(text) + ": " + status.ToString()).c_str(), file, line);
}

PolicyPtr Ours(const std::string& upper, const std::string& bottommost, bool trusted,
               std::shared_ptr<rocks::Logger> log) {
  filterblock::RocksdbFilterOptions options;
  options.upper = upper;
  options.bottommost = bottommost;
  options.trusted = trusted;
  options.log = std::move(log);
  PolicyPtr policy;
  REQUIRE(filterblock::NewRocksdbFilterPolicy(options, &policy));
  return policy;
}

filterblock::RocksdbFilterCounts CountsOf(const PolicyPtr& policy) {
  filterblock::RocksdbFilterCounts counts;
  CHECK(filterblock::ReadRocksdbFilterCounts(*policy, &counts));
  return counts;
}

std::string KeyOf(uint64_t number) {
  uint64_t z = number * 0x9e3779b97f4a7c15u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, z ^ (z >> 31));
  return text;
}

std::string ValueOf(uint64_t number) { return std::to_string(number); }

Setting::Setting(PolicyPtr policy) : policy(std::move(policy)) {
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.write_buffer_size = 256 << 20;
  options.compression = rocks::kNoCompression;
}

Setting& Setting::Partitioned() {
  table.index_type = rocks::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4096;
  return *this;
}

rocks::Options Setting::Final() const {
  Setting made = *this;
  made.table.filter_policy = policy;
  made.options.table_factory.reset(rocks::NewBlockBasedTableFactory(made.table));
  return made.options;
}

Database::Database(const Setting& setting) {
  const char* directory = getenv("TMPDIR");
  path_ = std::string(directory != nullptr ? directory : "/tmp") + "/filterblock-rocksdb-XXXXXX";
  CHECK(mkdtemp(&path_[0]) != nullptr);
  Reopen(setting);
}

Database::~Database() {
  Close();
  rocks::DestroyDB(path_, rocks::Options());
  rmdir(path_.c_str());
}

// Newer versions give a unique_ptr.
template <typename Db>
static auto OpenAs(const rocks::Options& options, const std::string& path, std::unique_ptr<Db>* db, int)
    -> decltype(Db::Open(options, path, db)) {
  return Db::Open(options, path, db);
}

template <typename Db>
static rocks::Status OpenAs(const rocks::Options& options, const std::string& path, std::unique_ptr<Db>* db, long) {
  Db* opened = nullptr;
  const rocks::Status status = Db::Open(options, path, &opened);
  db->reset(opened);
  return status;
}

rocks::Status Open(const rocks::Options& options, const std::string& path, std::unique_ptr<rocks::DB>* db) {
  return OpenAs(options, path, db, 0);
}

rocks::Status Database::TryReopen(const rocks::Options& given) {
  Close();
  rocks::Options options = given;
  statistics_ = rocks::CreateDBStatistics();
  options.statistics = statistics_;
  return Open(options, path_, &db_);
}

std::vector<std::string> Database::Tables() const {
  std::vector<rocks::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::vector<std::string> tables;
  for (const rocks::LiveFileMetaData& file : files) tables.push_back(path_ + file.name);
  return tables;
}

void Database::Put(uint64_t begin, uint64_t end) {
  rocks::WriteOptions options;
  options.disableWAL = true;
  for (uint64_t i = begin; i < end; ++i) REQUIRE(db_->Put(options, KeyOf(i), ValueOf(i)));
  REQUIRE(db_->Flush(rocks::FlushOptions()));
}

void Database::Compact() {
  rocks::CompactRangeOptions options;
  options.bottommost_level_compaction = rocks::BottommostLevelCompaction::kForce;
  REQUIRE(db_->CompactRange(options, nullptr, nullptr));
}

void Database::CheckAll(uint64_t stored, bool filtered) {
  CHECK(Wrong(0, stored) == 0);
  Taken(rocks::BLOOM_FILTER_USEFUL);
  CHECK(Wrong(kAbsent, kAbsent + stored) == 0);
  CHECK(filtered ? Taken(rocks::BLOOM_FILTER_USEFUL) >= stored * 98 / 100 : Taken(rocks::BLOOM_FILTER_USEFUL) == 0);
}

uint64_t Database::Wrong(uint64_t begin, uint64_t end, const rocks::ReadOptions& options) {
  uint64_t wrong = 0;
  rocks::PinnableSlice value;
  for (uint64_t i = begin; i < end; ++i) {
    const rocks::Status status = db_->Get(options, db_->DefaultColumnFamily(), KeyOf(i), &value);
    wrong += begin >= kAbsent ? !status.IsNotFound() : !status.ok() || value != ValueOf(i);
    value.Reset();
  }
  return wrong;
}
