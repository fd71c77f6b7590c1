// Puts filterblock's filters into RocksDB's own stress test, db_stress, without patches: `stress` compiles that with
// NewBloomFilterPolicy, NewRibbonFilterPolicy and DbStressSqfcManager renamed, and these are defined here.

#include "filterblock_rocksdb.h"
#include "filterblock_rocksdb_ranges.h"

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/experimental.h>
#include <rocksdb/listener.h>
#include <rocksdb/utilities/object_registry.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <utility>

namespace ROCKSDB_NAMESPACE {

// RocksDB's own, renamed: a manager of filters that iterators query by ReadOptions::table_filter, as ours are.
experimental::SstQueryFilterConfigsManager& RocksdbsSqfcManager();

namespace {

using Manager = experimental::SstQueryFilterConfigsManager;
using filterblock::RocksdbRangeFilters;

[[noreturn]] void Fail(const Status& status) {
  fprintf(stderr, "filterblock: %s\n", status.ToString().c_str());
  exit(1);
}

// What a process has chosen, and what has come of it, in a file that outlives it, however it ends. Never destroyed, as
// RocksDB's threads outlive main.
class Choices {
 public:
  static Choices& Instance() {
    static Choices* const choices = new Choices;
    return *choices;
  }

  template <size_t kLen>
  const char* OneOf(const char* const (&texts)[kLen]) {
    return texts[random_() % kLen];
  }
  bool OneIn(uint64_t chances) { return random_() % chances == 0; }

  // The policy lives as long as a database that has events.
  void Choose(const FilterPolicy* policy, const std::string& text) {
    policy_ = policy;
    Line("policy " + text);
  }
  void Choose(std::shared_ptr<const RocksdbRangeFilters> ranges, const std::string& text) {
    ranges_ = std::move(ranges);
    Line("ranges " + text);
  }

  // The last line of a name counts.
  void Count(const Statistics* statistics) {
    std::lock_guard<std::mutex> lock(mutex_);
    filterblock::RocksdbFilterCounts counts;
    if (policy_ != nullptr && filterblock::ReadRocksdbFilterCounts(*policy_, &counts)) {
      file_ << "built " << counts.built << "\nunfinished " << counts.unfinished << "\nunusable "
            << counts.damaged + counts.newer + counts.mismatch + counts.not_built << '\n';
    }
    if (ranges_ != nullptr) {
      const RocksdbRangeFilters::Counts read = ranges_->counts();
      file_ << "ranges_built " << read.built << "\nranges_unfinished " << read.unfinished << "\nranges_unusable "
            << read.unusable << "\nranges_asked " << read.asked << "\nranges_skipped " << read.skipped << '\n';
    }
    if (statistics != nullptr) {
      const std::pair<const char*, Tickers> tickers[] = {
          {"reads", NUMBER_KEYS_READ},
          {"multi_reads", NUMBER_MULTIGET_KEYS_READ},
          {"writes", NUMBER_KEYS_WRITTEN},
          {"seeks", NUMBER_DB_SEEK},
          {"useful", BLOOM_FILTER_USEFUL},
          {"seeks_filtered", NON_LAST_LEVEL_SEEK_FILTERED},
          {"last_level_seeks_filtered", LAST_LEVEL_SEEK_FILTERED}};
      for (const auto& [name, ticker] : tickers) file_ << name << ' ' << statistics->getTickerCount(ticker) << '\n';
    }
    file_ << std::flush;
  }

 private:
  Choices() {
    const char* const directory = getenv("FILTERBLOCK_STRESS_COUNTS");
    const char* const given = getenv("FILTERBLOCK_STRESS_SEED");
    const uint64_t seed = given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
    random_.seed(seed);
    file_.open(std::string(directory != nullptr ? directory : ".") + "/" + std::to_string(getpid()));
    Line("seed " + std::to_string(seed));
  }

  void Line(const std::string& text) {
    printf("filterblock: %s\n", text.c_str());
    fflush(stdout);
    std::lock_guard<std::mutex> lock(mutex_);
    file_ << text << std::endl;
  }

  std::mutex mutex_;
  std::mt19937_64 random_;
  std::ofstream file_;
  const FilterPolicy* policy_ = nullptr;
  std::shared_ptr<const RocksdbRangeFilters> ranges_;
};

std::string PolicyText(double bits) {
  Choices& choices = Choices::Instance();
  std::string text = choices.OneOf({"auto", "blocked", "blocked", "bloom", "fuse", "golomb", "ribbon", "ribbon"});
  text += ":" + std::to_string(std::min(std::max(bits, 2.0), 30.0));
  return choices.OneIn(2) ? text : text + ",seed:" + std::to_string(getpid());
}

// A policy that db_stress owns, of ours; one of eight is RocksDB's, so that databases change from one to the other.
const FilterPolicy* Choose(double bits, const FilterPolicy* rocksdbs) {
  Choices& choices = Choices::Instance();
  std::unique_ptr<const FilterPolicy> own(rocksdbs);
  if (choices.OneIn(8)) {
    choices.Choose(nullptr, own->GetId());
    return own.release();
  }
  const std::string trusted = choices.OneIn(4) ? "/trusted" : "";
  const std::string id = "filterblock:" + PolicyText(bits) + "/" + PolicyText(bits) + trusted;
  std::unique_ptr<const FilterPolicy> policy;
  const Status status = ObjectRegistry::Default()->NewUniqueObject<const FilterPolicy>(id, &policy);
  if (!status.ok()) Fail(status);
  choices.Choose(policy.get(), policy->GetId());
  return policy.release();
}

// Range filters in the place of RocksDB's.
class RangeFactory final : public Manager::Factory {
 public:
  RangeFactory(std::shared_ptr<Factory> rocksdbs, std::shared_ptr<RocksdbRangeFilters> ranges)
      : rocksdbs_(std::move(rocksdbs)), ranges_(std::move(ranges)) {}

  const char* Name() const override { return ranges_->Name(); }
  TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override {
    return ranges_->CreateTablePropertiesCollector(context);
  }
  std::function<bool(const TableProperties&)> GetTableFilterForRangeQuery(Slice lower, Slice upper) const override {
    return filterblock::RocksdbScan(ranges_, lower, upper).Read().table_filter;
  }
  Status SetFilteringVersion(Manager::FilteringVersion version) override {
    return rocksdbs_->SetFilteringVersion(version);
  }
  Manager::FilteringVersion GetFilteringVersion() const override { return rocksdbs_->GetFilteringVersion(); }
  const std::string& GetConfigsName() const override { return rocksdbs_->GetConfigsName(); }
  // Under version 0 these are empty, and db_stress writes tables without the collector.
  const experimental::SstQueryFilterConfigs& GetConfigs() const override { return rocksdbs_->GetConfigs(); }

 private:
  const std::shared_ptr<Factory> rocksdbs_;
  const std::shared_ptr<RocksdbRangeFilters> ranges_;
};

class RangeManager final : public Manager {
 public:
  Status MakeSharedFactory(const std::string& name, FilteringVersion version,
                           std::shared_ptr<Factory>* out) const override {
    std::shared_ptr<Factory> rocksdbs;
    Status status = RocksdbsSqfcManager().MakeSharedFactory(name, version, &rocksdbs);
    const std::string policy = Choices::Instance().OneOf({"range:6", "range:14", "range:22", "range:fpr=1%,len=1024"});
    std::shared_ptr<RocksdbRangeFilters> ranges;
    if (status.ok()) status = RocksdbRangeFilters::New(policy, &ranges, Choices::Instance().OneIn(4));
    if (!status.ok()) return status;
    Choices::Instance().Choose(ranges, policy);
    *out = std::make_shared<RangeFactory>(rocksdbs, ranges);
    return status;
  }
};

class Listener final : public EventListener {
 public:
  void OnFlushCompleted(DB* db, const FlushJobInfo&) override { Count(db); }
  void OnCompactionCompleted(DB* db, const CompactionJobInfo&) override { Count(db); }

 private:
  static void Count(DB* db) { Choices::Instance().Count(db->GetDBOptions().statistics.get()); }
};

[[maybe_unused]] const bool registered = [] {
  filterblock::RegisterRocksdbFilterPolicy();
  ObjectLibrary::Default()->AddFactory<EventListener>(
      "filterblock", [](const std::string&, std::unique_ptr<EventListener>* guard, std::string*) {
        guard->reset(new Listener);
        return guard->get();
      });
  return true;
}();

}  // namespace

// Of RocksDB's library for its tests, which db_stress needs for nothing else.
namespace test {
const Comparator* BytewiseComparatorWithU64TsWrapper() { return BytewiseComparatorWithU64Ts(); }
}  // namespace test

const FilterPolicy* StressedBloomFilterPolicy(double bits, bool) { return Choose(bits, NewBloomFilterPolicy(bits)); }

FilterPolicy* StressedRibbonFilterPolicy(double bits, int before_level) {
  return const_cast<FilterPolicy*>(Choose(bits, NewRibbonFilterPolicy(bits, before_level)));
}

Manager& DbStressSqfcManager() {
  static RangeManager* const manager = new RangeManager;
  return *manager;
}

}  // namespace ROCKSDB_NAMESPACE
