// Range filters: no row is lost to a scan, and what scans without rows read.

#include "filterblock_rocksdb_ranges.h"
#include "test.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <random>

using filterblock::RocksdbRangeFilters;
using filterblock::RocksdbScan;
using Rows = std::map<std::string, std::string>;

static std::shared_ptr<RocksdbRangeFilters> Filters(const std::string& policy) {
  std::shared_ptr<RocksdbRangeFilters> filters;
  REQUIRE(RocksdbRangeFilters::New(policy, &filters));
  return filters;
}

static Setting WithRanges(const std::shared_ptr<RocksdbRangeFilters>& filters) {
  Setting setting(PolicyPtr(rocks::NewBloomFilterPolicy(10)));
  if (filters != nullptr) setting.options.table_properties_collector_factories.push_back(filters);
  return setting;
}

// The rows of a scan in either direction.
static Rows Scanned(Database& database, const RocksdbScan& scan, bool backwards) {
  Rows rows;
  const std::unique_ptr<rocks::Iterator> at(database->NewIterator(scan.Read()));
  for (backwards ? at->SeekToLast() : at->SeekToFirst(); at->Valid(); backwards ? at->Prev() : at->Next()) {
    rows[at->key().ToString()] = at->value().ToString();
  }
  REQUIRE(at->status());
  return rows;
}

static std::string Row(uint64_t number) {
  char text[24];
  snprintf(text, sizeof text, "row%08" PRIu64, number);
  return text;
}

// Rows are put, deleted one by one and by ranges, flushed and compacted; each scan has the model's rows.
static void TestModel(const std::shared_ptr<const rocks::SliceTransform>& prefixes) {
  const std::shared_ptr<RocksdbRangeFilters> filters = Filters("range:14");
  Setting setting = WithRanges(filters);
  setting.options.prefix_extractor = prefixes;
  setting.options.memtable_prefix_bloom_size_ratio = prefixes == nullptr ? 0 : 0.1;
  Database database(setting);
  std::mt19937_64 random(1);
  Rows model;
  for (int step = 0; step < 400; ++step) {
    const uint64_t begin = random() % 100000, len = 1 + random() % 40;
    for (uint64_t i = begin; i < begin + len; ++i) {
      const std::string row = Row(i), value = std::to_string(step);
      if (random() % 4 != 0) {
        REQUIRE(database->Put(rocks::WriteOptions(), row, value));
        model[row] = value;
      } else {
        REQUIRE(database->Delete(rocks::WriteOptions(), row));
        model.erase(row);
      }
    }
    // From the second half on, so that tables of the first have none, and may be left out.
    if (step > 200 && step % 20 == 0) {
      const std::string first = Row(begin + 5), end = Row(begin + 3000);
      REQUIRE(database->DeleteRange(rocks::WriteOptions(), database->DefaultColumnFamily(), first, end));
      model.erase(model.lower_bound(first), model.lower_bound(end));
    }
    if (step % 7 == 0) REQUIRE(database->Flush(rocks::FlushOptions()));
    if (step % 150 == 149) database.Compact();
    for (int i = 0; i < 20; ++i) {
      const uint64_t from = random() % 100000;
      const std::string lower = i == 0 ? "" : Row(from), upper = i == 1 ? "" : Row(from + random() % 200);
      const RocksdbScan scan(filters, lower, upper);
      const auto end = upper.empty() ? model.end() : model.lower_bound(std::max(lower, upper));
      CHECK(Scanned(database, scan, i % 2 == 0) == Rows(model.lower_bound(lower), end));
    }
  }
  CHECK(filters->counts().skipped > 1000 && filters->counts().unusable == 0 && filters->counts().unfinished == 0);
}

// Tables without a filter, with one that another comparator orders, and with a broken one are read.
static void TestUnusable() {
  const std::shared_ptr<RocksdbRangeFilters> filters = Filters("range:14");
  const RocksdbScan all(filters, "", "");
  const RocksdbScan scan(filters, "a", "b");
  rocks::TableProperties table;
  table.comparator_name = rocks::BytewiseComparator()->Name();
  CHECK(scan.Read().table_filter(table) && filters->counts().asked == 0);
  rocks::TablePropertiesCollectorFactory::Context context;
  const auto collected = [&](const char* key, rocks::EntryType type) {
    const std::unique_ptr<rocks::TablePropertiesCollector> collector(filters->CreateTablePropertiesCollector(context));
    if (key != nullptr) REQUIRE(collector->AddUserKey(key, "", type, 0, 0));
    rocks::UserCollectedProperties properties;
    REQUIRE(collector->Finish(&properties));
    return properties;
  };
  CHECK(collected(nullptr, rocks::kEntryPut).empty() && collected("c", rocks::kEntryRangeDeletion).empty());
  table.user_collected_properties = collected("c", rocks::kEntryDelete);
  CHECK(!scan.Read().table_filter(table) && all.Read().table_filter(table));
  table.num_range_deletions = 1;
  CHECK(scan.Read().table_filter(table));
  table.num_range_deletions = 0;
  table.comparator_name = rocks::ReverseBytewiseComparator()->Name();
  CHECK(scan.Read().table_filter(table));
  table.comparator_name = rocks::BytewiseComparator()->Name();
  CHECK(filters->counts().asked == 2 && filters->counts().skipped == 1);
  // Bounds of a descending scan, the end of a prefix without its carry: the table is read, and RocksDB finds nothing.
  const std::string wrapped("a\0", 2);
  for (const auto& bounds : std::initializer_list<std::pair<std::string, std::string>>{
           {"b", "a"}, {"a\xff", wrapped}, {"a", "a"}}) {
    CHECK(RocksdbScan(filters, bounds.first, bounds.second).Read().table_filter(table));
  }
  CHECK(filters->counts().asked == 5 && filters->counts().skipped == 1);
  // A damaged payload is noticed where that is configured.
  std::shared_ptr<RocksdbRangeFilters> verifying;
  REQUIRE(RocksdbRangeFilters::New("range:14", &verifying, true));
  const RocksdbScan verified(verifying, "a", "b");
  CHECK(!verified.Read().table_filter(table));
  table.user_collected_properties["filterblock.range"].back() ^= 1;
  CHECK(verified.Read().table_filter(table) && verifying->counts().unusable == 1);
  table.user_collected_properties["filterblock.range"].back() ^= 1;
  table.user_collected_properties["filterblock.range"][20] ^= 1;
  CHECK(scan.Read().table_filter(table) && filters->counts().unusable == 1);
  std::shared_ptr<RocksdbRangeFilters> refused;
  for (const char* text : {"", "range", "range:1000", "blocked:10"}) {
    CHECK(RocksdbRangeFilters::New(text, &refused).IsInvalidArgument());
  }
}

// Of each string of up to three of these bytes: no string that has the prefix is at its end or above, all others above the
// prefix are.
static void TestEndOfPrefix() {
  std::vector<std::string> strings = {""};
  for (size_t i = 0; i < 1 + 5 + 25; ++i) {
    for (const char byte : {'\0', 'a', '\x7f', '\xfe', '\xff'}) strings.push_back(strings[i] + byte);
  }
  for (const std::string& prefix : strings) {
    const std::string end = filterblock::EndOfPrefix(prefix);
    for (const std::string& other : strings) {
      const bool is_below = end.empty() || rocks::Slice(other).compare(end) < 0;
      if (rocks::Slice(other).compare(prefix) >= 0) CHECK(is_below == rocks::Slice(other).starts_with(prefix));
    }
  }
  // A scan of a prefix has the rows that begin with it.
  const std::shared_ptr<RocksdbRangeFilters> filters = Filters("range:14");
  Database database(WithRanges(filters));
  for (const std::string& row : strings) REQUIRE(database->Put(rocks::WriteOptions(), row, "value"));
  REQUIRE(database->Flush(rocks::FlushOptions()));
  for (const std::string& prefix : strings) {
    const auto has_prefix = [&](const std::string& row) { return rocks::Slice(row).starts_with(prefix); };
    const RocksdbScan scan(filters, prefix, filterblock::EndOfPrefix(prefix));
    const auto num_rows = static_cast<size_t>(std::count_if(strings.begin(), strings.end(), has_prefix));
    CHECK(Scanned(database, scan, false).size() == num_rows && Scanned(database, scan, true).size() == num_rows);
  }
}

// Ten tables of random numbers, whose ranges overlap, are asked for narrow ranges that hardly any table has rows in.
static void CountReads(uint64_t num_keys) {
  constexpr uint64_t kScans = 10000;
  Rows without_filters;
  for (const char* policy : {"", "range:14", "range:16"}) {
    const std::shared_ptr<RocksdbRangeFilters> filters = Filters(*policy != 0 ? policy : "range:14");
    Database database(WithRanges(*policy != 0 ? filters : nullptr));
    for (uint64_t i = 0; i < 10; ++i) database.Put(i * num_keys / 10, (i + 1) * num_keys / 10);
    database.Taken(rocks::BLOCK_CACHE_DATA_MISS);
    database.Taken(rocks::BLOCK_CACHE_DATA_HIT);
    Rows rows;
    for (uint64_t i = 0; i < kScans; ++i) {
      const std::string lower = KeyOf(kAbsent + i), upper = lower.substr(0, 9) + "~";
      rows.merge(Scanned(database, RocksdbScan(filters, lower, upper), false));
    }
    if (*policy == 0) without_filters = rows;
    CHECK(rows == without_filters && rows.size() < kScans / 100);
    const uint64_t reads = database.Taken(rocks::BLOCK_CACHE_DATA_MISS) + database.Taken(rocks::BLOCK_CACHE_DATA_HIT);
    printf("%s: %" PRIu64 " scans of ten tables, %zu rows, %" PRIu64 " of %" PRIu64
           " tables left out, %" PRIu64 " data blocks read\n",
           *policy != 0 ? policy : "no range filters", kScans, rows.size(), filters->counts().skipped, 10 * kScans, reads);
    CHECK(*policy == 0 ? reads > 90000 : reads < 10000);
  }
}

void TestRanges(uint64_t num_keys) {
  TestModel(nullptr);
  TestModel(std::shared_ptr<const rocks::SliceTransform>(rocks::NewFixedPrefixTransform(8)));
  TestUnusable();
  TestEndOfPrefix();
  CountReads(num_keys);
}
