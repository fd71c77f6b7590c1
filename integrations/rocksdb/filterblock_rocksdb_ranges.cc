#include "filterblock_rocksdb_ranges.h"

#include <filterblock.h>
#include <rocksdb/comparator.h>
#include <rocksdb/version.h>

#include <utility>
#include <vector>

namespace filterblock {
namespace {

namespace rocks = ROCKSDB_NAMESPACE;
using rocks::Slice;
using rocks::Status;

constexpr char kProperty[] = "filterblock.range";

struct Free {
  void operator()(filterblock_builder* builder) const { filterblock_builder_free(builder); }
  void operator()(filterblock_range_reader* reader) const { filterblock_range_reader_free(reader); }
};
using BuilderPtr = std::unique_ptr<filterblock_builder, Free>;
using ReaderPtr = std::unique_ptr<filterblock_range_reader, Free>;

Status NewBuilder(const std::string& policy, const filterblock_counters* counters, BuilderPtr* builder) {
  filterblock_builder* made = nullptr;
  filterblock_error error;
  const filterblock_status status = filterblock_range_builder_new(policy.c_str(), counters, &made, &error);
  builder->reset(made);
  return status == FILTERBLOCK_STATUS_OK ? Status::OK() : Status::InvalidArgument("filterblock", error.message);
}

// No exception may pass the library that calls it.
void* Allocate(void* context, size_t len) try {
  auto* block = static_cast<std::string*>(context);
  block->resize(len);
  return &(*block)[0];
} catch (...) { return nullptr; }

void Clear(void* context, void*, size_t) { static_cast<std::string*>(context)->clear(); }

// Without a filter a table is read, so no failure is one of the table.
class Collector final : public rocks::TablePropertiesCollector {
 public:
  explicit Collector(BuilderPtr builder) : builder_(std::move(builder)) {}

  // Deletions are keys, too: a table that hides a key of another is read. Where a key is refused, the finish is.
  Status AddUserKey(const Slice& key, const Slice&, rocks::EntryType type, rocks::SequenceNumber, uint64_t) override {
    // What these cover is not stated by their keys; tables that have some are read.
    if (type != rocks::kEntryRangeDeletion) filterblock_builder_add_key(builder_.get(), key.data(), key.size());
    return Status::OK();
  }

  Status Finish(rocks::UserCollectedProperties* properties) override {
    if (filterblock_builder_num_added(builder_.get()) == 0) return Status::OK();
    std::string block;
    void* data = nullptr;
    size_t len = 0;
    const filterblock_allocator allocator = {sizeof allocator, &block, Allocate, Clear};
    if (filterblock_builder_finish_with(builder_.get(), &allocator, &data, &len, nullptr, nullptr) ==
        FILTERBLOCK_STATUS_OK) {
      (*properties)[kProperty] = std::move(block);
    }
    return Status::OK();
  }

  rocks::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return kProperty; }

 private:
  const BuilderPtr builder_;
};

bool MayHave(const rocks::TableProperties& table, const std::string& lower, const std::string& upper, bool verify,
             filterblock_counters* counters) {
  const auto found = table.user_collected_properties.find(kProperty);
  // Filters are of keys that are compared byte by byte, without timestamps.
  if (found == table.user_collected_properties.end() || table.num_range_deletions != 0 ||
      table.comparator_name != rocks::BytewiseComparator()->Name()) {
    return true;
  }
  filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
  options.flags = verify ? 0 : FILTERBLOCK_OPEN_TRUSTED;
  filterblock_range_reader* opened = nullptr;
  const std::string& block = found->second;
  if (filterblock_range_reader_open(block.data(), block.size(), &options, counters, &opened, nullptr) !=
      FILTERBLOCK_STATUS_OK) {
    return true;
  }
  const ReaderPtr reader(opened);
  // Those of length 0 are no bounds.
  const filterblock_range_bound from = {lower.data(), lower.size(), 0}, to = {upper.data(), upper.size(), 1};
  const bool may_have = filterblock_range_reader_may_contain_range(reader.get(), &from, &to);
  filterblock_counters_note_queries(counters, 1, !may_have);
  return may_have;
}

using TableFilter = std::function<bool(const rocks::TableProperties&)>;

// ReadOptions has the function itself, and since 11.9 a pointer to one of the caller's.
[[maybe_unused]] void SetTableFilter(const TableFilter& filter, TableFilter* of_options) { *of_options = filter; }
[[maybe_unused]] void SetTableFilter(const TableFilter& filter, const TableFilter** of_options) {
  *of_options = &filter;
}

filterblock_counters_snapshot SnapshotOf(const filterblock_counters* counters) {
  filterblock_counters_snapshot snapshot{};
  snapshot.size = sizeof snapshot;
  filterblock_counters_read(counters, &snapshot);
  return snapshot;
}

}  // namespace

RocksdbRangeFilters::RocksdbRangeFilters(std::string policy, bool verify)
    : policy_(std::move(policy)), verify_(verify), counters_(filterblock_counters_new(), filterblock_counters_free) {}

Status RocksdbRangeFilters::New(const std::string& policy, std::shared_ptr<RocksdbRangeFilters>* filters,
                                bool verify) {
  const std::string compiled = std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  if (rocks::GetRocksVersionAsString(false) != compiled) return Status::NotSupported("compiled for RocksDB", compiled);
  BuilderPtr tried;
  const Status status = NewBuilder(policy, nullptr, &tried);
  if (status.ok()) filters->reset(new RocksdbRangeFilters(policy, verify));
  return status;
}

rocks::TablePropertiesCollector* RocksdbRangeFilters::CreateTablePropertiesCollector(Context) {
  BuilderPtr builder;
  // The policy is legal. A null builder takes no keys.
  NewBuilder(policy_, counters_.get(), &builder).PermitUncheckedError();
  return new Collector(std::move(builder));
}

RocksdbRangeFilters::Counts RocksdbRangeFilters::counts() const {
  const filterblock_counters_snapshot read = SnapshotOf(counters_.get());
  Counts counts;
  counts.built = read.built;
  counts.unfinished = read.unfinished;
  counts.unusable = read.damaged + read.newer + read.mismatch + read.failed;
  counts.asked = read.queries + counts.unusable;
  counts.skipped = read.denied;
  return counts;
}

std::string RocksdbRangeFilters::Verdict(bool* is_fine) const {
  const filterblock_counters_snapshot read = SnapshotOf(counters_.get());
  char text[FILTERBLOCK_VERDICT_SIZE];
  uint32_t findings = 0;
  const bool judged = filterblock_verdict(&read, &findings, text, sizeof text) == FILTERBLOCK_STATUS_OK;
  if (is_fine != nullptr) *is_fine = judged && findings == 0;
  return text;
}

std::string EndOfPrefix(const Slice& prefix) {
  std::string end = prefix.ToString();
  // The last byte that can be raised; those after it are the greatest already.
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

RocksdbScan::RocksdbScan(const std::shared_ptr<const RocksdbRangeFilters>& filters, const Slice& lower,
                         const Slice& upper, const rocks::ReadOptions& options)
    : lower_(std::make_shared<std::string>(lower.ToString())),
      upper_(std::make_shared<std::string>(upper.ToString())),
      lower_slice_(*lower_),
      upper_slice_(*upper_),
      options_(options) {
  options_.iterate_lower_bound = lower_->empty() ? nullptr : &lower_slice_;
  options_.iterate_upper_bound = upper_->empty() ? nullptr : &upper_slice_;
  // Else a seek asks filters for the prefix of one bound, and leaves out tables whose rows in the range have others.
  if (!options_.auto_prefix_mode && !options_.prefix_same_as_start) options_.total_order_seek = true;
  table_filter_ = [counters = filters->counters_, verify = filters->verify_, lower_bound = lower_,
                   upper_bound = upper_](const rocks::TableProperties& table) {
    return MayHave(table, *lower_bound, *upper_bound, verify, counters.get());
  };
  SetTableFilter(table_filter_, &options_.table_filter);
}

}  // namespace filterblock
