// filterblock's filters beside RocksDB's own: one database for each policy, of the same keys. Each pass measures all
// policies in turn; printed are medians, and the median ratios to RocksDB's Bloom filter in the same pass, for ribbon
// also to its Ribbon filter, in brackets. The time inside Finish is shown for each policy, as it is.
//   bench [partitioned] [KEYS [PASSES [DIRECTORY]]]    two million keys and 15 passes unless given; the directory is on the
// device. `partitioned`: filters and indexes in partitions of 4 KiB, in the block cache, which has a byte a key where the
// device is read: less than the filters of most policies.

#include "interface.h"
#include "test.h"

#include <rocksdb/convenience.h>
#include <rocksdb/perf_context.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

namespace {

constexpr int kTables = 4;
constexpr size_t kBatch = 32;
bool partitioned = false;

// Processor time in Finish, of all builders of the process: making filters out of keys that have been added, without
// writing them.
std::atomic<uint64_t> finish_ns{0};

uint64_t ThreadNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

class TimedBuilder final : public rocks::FilterBitsBuilder {
 public:
  explicit TimedBuilder(rocks::FilterBitsBuilder* timed) : timed_(timed) {}
  void AddKey(const rocks::Slice& key) override { timed_->AddKey(key); }
#if FILTERBLOCK_ROCKSDB_VERSION >= 9006
  void AddKeyAndAlt(const rocks::Slice& key, const rocks::Slice& alt) override { timed_->AddKeyAndAlt(key, alt); }
#endif
  size_t EstimateEntriesAdded() override { return timed_->EstimateEntriesAdded(); }
  rocks::Slice Finish(std::unique_ptr<const char[]>* buf) override { return Finish(buf, nullptr); }
  rocks::Slice Finish(std::unique_ptr<const char[]>* buf, rocks::Status* status) override {
    const uint64_t begin = ThreadNs();
    const rocks::Slice filter = timed_->Finish(buf, status);
    finish_ns += ThreadNs() - begin;
    return filter;
  }
  rocks::Status MaybePostVerify(const rocks::Slice& filter) override { return timed_->MaybePostVerify(filter); }
  size_t ApproximateNumEntries(size_t bytes) override { return timed_->ApproximateNumEntries(bytes); }
#if FILTERBLOCK_ROCKSDB_VERSION >= 10009
  size_t CalculateSpace(size_t num_entries) override { return timed_->CalculateSpace(num_entries); }
  double EstimatedFpRate(size_t num_entries, size_t bytes) override {
    return timed_->EstimatedFpRate(num_entries, bytes);
  }
#endif

 private:
  const std::unique_ptr<rocks::FilterBitsBuilder> timed_;
};

// Only builders are wrapped: queries cost what they cost without.
class TimedPolicy final : public rocks::FilterPolicy {
 public:
  explicit TimedPolicy(PolicyPtr timed) : timed_(std::move(timed)) {}
  const char* Name() const override { return timed_->Name(); }
  const char* CompatibilityName() const override { return timed_->CompatibilityName(); }
  rocks::FilterBitsBuilder* GetBuilderWithContext(const rocks::FilterBuildingContext& context) const override {
    return new TimedBuilder(timed_->GetBuilderWithContext(context));
  }
  rocks::FilterBitsReader* GetFilterBitsReader(const rocks::Slice& filter) const override {
    return timed_->GetFilterBitsReader(filter);
  }

 private:
  const PolicyPtr timed_;
};

struct Policy {
  const char *name, *id;
};

constexpr Policy kPolicies[] = {
    {"RocksDB Bloom(10)", "bloomfilter:10:false"},
    {"RocksDB Ribbon(10)", "ribbonfilter:10:-1"},
    {"blocked:10", "filterblock:blocked:10/blocked:10"},
    {"ribbon:10", "filterblock:ribbon:10/ribbon:10"},
    {"ribbon:fpr=0.95%", "filterblock:ribbon:fpr:0.95%/ribbon:fpr:0.95%"},
    {"ribbon:fpr=0.95%, small",
     "filterblock:ribbon:fpr:0.95%,slots_per_key:0.965/ribbon:fpr:0.95%,slots_per_key:0.965"},
};
constexpr size_t kRibbon = 1;
constexpr size_t kNumPolicies = sizeof kPolicies / sizeof kPolicies[0];

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::unique_ptr<rocks::DB> OpenOf(const Policy& policy, const std::string& path, uint64_t num_keys, bool direct,
                                  size_t cache_len, std::shared_ptr<rocks::Statistics> statistics) {
  PolicyPtr made;
  REQUIRE(rocks::FilterPolicy::CreateFromString(rocks::ConfigOptions(), policy.id, &made));
  Setting setting(nullptr);
  if (partitioned) setting.Partitioned();
  setting.table.filter_policy = std::make_shared<TimedPolicy>(made);
  setting.table.block_cache = rocks::NewLRUCache(cache_len);
  setting.table.cache_index_and_filter_blocks = partitioned;
  rocks::Options& options = setting.options;
  options.table_factory.reset(rocks::NewBlockBasedTableFactory(setting.table));
  options.write_buffer_size = size_t{1} << 30;
  options.target_file_size_base = num_keys * 130 / kTables;
  options.use_direct_reads = direct;
  options.statistics = std::move(statistics);
  std::unique_ptr<rocks::DB> db;
  REQUIRE(Open(options, path, &db));
  return db;
}

// Of this process, in bytes: VmRSS, or VmHWM since it was last reset.
double Memory(const char* field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.compare(0, 5, field) == 0) return 1024 * strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

// As the rows of `main`.
using Built = std::array<double, 5>;

// Writes a database in a process of its own, so that its memory is not another one's.
Built Build(const Policy& policy, const std::string& path, uint64_t num_keys) {
  void* const shared = mmap(nullptr, sizeof(Built), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) exit(1);
  Built& built = *new (shared) Built{};
  const pid_t child = fork();
  if (child == 0) {
    REQUIRE(rocks::DestroyDB(path, rocks::Options()));
    auto db = OpenOf(policy, path, num_keys, false, size_t{64} << 20, nullptr);
    rocks::WriteOptions write;
    write.disableWAL = true;
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < num_keys; ++i) {
      REQUIRE(db->Put(write, KeyOf(i), value));
      if ((i + 1) % (num_keys / kTables) != 0) continue;
      const auto begin = Clock::now();
      REQUIRE(db->Flush(rocks::FlushOptions()));
      built[0] += SecondsSince(begin);
    }
    built[1] = static_cast<double>(finish_ns.exchange(0)) / static_cast<double>(num_keys);
    std::ofstream("/proc/self/clear_refs") << "5";
    const double before = Memory("VmRSS");
    const auto begin = Clock::now();
    rocks::CompactRangeOptions options;
    options.bottommost_level_compaction = rocks::BottommostLevelCompaction::kForce;
    REQUIRE(db->CompactRange(options, nullptr, nullptr));
    built[2] = SecondsSince(begin);
    built[3] = static_cast<double>(finish_ns) / static_cast<double>(num_keys);
    built[4] = (Memory("VmHWM") - before) / 1e6;
    db.reset();
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) exit(1);
  return built;
}

// Nanoseconds for a lookup.
double Get(rocks::DB* db, const std::vector<std::string>& keys, bool present) {
  rocks::PinnableSlice value;
  const rocks::ReadOptions options;
  uint64_t found = 0;
  const auto begin = Clock::now();
  for (const std::string& key : keys) {
    found += db->Get(options, db->DefaultColumnFamily(), key, &value).ok();
    value.Reset();
  }
  CHECK(found == (present ? keys.size() : 0));
  return SecondsSince(begin) * 1e9 / static_cast<double>(keys.size());
}

double MultiGet(rocks::DB* db, const std::vector<std::string>& keys) {
  const std::vector<rocks::Slice> slices(keys.begin(), keys.end());
  std::vector<rocks::PinnableSlice> values(kBatch);
  std::vector<rocks::Status> statuses(kBatch);
  uint64_t absent = 0;
  const auto begin = Clock::now();
  for (size_t i = 0; i + kBatch <= slices.size(); i += kBatch) {
    db->MultiGet(rocks::ReadOptions(), db->DefaultColumnFamily(), kBatch, slices.data() + i, values.data(),
                 statuses.data());
    for (const rocks::Status& status : statuses) absent += status.IsNotFound();
  }
  const size_t num_keys = slices.size() / kBatch * kBatch;
  CHECK(absent == num_keys);
  return SecondsSince(begin) * 1e9 / static_cast<double>(num_keys);
}

std::vector<std::string> KeysFrom(uint64_t begin, uint64_t count) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) keys.push_back(KeyOf(begin + i));
  return keys;
}

// A value for each policy and pass.
struct Row {
  const char *name, *unit;
  std::vector<double> of[kNumPolicies];
  bool absolute = false;
};

void Print(const Row& row) {
  printf("| %s |", row.name);
  for (size_t p = 0; p < kNumPolicies; ++p) {
    const auto ratio = [&row, p](size_t to) {
      std::vector<double> ratios;
      for (size_t i = 0; i < row.of[p].size(); ++i) ratios.push_back(row.of[p][i] / row.of[to][i]);
      return Median(ratios);
    };
    if (p == 0 || row.absolute) {
      printf(" %.4g %s |", Median(row.of[p]), row.unit);
    } else if (p > kRibbon && strncmp(kPolicies[p].name, "ribbon", 6) == 0) {
      printf(" %.3f (%.3f) |", ratio(0), ratio(kRibbon));
    } else {
      printf(" %.3f |", ratio(0));
    }
  }
  printf("\n");
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  filterblock::RegisterRocksdbFilterPolicy();
  partitioned = argc > 1 && strcmp(argv[1], "partitioned") == 0;
  argc -= partitioned;
  argv += partitioned;
  const uint64_t num_keys = argc > 1 ? strtoull(argv[1], nullptr, 10) : 2000000;
  const int passes = argc > 2 ? atoi(argv[2]) : 15;
  const std::string directory = argc > 3 ? argv[3] : "/tmp";
  std::vector<std::string> paths;
  for (size_t p = 0; p < kNumPolicies; ++p) paths.push_back(directory + "/filterblock-rocksdb-bench-" + std::to_string(p));

  Row rows[]{{"flush", "s", {}}, {"filters of a flush, a key", "ns", {}, true}, {"compaction", "s", {}},
             {"filters of a compaction, a key", "ns", {}, true}, {"memory that a compaction adds", "MB", {}}};
  for (int pass = 0; pass < (passes + 2) / 3; ++pass) {
    for (size_t p = 0; p < kNumPolicies; ++p) {
      const Built built = Build(kPolicies[p], paths[p], num_keys);
      for (size_t i = 0; i < built.size(); ++i) rows[i].of[p].push_back(built[i]);
    }
  }
  printf("RocksDB %d.%d.%d, %" PRIu64 " keys in %d tables, %d passes%s\n\n", ROCKSDB_MAJOR, ROCKSDB_MINOR,
         ROCKSDB_PATCH, num_keys, kTables, passes, partitioned ? ", partitioned filters in the block cache" : "");
  printf("| |");
  for (const Policy& policy : kPolicies) printf(" %s |", policy.name);
  printf("\n|---|");
  for (size_t p = 0; p < kNumPolicies; ++p) printf("---:|");
  printf("\n");

  // Sizes and rates are the same in each pass.
  Row bits{"filter, bits a key", "", {}}, positives{"false positives", "%", {}};
  const std::vector<std::string> counted = KeysFrom(kAbsent, 200000);
  for (size_t p = 0; p < kNumPolicies; ++p) {
    const auto statistics = rocks::CreateDBStatistics();
    auto db = OpenOf(kPolicies[p], paths[p], num_keys, false, size_t{64} << 20, statistics);
    Get(db.get(), counted, false);
    const auto useful = static_cast<double>(statistics->getTickerCount(rocks::BLOOM_FILTER_USEFUL));
    const auto passed = static_cast<double>(statistics->getTickerCount(rocks::BLOOM_FILTER_FULL_POSITIVE));
    positives.of[p].push_back(100 * passed / (useful + passed));
    rocks::TablePropertiesCollection properties;
    REQUIRE(db->GetPropertiesOfAllTables(&properties));
    double len = 0;
    for (const auto& table : properties) len += static_cast<double>(table.second->filter_size);
    bits.of[p].push_back(8 * len / static_cast<double>(num_keys));
  }
  Print(bits);
  Print(positives);

  for (const bool direct : {false, true}) {
    Row absent{direct ? "Get of absent keys, device reads" : "Get of absent keys, in memory", "ns", {}};
    Row present{direct ? "Get of present keys, device reads" : "Get of present keys, in memory", "ns", {}};
    Row multi{direct ? "MultiGet of 32 absent keys, device reads" : "MultiGet of 32 absent keys, in memory", "ns", {}};
    Row reads{"blocks read for a thousand absent keys", "", {}, true};
    const size_t cache_len = direct ? (partitioned ? num_keys : 1 << 20) : size_t{4} << 30;
    std::vector<std::unique_ptr<rocks::DB>> dbs;
    for (size_t p = 0; p < kNumPolicies; ++p) {
      dbs.push_back(OpenOf(kPolicies[p], paths[p], num_keys, direct, cache_len, nullptr));
      if (direct) continue;
      std::unique_ptr<rocks::Iterator> iterator(dbs[p]->NewIterator(rocks::ReadOptions()));
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      }
      REQUIRE(iterator->status());
    }
    std::mt19937_64 random(7);
    for (int pass = 0; pass < passes; ++pass) {
      const std::vector<std::string> absent_keys = KeysFrom(kAbsent + (random() >> 25), direct ? 20000 : 100000);
      const std::vector<std::string> batch_keys = KeysFrom(kAbsent + (random() >> 25), direct ? 20000 : 100000);
      const uint64_t num_present = std::min<uint64_t>(direct ? 2000 : 50000, num_keys / 2);
      const std::vector<std::string> present_keys = KeysFrom(random() % (num_keys - num_present), num_present);
      for (size_t i = 0; i < kNumPolicies; ++i) {
        const size_t p = (i + static_cast<size_t>(pass)) % kNumPolicies;
        const uint64_t before = rocks::get_perf_context()->block_read_count;
        absent.of[p].push_back(Get(dbs[p].get(), absent_keys, false));
        reads.of[p].push_back(static_cast<double>(rocks::get_perf_context()->block_read_count - before) * 1000 /
                              static_cast<double>(absent_keys.size()));
        multi.of[p].push_back(MultiGet(dbs[p].get(), batch_keys));
        present.of[p].push_back(Get(dbs[p].get(), present_keys, true));
      }
    }
    Print(absent);
    if (direct) Print(reads);
    Print(multi);
    Print(present);
  }
  for (const Row& row : rows) Print(row);
  for (const std::string& path : paths) REQUIRE(rocks::DestroyDB(path, rocks::Options()));
  return 0;
}
