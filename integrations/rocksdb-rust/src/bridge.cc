// What the crate needs of RocksDB and of its adapter, as functions of C. None of them throws, except where memory is
// lacking: then the process ends.

#include "filterblock_rocksdb.h"
#include "filterblock_rocksdb_ranges.h"

#include <rocksdb/c.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <cstdint>
#include <memory>
#include <string>

// The structures of RocksDB's C interface, as its db/c.cc defines them; `LayoutIsRocksdbs` tries the first.
struct rocksdb_options_t {
  rocksdb::Options rep;
};
struct rocksdb_t {
  rocksdb::DB* rep;
};
struct rocksdb_column_family_handle_t {
  rocksdb::ColumnFamilyHandle* rep;
  bool immortal;
};

// A statement about a comparator, or a normal form, excuses findings: not of another comparator, nor of another policy.
struct fbr_policy {
  std::shared_ptr<const rocksdb::FilterPolicy> rep;
  std::string comparator;
  uint32_t excused;
};
struct fbr_ranges {
  std::shared_ptr<filterblock::RocksdbRangeFilters> rep;
  bool verify;
};
// The iterator goes before the scan, which has its bounds.
struct fbr_scan {
  filterblock::RocksdbScan scan;
  rocksdb::ReadOptions read;
  std::unique_ptr<rocksdb::Iterator> rows;
  bool reverse;
  bool begun;
};

namespace {

using rocksdb::BlockBasedTableOptions;

const BlockBasedTableOptions* TableOf(const rocksdb::ColumnFamilyOptions& options) {
  return options.table_factory == nullptr ? nullptr : options.table_factory->GetOptions<BlockBasedTableOptions>();
}

// Whether the library is of the headers' version, and options that its C interface has set are found where these have them.
bool LayoutIsRocksdbs() {
  std::string version = std::to_string(ROCKSDB_MAJOR);
  for (const int number : {ROCKSDB_MINOR, ROCKSDB_PATCH}) version += "." + std::to_string(number);
  if (rocksdb::GetRocksVersionAsString(true) != version) return false;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_max_open_files(options, 4321);
  rocksdb_options_enable_statistics(options);
  rocksdb_options_set_write_buffer_size(options, 1234567);
  rocksdb_options_set_optimize_filters_for_hits(options, 1);
  rocksdb_options_set_min_tombstones_for_range_conversion(options, 765);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_size(table, 54321);
  rocksdb_block_based_options_set_whole_key_filtering(table, 0);
  rocksdb_block_based_options_set_format_version(table, 5);
  rocksdb_options_set_block_based_table_factory(options, table);
  const rocksdb::Options& rep = options->rep;
  bool same = rep.max_open_files == 4321 && rep.statistics != nullptr && rep.write_buffer_size == 1234567 &&
              rep.optimize_filters_for_hits && rep.min_tombstones_for_range_conversion == 765;
  const BlockBasedTableOptions* read = same ? TableOf(rep) : nullptr;
  same = read != nullptr && read->block_size == 54321 && !read->whole_key_filtering && read->format_version == 5;
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
  return same;
}

// Bits: see `Finding` of the crate.
enum : uint32_t {
  kNotBlockBased = 1 << 0,
  kNoPolicy = 1 << 1,
  kOtherPolicy = 1 << 2,
  kEqualKeys = 1 << 3,
  kNoEntries = 1 << 4,
  kNoneAtBottom = 1 << 5,
  kNoCollector = 1 << 6,
  kNotBytewise = 1 << 7,
  kRangeConversion = 1 << 8,
  kHashedBytes = 1 << 9,
  kNoChecksums = 1 << 10,
};

uint32_t Findings(const rocksdb::ColumnFamilyOptions& options, const fbr_policy& policy) {
  uint32_t found = 0;
  const BlockBasedTableOptions* table = TableOf(options);
  if (table == nullptr) return kNotBlockBased;
  if (options.comparator->CanKeysWithDifferentByteContentsBeEqual()) {
    const bool hashed = options.memtable_prefix_bloom_size_ratio > 0 ||
                        table->index_type == BlockBasedTableOptions::kHashSearch ||
                        rocksdb::Slice(options.memtable_factory->Name()).starts_with("Hash");
    found = kEqualKeys | (hashed ? kHashedBytes : 0);
  }
  if (table->filter_policy == nullptr) found |= kNoPolicy;
  else if (table->filter_policy->GetId() != policy.rep->GetId()) found |= kOtherPolicy;
  else if (policy.comparator == options.comparator->Name()) found &= ~policy.excused;
  if (!table->whole_key_filtering && options.prefix_extractor == nullptr) found |= kNoEntries;
  if (options.optimize_filters_for_hits) found |= kNoneAtBottom;
  return found;
}

uint32_t RangeFindings(const rocksdb::ColumnFamilyOptions& options, const fbr_ranges& ranges) {
  uint32_t found = 0;
  bool collects = false;
  for (const auto& factory : options.table_properties_collector_factories) collects |= factory == ranges.rep;
  if (!collects) found |= kNoCollector;
  if (options.comparator != rocksdb::BytewiseComparator()) found |= kNotBytewise;
  if (options.min_tombstones_for_range_conversion != 0) found |= kRangeConversion;
  const BlockBasedTableOptions* table = TableOf(options);
  if (!ranges.verify && table != nullptr && table->checksum == rocksdb::kNoChecksum) found |= kNoChecksums;
  return found;
}

rocksdb::ColumnFamilyHandle* FamilyOf(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  return family == nullptr ? db->rep->DefaultColumnFamily() : family->rep;
}

void Append(void* to, const char* text, size_t len) { static_cast<std::string*>(to)->append(text, len); }

}  // namespace

extern "C" {

typedef void (*fbr_sink)(void* context, const char* text, size_t len);

// Counts of a policy in the order of the crate's `Counts`.
typedef struct {
  uint64_t values[6];
} fbr_counts;

typedef struct {
  const char* key;
  size_t key_len;
  const char* value;
  size_t value_len;
} fbr_row;

bool fbr_layout() noexcept {
  static const bool same = LayoutIsRocksdbs();
  return same;
}

void fbr_register() noexcept { filterblock::RegisterRocksdbFilterPolicy(); }

// Passes the normal form of a key to `sink`.
typedef void (*fbr_normal)(const void* form, const char* key, size_t len, fbr_sink sink, void* context);

// For the comparator of `of`, of which `distinct_keys` is stated. The texts are the policies of the upper levels and of the
// bottommost one, and the name of the normal form. Null if the adapter refuses; then the message is passed to `sink`.
// Without a normal form `form` is null. It is freed in any case, after the last policy that has it.
fbr_policy* fbr_policy_new(const rocksdb_options_t* of, const char* const* texts, bool trusted, bool distinct_keys,
                           void* form, fbr_normal normal, void (*free_form)(void*), fbr_sink sink,
                           void* context) noexcept {
  filterblock::RocksdbFilterOptions options;
  if (form != nullptr) {
    const std::shared_ptr<void> owned(form, free_form);
    options.normal_form_name = texts[2];
    options.normal_form_of = of->rep.comparator->Name();
    options.normal_form = [owned, normal](const rocksdb::Slice& key, std::string* to) {
      normal(owned.get(), key.data(), key.size(), Append, to);
    };
  }
  options.upper = texts[0];
  options.bottommost = texts[1];
  options.trusted = trusted;
  if (distinct_keys) options.distinct_keys_of = of->rep.comparator->Name();
  const uint32_t excused = distinct_keys ? kEqualKeys | kHashedBytes : form != nullptr ? kEqualKeys : 0;
  std::unique_ptr<fbr_policy> policy(new fbr_policy{nullptr, of->rep.comparator->Name(), excused});
  const rocksdb::Status status = filterblock::NewRocksdbFilterPolicy(options, &policy->rep);
  if (status.ok()) return policy.release();
  const std::string message = status.ToString();
  sink(context, message.data(), message.size());
  return nullptr;
}

void fbr_policy_free(fbr_policy* policy) noexcept { delete policy; }

// Gives the options a table factory of their own, with the options of the present one: copies of `options` may share that
// one, and so may an open database.
bool fbr_policy_set(rocksdb_options_t* options, const fbr_policy* policy) noexcept {
  const BlockBasedTableOptions* present = TableOf(options->rep);
  if (present == nullptr) return false;
  BlockBasedTableOptions table = *present;
  table.filter_policy = policy->rep;
  options->rep.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return true;
}

uint32_t fbr_findings(const rocksdb_options_t* options, const fbr_policy* policy) noexcept {
  return Findings(options->rep, *policy);
}

// The policy that a database has, null if it is not one of the adapter's. Whether it is for its comparator, it knows itself;
// a normal form excuses no hashes of RocksDB's own.
fbr_policy* fbr_policy_of(rocksdb_t* db, rocksdb_column_family_handle_t* family) noexcept {
  const rocksdb::Options options = db->rep->GetOptions(FamilyOf(db, family));
  const BlockBasedTableOptions* table = TableOf(options);
  filterblock::RocksdbFilterCounts counts;
  if (table == nullptr || table->filter_policy == nullptr ||
      !filterblock::ReadRocksdbFilterCounts(*table->filter_policy, &counts)) {
    return nullptr;
  }
  const bool has_form = table->filter_policy->GetId().find("/normal:") != std::string::npos;
  const uint32_t excused = has_form ? kEqualKeys : kEqualKeys | kHashedBytes;
  const bool fits = table->filter_policy->ValidateOptions(options, options).ok();
  return new fbr_policy{table->filter_policy, options.comparator->Name(), fits ? excused : 0};
}

// Passes the id of the policy that a database has to `sink`, unless it has none. Returns false if the tables cannot be read.
bool fbr_in_use(rocksdb_t* db, rocksdb_column_family_handle_t* family, const fbr_policy* policy, uint32_t* findings,
                uint64_t* tables, uint64_t* without, fbr_sink sink, void* context) noexcept {
  rocksdb::ColumnFamilyHandle* handle = FamilyOf(db, family);
  const rocksdb::Options options = db->rep->GetOptions(handle);
  *findings = Findings(options, *policy);
  const BlockBasedTableOptions* table = TableOf(options);
  if (table != nullptr && table->filter_policy != nullptr) {
    const std::string id = table->filter_policy->GetId();
    sink(context, id.data(), id.size());
  }
  rocksdb::TablePropertiesCollection all;
  if (!db->rep->GetPropertiesOfAllTables(handle, &all).ok()) return false;
  *tables = all.size();
  *without = 0;
  for (const auto& [path, properties] : all) *without += properties->filter_size == 0;
  return true;
}

void fbr_policy_counts(const fbr_policy* policy, fbr_counts* counts) noexcept {
  filterblock::RocksdbFilterCounts read;
  filterblock::ReadRocksdbFilterCounts(*policy->rep, &read);
  *counts = {{read.built, read.unfinished, read.damaged, read.newer, read.mismatch, read.not_built}};
}

// -1 without statistics, 0 if something is found, 1 if nothing is.
int fbr_policy_verdict(const fbr_policy* policy, const rocksdb_options_t* options, fbr_sink sink,
                       void* context) noexcept {
  if (options->rep.statistics == nullptr) return -1;
  bool is_fine = false;
  const std::string text = filterblock::RocksdbFilterVerdict(*policy->rep, *options->rep.statistics, &is_fine);
  sink(context, text.data(), text.size());
  return is_fine;
}

fbr_ranges* fbr_ranges_new(const char* policy, bool verify, fbr_sink sink, void* context) noexcept {
  std::unique_ptr<fbr_ranges> ranges(new fbr_ranges{nullptr, verify});
  const rocksdb::Status status = filterblock::RocksdbRangeFilters::New(policy, &ranges->rep, verify);
  if (status.ok()) return ranges.release();
  const std::string message = status.ToString();
  sink(context, message.data(), message.size());
  return nullptr;
}

void fbr_ranges_free(fbr_ranges* ranges) noexcept { delete ranges; }

void fbr_ranges_set(rocksdb_options_t* options, const fbr_ranges* ranges) noexcept {
  options->rep.table_properties_collector_factories.push_back(ranges->rep);
}

uint32_t fbr_range_findings(const rocksdb_options_t* options, const fbr_ranges* ranges) noexcept {
  return RangeFindings(options->rep, *ranges);
}

uint32_t fbr_ranges_in_use(rocksdb_t* db, rocksdb_column_family_handle_t* family, const fbr_ranges* ranges) noexcept {
  return RangeFindings(db->rep->GetOptions(FamilyOf(db, family)), *ranges);
}

// In the order of the crate's `RangeCounts`.
void fbr_ranges_counts(const fbr_ranges* ranges, fbr_counts* counts) noexcept {
  const filterblock::RocksdbRangeFilters::Counts read = ranges->rep->counts();
  *counts = {{read.built, read.unfinished, read.asked, read.skipped, read.unusable, 0}};
}

bool fbr_ranges_verdict(const fbr_ranges* ranges, fbr_sink sink, void* context) noexcept {
  bool is_fine = false;
  const std::string text = ranges->rep->Verdict(&is_fine);
  sink(context, text.data(), text.size());
  return is_fine;
}

// Null bounds are none. A scan takes those of length 0 for none, which leaves no more tables out; the iterator has them: no key
// is below, but for another comparator than the bytewise one. Total order: a prefix extractor keeps no rows back.
fbr_scan* fbr_scan_new(rocksdb_t* db, rocksdb_column_family_handle_t* family, const fbr_ranges* ranges,
                       const char* lower, size_t lower_len, const char* upper, size_t upper_len, bool reverse) noexcept {
  static const rocksdb::Slice empty;
  const rocksdb::Slice from = lower == nullptr ? empty : rocksdb::Slice(lower, lower_len);
  const rocksdb::Slice to = upper == nullptr ? empty : rocksdb::Slice(upper, upper_len);
  std::unique_ptr<fbr_scan> scan(new fbr_scan{{ranges->rep, from, to}, {}, nullptr, reverse, false});
  scan->read = scan->scan.Read();
  if (lower != nullptr && lower_len == 0) scan->read.iterate_lower_bound = &empty;
  if (upper != nullptr && upper_len == 0) scan->read.iterate_upper_bound = &empty;
  scan->rows.reset(db->rep->NewIterator(scan->read, FamilyOf(db, family)));
  return scan.release();
}

// 1 with the next row, whose bytes are valid until the next call; 0 at the end; -1 with a message.
int fbr_scan_next(fbr_scan* scan, fbr_row* row, fbr_sink sink, void* context) noexcept {
  rocksdb::Iterator& rows = *scan->rows;
  if (!scan->begun) {
    scan->reverse ? rows.SeekToLast() : rows.SeekToFirst();
    scan->begun = true;
  } else if (rows.Valid()) {
    scan->reverse ? rows.Prev() : rows.Next();
  }
  if (rows.Valid()) {
    *row = {rows.key().data(), rows.key().size(), rows.value().data(), rows.value().size()};
    return 1;
  }
  const rocksdb::Status status = rows.status();
  if (status.ok()) return 0;
  const std::string message = status.ToString();
  sink(context, message.data(), message.size());
  return -1;
}

void fbr_scan_free(fbr_scan* scan) noexcept { delete scan; }

}  // extern "C"
