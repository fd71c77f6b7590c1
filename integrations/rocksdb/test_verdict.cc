// No filter of nothing, and what is reported of filters that are not in use.

#include "filterblock_rocksdb_ranges.h"
#include "interface.h"
#include "test.h"

#include <cstdio>

// A builder that is given nothing, or finished twice, leaves a filter that matches every key.
void TestNothing() {
  for (const char* text : {"auto:10", "bloom:10", "blocked:10", "golomb:10", "ribbon:10", "fuse:10"}) {
    for (const bool bottommost : {false, true}) {
      const PolicyPtr policy = Ours(text, text);
      const rocks::BlockBasedTableOptions table;
      rocks::FilterBuildingContext context(table);
      context.is_bottommost = bottommost;
      const std::unique_ptr<rocks::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
      std::unique_ptr<const char[]> owner;
      // Finishes, and counts the keys that are denied out of "key" and ten others.
      const auto num_denied = [&] {
        const rocks::Slice filter = builder->Finish(&owner);
        const std::unique_ptr<rocks::FilterBitsReader> reader(policy->GetFilterBitsReader(filter));
        CHECK(reader->MayMatch("key"));
        int denied = 0;
        for (uint64_t i = 0; i < 10; ++i) denied += !reader->MayMatch(KeyOf(kAbsent + i));
        return denied;
      };
      CHECK(num_denied() == 0);
      for (int i = 0; i < 2; ++i) {
        builder->AddKey("key");
        CHECK(num_denied() > 0);
        CHECK(num_denied() == 0);
      }
      CHECK(CountsOf(policy).unfinished == 3 && CountsOf(policy).built == 2);
    }
  }
}

static void CheckVerdict(const Setting& setting, const Database& db, const char* finding) {
  bool is_fine = finding != nullptr;
  const std::string text = filterblock::RocksdbFilterVerdict(*setting.policy, db.statistics(), &is_fine);
  CHECK(is_fine == (finding == nullptr));
  CHECK(finding == nullptr || text.find(finding) != std::string::npos);
  CHECK(text == filterblock::RocksdbFilterVerdict(*setting.policy, db.statistics()));
}

static void TestVerdictOfPolicies() {
  constexpr uint64_t kStored = 5000;
  Setting setting(Ours("blocked:10", "ribbon:10"));
  {
    Database db(setting);
    CheckVerdict(setting, db, "nothing is known");
    db.Put(0, kStored);
    CheckVerdict(setting, db, "save nothing");
    db.Wrong(0, kStored);
    CheckVerdict(setting, db, "passed all");  // All keys are there.
    db.Wrong(kAbsent, kAbsent + kStored);
    CheckVerdict(setting, db, nullptr);
    setting.policy = Ours("blocked:max=300", "ribbon:max=300");
    db.Reopen(setting);
    db.Put(kStored, 2 * kStored);
    CheckVerdict(setting, db, "1 filters could not be built");
    CheckVerdict(setting, db, "1 failed");
  }
  // A database without whole keys or prefixes in its filters never queries any.
  Setting unused(Ours("blocked:10", "ribbon:10"));
  unused.table.whole_key_filtering = false;
  Database db(unused);
  db.Put(0, kStored);
  db.Reopen(unused);
  CHECK(db.Wrong(0, kStored) + db.Wrong(kAbsent, kAbsent + kStored) == 0);
  CheckVerdict(unused, db, "nothing is known");  // Not even built.
  const PolicyPtr other(rocks::NewBloomFilterPolicy(10));
  filterblock::RocksdbFilterCounts counts;
  bool is_fine = true;
  CHECK(!filterblock::ReadRocksdbFilterCounts(*other, &counts));
  CHECK(filterblock::RocksdbFilterVerdict(*other, db.statistics(), &is_fine).empty() && !is_fine);
}

static void TestVerdictOfRanges() {
  std::shared_ptr<filterblock::RocksdbRangeFilters> filters;
  REQUIRE(filterblock::RocksdbRangeFilters::New("range:14", &filters));
  Setting setting(PolicyPtr(rocks::NewBloomFilterPolicy(10)));
  setting.options.table_properties_collector_factories.push_back(filters);
  Database db(setting);
  bool is_fine = true;
  const auto contains = [&](const char* finding) {
    return filters->Verdict(&is_fine).find(finding) != std::string::npos && !is_fine;
  };
  const auto scan = [&](const char* lower, const char* upper) {
    const filterblock::RocksdbScan at(filters, lower, upper);
    const std::unique_ptr<rocks::Iterator> rows(db->NewIterator(at.Read()));
    rows->SeekToFirst();
    return rows->Valid();
  };
  CHECK(contains("nothing is known"));
  db.Put(0, 5000);
  // An iterator without a scan queries no filter.
  const std::unique_ptr<rocks::Iterator> rows(db->NewIterator(rocks::ReadOptions()));
  rows->SeekToFirst();
  CHECK(rows->Valid() && contains("1 filters were built and none was opened or queried"));
  for (int i = 0; i < 1000; ++i) CHECK(scan("0", "g"));
  CHECK(contains("passed all 1000 queries"));
  CHECK(!scan("x", "y"));
  CHECK(filters->Verdict(&is_fine) == "filters saved 1 reads in 1001 queries" && is_fine);
}

void TestVerdict() {
  TestVerdictOfPolicies();
  TestVerdictOfRanges();
}
