// Comparators that hold keys of different bytes to be equal.

#include "test.h"

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>

#include <algorithm>
#include <cctype>

static std::string Cased(std::string text, int (*to)(int)) {
  std::transform(text.begin(), text.end(), text.begin(), [to](unsigned char c) { return static_cast<char>(to(c)); });
  return text;
}

// Names without case.
class NoCase final : public rocks::Comparator {
 public:
  const char* Name() const override { return "test.nocase"; }
  int Compare(const rocks::Slice& a, const rocks::Slice& b) const override {
    return Cased(a.ToString(), tolower).compare(Cased(b.ToString(), tolower));
  }
  void FindShortestSeparator(std::string*, const rocks::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// Null if it is refused.
static PolicyPtr Normal(const std::string& name, bool has_form = true, const char* of = "test.nocase") {
  filterblock::RocksdbFilterOptions options;
  (has_form ? options.normal_form_of : options.distinct_keys_of) = of;
  if (has_form) options.normal_form = [](const rocks::Slice& key, std::string* to) { *to = Cased(key.ToString(), tolower); };
  options.normal_form_name = name;
  PolicyPtr policy;
  CHECK(filterblock::NewRocksdbFilterPolicy(options, &policy).IsInvalidArgument() == (policy == nullptr));
  return policy;
}

// How many of keys that were stored in lower case are found in upper case, by Get as by MultiGet.
static uint64_t FoundInUpperCase(Database& db, uint64_t begin, uint64_t end) {
  uint64_t found = 0;
  for (uint64_t i = begin; i < end; ++i) {
    const std::string key = Cased(KeyOf(i), toupper);
    const rocks::Slice slice(key);
    rocks::PinnableSlice value, in_batch;
    rocks::Status of_batch;
    db->MultiGet(rocks::ReadOptions(), db->DefaultColumnFamily(), 1, &slice, &in_batch, &of_batch);
    const rocks::Status status = db->Get(rocks::ReadOptions(), db->DefaultColumnFamily(), slice, &value);
    CHECK(status.code() == of_batch.code() && value == in_batch && (!status.ok() || value == ValueOf(i)));
    found += status.ok();
  }
  return found;
}

void TestEqualKeys() {
  constexpr uint64_t kKeys = 20000;
  static const NoCase comparator;
  const auto setting_of = [](PolicyPtr policy) {
    Setting setting(std::move(policy));
    setting.options.comparator = &comparator;
    return setting;
  };
  for (const bool partitioned : {false, true}) {
    Setting setting = setting_of(Normal("nocase"));
    if (partitioned) setting.Partitioned().options.prefix_extractor.reset(rocks::NewFixedPrefixTransform(4));
    Database db(setting);
    db.Put(0, kKeys);
    for (int compacted = 0; compacted < 2; ++compacted) {
      if (compacted != 0) db.Compact();
      CHECK(FoundInUpperCase(db, 0, kKeys) == kKeys);
      db.Taken(rocks::BLOOM_FILTER_USEFUL);
      CHECK(FoundInUpperCase(db, kAbsent, kAbsent + kKeys) == 0);
      CHECK(db.Taken(rocks::BLOOM_FILTER_USEFUL) >= 2 * kKeys * 98 / 100);
    }
    // Other policies do not find these filters, and their own are not found by this one.
    for (const PolicyPtr& other : {Normal("nocase.2"), Normal("", false, "test.nocase"),
                                   PolicyPtr(rocks::NewBloomFilterPolicy(10)), Normal("nocase")}) {
      db.Reopen(setting_of(other));
      CHECK(FoundInUpperCase(db, 0, kKeys) == kKeys);
      FoundInUpperCase(db, kAbsent, kAbsent + kKeys);
      CHECK((db.Taken(rocks::BLOOM_FILTER_USEFUL) > 0) == (other->GetId() == setting.policy->GetId()));
    }
  }
  // What the form is for: filters of bytes deny stored keys, ours where what is stated is wrong.
  for (const PolicyPtr& bytes : {Normal("", false, "test.nocase"), PolicyPtr(rocks::NewBloomFilterPolicy(10))}) {
    Database db(setting_of(bytes));
    db.Put(0, kKeys);
    CHECK(FoundInUpperCase(db, 0, kKeys) < kKeys / 10);
    db.Reopen(setting_of(Normal("nocase")));
    CHECK(FoundInUpperCase(db, 0, kKeys) == kKeys);
  }
  // Such databases are not opened without a form or a statement of this comparator, nor where RocksDB itself hashes bytes.
  const PolicyPtr form = Normal("nocase"), stated = Normal("", false), other = Normal("x", true, "test.other");
  Database db(setting_of(form));
  for (const PolicyPtr& policy : {form, stated, other, Ours("blocked:10", "ribbon:10"), Normal("", false, "test.other")}) {
    for (int hashed = 0; hashed < 4; ++hashed) {
      Setting setting = setting_of(policy);
      setting.options.allow_concurrent_memtable_write = false;
      setting.options.prefix_extractor.reset(rocks::NewFixedPrefixTransform(1));
      setting.options.memtable_prefix_bloom_size_ratio = hashed == 1 ? 0.1 : 0;
      if (hashed == 2) setting.table.index_type = rocks::BlockBasedTableOptions::kHashSearch;
      if (hashed == 3) setting.options.memtable_factory.reset(rocks::NewHashSkipListRepFactory());
      const rocks::Status status = db.TryReopen(setting.Final());
      CHECK(policy == stated || (policy == form && hashed == 0) ? status.ok() : status.IsInvalidArgument());
    }
  }
  // RocksDB's comparators with timestamps need no statement.
  Setting stamped(stated);
  REQUIRE(rocks::Comparator::CreateFromString({}, "leveldb.BytewiseComparator.u64ts", &stamped.options.comparator));
  CHECK(stated->ValidateOptions({}, stamped.Final()).ok());
  for (const char* name : {"", "no case", "no/case", "no=case"}) CHECK(Normal(name) == nullptr);
  CHECK(Normal("nocase", false) == nullptr && Normal("nocase", true, "") == nullptr);
}
