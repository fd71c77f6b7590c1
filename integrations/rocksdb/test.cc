// filterblock inside RocksDB, by answers and tickers. The argument is the number of keys, a million unless given.

#include "test.h"

#include "interface.h"

#include <filterblock.h>
#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

namespace {

uint64_t num_absent = 100000;

// Whether `count` of `trials` is within four standard deviations of a rate.
bool Near(uint64_t count, uint64_t trials, double rate) {
  const double expected = rate * static_cast<double>(trials);
  return std::fabs(static_cast<double>(count) - expected) <= 4 * std::sqrt(expected * (1 - rate)) + 1;
}

// What is to be expected of a filter.
filterblock_prediction ExpectedOf(const std::string& text, uint64_t num_entries) {
  filterblock_policy* policy = nullptr;
  filterblock_prediction expected;
  expected.size = sizeof expected;
  CHECK(filterblock_policy_from_text(text.c_str(), &policy, nullptr) == FILTERBLOCK_STATUS_OK);
  CHECK(filterblock_policy_predict(policy, num_entries, &expected, nullptr) == FILTERBLOCK_STATUS_OK);
  filterblock_policy_free(policy);
  return expected;
}

// Absent keys, each in the range of all of `num_tables` tables of about `table_keys` keys.
void CheckAbsent(Database& db, const std::string& policy, uint64_t num_tables, uint64_t table_keys,
                 uint64_t filter_keys, const char* tables) {
  db.Taken(rocks::BLOOM_FILTER_USEFUL);
  db.Taken(rocks::BLOOM_FILTER_FULL_POSITIVE);
  CHECK(db.Wrong(kAbsent, kAbsent + num_absent) == 0);
  const uint64_t avoided = db.Taken(rocks::BLOOM_FILTER_USEFUL), passed = db.Taken(rocks::BLOOM_FILTER_FULL_POSITIVE);
  // All but those before a table's first key or after its last one: of n keys, two in n are expected there.
  CHECK(avoided + passed >= num_tables * num_absent * (1 - 20 / static_cast<double>(table_keys)));
  CHECK(avoided >= (avoided + passed) * 99 / 100);
  CHECK(Near(passed, avoided + passed, ExpectedOf(policy, filter_keys).false_positive_rate));
  printf("counted: %s, %s: %llu of %llu lookups of absent keys avoided\n", policy.c_str(), tables,
         static_cast<unsigned long long>(avoided), static_cast<unsigned long long>(avoided + passed));
}

// MultiGet of present and absent keys in turns.
void CheckMultiGet(Database& db, uint64_t num_keys, size_t batch) {
  db.Taken(rocks::BLOOM_FILTER_USEFUL);
  for (uint64_t begin = 0; begin + batch <= num_keys; begin += batch) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < batch; ++i) keys.push_back(KeyOf(begin + i + (i % 2 != 0 ? kAbsent : 0)));
    const std::vector<rocks::Slice> slices(keys.begin(), keys.end());
    std::vector<rocks::PinnableSlice> values(batch);
    std::vector<rocks::Status> statuses(batch);
    db->MultiGet(rocks::ReadOptions(), db->DefaultColumnFamily(), batch, slices.data(), values.data(),
                 statuses.data());
    for (size_t i = 0; i < batch; ++i) {
      CHECK(i % 2 != 0 ? statuses[i].IsNotFound() : statuses[i].ok() && values[i] == ValueOf(begin + i));
    }
  }
  CHECK(db.Taken(rocks::BLOOM_FILTER_USEFUL) >= num_keys / batch * (batch / 2) * 98 / 100);
}

// Four tables in level 0, then those of the bottommost level; full filters and partitioned ones.
void TestLookups(uint64_t num_keys, bool partitioned, bool map, bool trusted) {
  const std::string upper = "blocked:10", bottommost = "ribbon:10";
  Setting setting(Ours(upper, bottommost, trusted));
  if (partitioned) setting.Partitioned();
  setting.options.allow_mmap_reads = map;
  setting.options.target_file_size_base = 1 << 30;
  Database db(setting);
  constexpr uint64_t kTables = 4;
  for (uint64_t i = 0; i < kTables; ++i) db.Put(num_keys / kTables * i, num_keys / kTables * (i + 1));
  const uint64_t stored = num_keys / kTables * kTables;
  const auto in_filter = [&](uint64_t keys) { return partitioned ? std::min<uint64_t>(keys, 3000) : keys; };

  CHECK(db.Tables().size() == kTables);
  CHECK(db.Wrong(0, stored) == 0);
  CheckAbsent(db, upper, kTables, stored / kTables, in_filter(stored / kTables),
              partitioned ? "flushed, partitioned" : "flushed");
  db.Reopen(setting);
  CHECK(db.Wrong(0, stored) == 0);

  db.Compact();
  CHECK(db.Tables().size() == 1 && db.Wrong(0, stored) == 0);
  CheckAbsent(db, bottommost, 1, stored, in_filter(stored), partitioned ? "compacted, partitioned" : "compacted");
  CheckMultiGet(db, stored / 4, 32);
  CheckMultiGet(db, stored / 10, 100);
  db.Reopen(setting);
  CHECK(db.Wrong(0, stored) == 0);
  REQUIRE(db->VerifyChecksum());

  rocks::TablePropertiesCollection properties;
  REQUIRE(db->GetPropertiesOfAllTables(&properties));
  CHECK(properties.size() == 1);
  const rocks::TableProperties& table = *properties.begin()->second;
  CHECK(table.filter_policy_name == "filterblock" && table.num_filter_entries == stored);
  // Partitions have headers, and an index.
  const uint64_t len = table.filter_size, expected = ExpectedOf(bottommost, stored).block_len;
  CHECK(len > expected * 99 / 100 && len < expected * (partitioned ? 110 : 101) / 100 + 100);
  const filterblock::RocksdbFilterCounts counts = CountsOf(setting.policy);
  CHECK(counts.built >= kTables + 1 && counts.unfinished == 0 && counts.damaged == 0 && counts.not_built == 0);
  printf("counted: %llu present keys, found four times\n", static_cast<unsigned long long>(stored));
}

void TestDelimitedPrefixes() {
  const auto prefixes = filterblock::NewDelimitedPrefixTransform('/', 2);
  for (const char* key : {"", "a", "a/", "a/b", "/a"}) CHECK(!prefixes->InDomain(key));
  for (const char* key : {"a/b/", "a/b/c", "a/b/c/d"}) CHECK(prefixes->Transform(key) == "a/b/");
  CHECK(prefixes->Transform("//a") == "//" && std::string(prefixes->Name()) == "filterblock.delimited.47.2");
  CHECK(!filterblock::NewDelimitedPrefixTransform('/', 0)->InDomain("a/b/"));
}

uint64_t SeeksFiltered(Database& db) {
  uint64_t filtered = db.Taken(rocks::BLOOM_FILTER_PREFIX_USEFUL);
#if ROCKSDB_MAJOR >= 9
  filtered += db.Taken(rocks::LAST_LEVEL_SEEK_FILTERED) + db.Taken(rocks::NON_LAST_LEVEL_SEEK_FILTERED);
#endif
  return filtered;
}

// Eight keys for each even prefix of six digits: iterators find these, and few of the odd ones are looked for. Between
// any two neighbours, in turn, a partition ends.
void TestPrefixes(bool partitioned, bool whole_keys) {
  constexpr int kPrefixes = 5000, kKeys = 8;
  Setting setting(Ours("blocked:10", "ribbon:10"));
  if (partitioned) setting.Partitioned().table.metadata_block_size = 256;
  setting.options.prefix_extractor.reset(rocks::NewFixedPrefixTransform(6));
  if (partitioned != whole_keys) setting.options.prefix_extractor = filterblock::NewDelimitedPrefixTransform('-', 1);
  setting.table.whole_key_filtering = whole_keys;
  Database db(setting);
  char key[32];
  for (int i = 0; i < kPrefixes * kKeys; ++i) {
    snprintf(key, sizeof key, "%06d-%d", i / kKeys * 2, i % kKeys);
    REQUIRE(db->Put(rocks::WriteOptions(), key, key));
  }
  REQUIRE(db->Flush(rocks::FlushOptions()));
  rocks::ReadOptions options;
  options.prefix_same_as_start = true;
  for (int compacted = 0; compacted < 2; ++compacted) {
    if (compacted != 0) db.Compact();
    SeeksFiltered(db);
    std::string value;
    std::unique_ptr<rocks::Iterator> iterator(db->NewIterator(options));
    for (int i = 0; i < 2 * kPrefixes - 1; ++i) {
      snprintf(key, sizeof key, "%06d-", i);
      int found = 0;
      for (iterator->Seek(key); iterator->Valid(); iterator->Next(), ++found) {
        REQUIRE(db->Get(rocks::ReadOptions(), iterator->key(), &value));
      }
      REQUIRE(iterator->status());
      CHECK(found == (i % 2 == 0 ? kKeys : 0));
    }
    for (int i = 0; i < kPrefixes; ++i) {
      snprintf(key, sizeof key, "%06d-9", 2 * i);
      iterator->SeekForPrev(key);
      snprintf(key, sizeof key, "%06d-%d", 2 * i, kKeys - 1);
      CHECK(iterator->Valid() && iterator->key() == rocks::Slice(key));
    }
    CHECK(SeeksFiltered(db) >= kPrefixes * 98 / 100);
    CHECK(db.Wrong(kAbsent, kAbsent + 1000) == 0);
  }
}

// Lookups by two threads while another flushes and compacts.
void TestThreads(uint64_t num_keys) {
  Setting setting(Ours("blocked:10", "ribbon:10"));
  setting.table.cache_index_and_filter_blocks = true;
  setting.table.block_cache = rocks::NewLRUCache(256 << 10);
  Database db(setting);
  db.Put(0, num_keys);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      wrong += db.Wrong(num_keys / 2 * t, num_keys / 2 * (t + 1));
      wrong += db.Wrong(kAbsent + num_keys * t, kAbsent + num_keys * (t + 1));
    });
  }
  db.Put(num_keys, 2 * num_keys);
  db.Compact();
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0 && db.Wrong(0, 2 * num_keys) == 0);
}

// A table written outside the database.
void TestIngest() {
  constexpr uint64_t kKeys = 50000;
  Setting setting(Ours("blocked:10", "ribbon:10"));
  Database db(setting);
  const std::string path = db.path() + "/external";
  rocks::SstFileWriter writer(rocks::EnvOptions(), setting.Final());
  REQUIRE(writer.Open(path));
  std::map<std::string, std::string> rows;
  for (uint64_t i = 0; i < kKeys; ++i) rows[KeyOf(i)] = ValueOf(i);
  for (const auto& row : rows) REQUIRE(writer.Put(row.first, row.second));
  REQUIRE(writer.Finish());
  rocks::IngestExternalFileOptions ingest;
  ingest.verify_checksums_before_ingest = true;
  ingest.move_files = true;
  REQUIRE(db->IngestExternalFile({path}, ingest));
  db.CheckAll(kKeys);
}

// The policy is found again from the options file, and from a string.
void TestOptionsFile() {
  for (const bool trusted : {false, true}) {
    Setting setting(Ours("blocked:fpr=1%,seed=7", "ribbon:7.5", trusted));
    Database db(setting);
    db.Put(0, 20000);
    rocks::DBOptions db_options;
    std::vector<rocks::ColumnFamilyDescriptor> families;
    REQUIRE(rocks::LoadLatestOptions(rocks::ConfigOptions(), db.path(), &db_options, &families));
    CHECK(families.size() == 1);
    const auto* table = families[0].options.table_factory->GetOptions<rocks::BlockBasedTableOptions>();
    CHECK(table != nullptr && table->filter_policy != nullptr);
    CHECK(table->filter_policy->GetId() == setting.policy->GetId() && CountsOf(table->filter_policy).built == 0);
    REQUIRE(db.TryReopen({db_options, families[0].options}));
    REQUIRE(rocks::CheckOptionsCompatibility(rocks::ConfigOptions(), db.path(), db_options, families));
    db.CheckAll(20000);
    db.Put(20000, 40000);
    CHECK(CountsOf(table->filter_policy).built == 1);
  }
  const std::pair<const char*, const char*> texts[] = {
      {"filterblock", "filterblock:blocked:10/ribbon:10"},
      {"filterblock:auto:10,seed:3/golomb:fpr:0.1%", "filterblock:auto:10,seed:3/golomb:fpr:0.001"},
      {"filterblock:blocked:10/ribbon:fpr:0.95%/trusted", "filterblock:blocked:10/ribbon:fpr:0.0095/trusted"},
      {"filterblock:blocked:max:4096,seed:3/ribbon:max:512,self_check:off",
       "filterblock:blocked:max:4096,seed:3/ribbon:max:512,self_check:off"},
  };
  PolicyPtr made;
  for (const auto& of : texts) {
    REQUIRE(rocks::FilterPolicy::CreateFromString(rocks::ConfigOptions(), of.first, &made));
    CHECK(made->GetId() == of.second);
  }
  for (const char* refused : {"blocked:10", "blocked:10/ribbon:10/", "blocked:10/ribbon:10/trusting", "blocked:10/",
                              "blocked:10/ribbon:10/normal:nocase", "blocked/ribbon:10", "blocked:10/no:10",
                              "blocked:1000/ribbon:10", "blocked:10,transform:prefix:4/ribbon:10"}) {
    CHECK(rocks::FilterPolicy::CreateFromString({}, std::string("filterblock:") + refused, &made).IsInvalidArgument());
  }
  rocks::BlockBasedTableOptions table;
  REQUIRE(rocks::GetBlockBasedTableOptionsFromString(rocks::ConfigOptions(), rocks::BlockBasedTableOptions(),
                                                     "filter_policy=filterblock:blocked:12/ribbon:fpr:0.01", &table));
  CHECK(table.filter_policy->GetId() == "filterblock:blocked:12/ribbon:fpr:0.01");
}

// What RocksDB expects of a builder and a reader.
void TestInterface() {
  const PolicyPtr policy = Ours("blocked:10", "ribbon:10");
  const rocks::BlockBasedTableOptions table;
  rocks::FilterBuildingContext context(table);
  for (const bool bottommost : {false, true}) {
    context.is_bottommost = bottommost;
    std::unique_ptr<rocks::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
    size_t previous = 0;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{4096}, size_t{1} << 20}) {
      const size_t num_entries = builder->ApproximateNumEntries(size);
      CHECK(num_entries >= previous);
      CHECK(size < 4096 || (num_entries > size * 8 / 11 - 64 && num_entries <= size * 8 / 10));
      previous = num_entries;
    }
    for (int round = 0; round < 2; ++round) {
      CHECK(builder->EstimateEntriesAdded() == 0);
      for (uint64_t i = 0; i < 2000; ++i) {
        builder->AddKey(KeyOf(i / 2));
        CHECK(builder->EstimateEntriesAdded() == i / 2 + 1);
      }
#if FILTERBLOCK_ROCKSDB_VERSION >= 9006
      for (uint64_t i = 0; i < 1000; ++i) builder->AddKeyAndAlt(KeyOf(1000 + i), i < 500 ? "low" : "high");
      CHECK(builder->EstimateEntriesAdded() == 2002);
      // 10 bits a key and the trailer, of which up to a hundredth may be left unused.
      const size_t space = builder->CalculateSpace(1000000);
      CHECK(space > 1237500 && space <= 1250000 + 5);
      CHECK(builder->EstimatedFpRate(1000000, 1250000) < 0.01);
#endif
      std::unique_ptr<const char[]> owner;
      rocks::Status status;
      const rocks::Slice filter = builder->Finish(&owner, &status);
      REQUIRE(status);
      REQUIRE(builder->MaybePostVerify(filter));
      CHECK(filter.data() == owner.get());
      std::unique_ptr<rocks::FilterBitsReader> reader(policy->GetFilterBitsReader(filter));
      uint64_t passed = 0;
      constexpr int kKeys = 1000;
      std::vector<std::string> keys;
      for (int i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i % 2 == 0 ? i : kAbsent + i));
      std::vector<rocks::Slice> slices(keys.begin(), keys.end());
      std::vector<rocks::Slice*> pointers;
      for (rocks::Slice& slice : slices) pointers.push_back(&slice);
      std::unique_ptr<bool[]> answers(new bool[kKeys]);
      reader->MayMatch(kKeys, pointers.data(), answers.get());
      for (int i = 0; i < kKeys; ++i) {
        CHECK(answers[i] == reader->MayMatch(slices[i]) && (i % 2 != 0 || answers[i]));
        passed += i % 2 != 0 && answers[i];
      }
      CHECK(passed < 50);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t num_keys = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000000;
  num_absent = std::min(num_absent, num_keys);
  TestInterface();
  TestLookups(num_keys, false, false, false);
  TestLookups(num_keys / 4, true, false, false);
  TestLookups(num_keys / 4, true, true, false);
  TestLookups(num_keys / 4, true, true, true);
  for (int i = 0; i < 4; ++i) TestPrefixes(i / 2 != 0, i % 2 != 0);
  TestDelimitedPrefixes();
  TestThreads(num_keys / 10);
  TestIngest();
  TestOptionsFile();
  TestEqualKeys();
  TestOtherPolicies();
  TestFailedBuilds();
  TestNothing();
  TestVerdict();
  TestRanges(num_keys);
  TestDamage(num_keys >= 1000000);
  printf("counted: %llu checks inside RocksDB %d.%d\n", static_cast<unsigned long long>(num_checks), ROCKSDB_MAJOR,
         ROCKSDB_MINOR);
}
