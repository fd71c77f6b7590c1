#include "filterblock_rocksdb_ranges.h"

#include <filterblock.h>
#include <rocksdb/comparator.h>

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
using Counts = RocksdbRangeFilters::Counts;

Status NewBuilder(const std::string& policy, BuilderPtr* builder) {
  filterblock_builder* made = nullptr;
  filterblock_error error;
  const filterblock_status status = filterblock_range_builder_new(policy.c_str(), nullptr, &made, &error);
  builder->reset(made);
  return status == FILTERBLOCK_STATUS_OK ? Status::OK() : Status::InvalidArgument("filterblock", error.message);
}

void* Allocate(void* context, size_t len) {
  auto* block = static_cast<std::string*>(context);
  block->resize(len);
  return &(*block)[0];
}

void Clear(void* context, void*, size_t) { static_cast<std::string*>(context)->clear(); }

// Without a filter a table is read, so no failure is one of the table.
class Collector final : public rocks::TablePropertiesCollector {
 public:
  Collector(BuilderPtr builder, std::shared_ptr<Counts> counts)
      : builder_(std::move(builder)), counts_(std::move(counts)) {}

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
    const bool built = filterblock_builder_finish_with(builder_.get(), &allocator, &data, &len, nullptr, nullptr) ==
                       FILTERBLOCK_STATUS_OK;
    ++(built ? counts_->built : counts_->unfinished);
    if (built) (*properties)[kProperty] = std::move(block);
    return Status::OK();
  }

  rocks::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return kProperty; }

 private:
  const BuilderPtr builder_;
  const std::shared_ptr<Counts> counts_;
};

bool MayHave(const rocks::TableProperties& table, const std::string& lower, const std::string& upper, bool verify,
             Counts* counts) {
  const auto found = table.user_collected_properties.find(kProperty);
  // Filters are of keys that are compared byte by byte, without timestamps.
  if (found == table.user_collected_properties.end() || table.num_range_deletions != 0 ||
      table.comparator_name != rocks::BytewiseComparator()->Name()) {
    return true;
  }
  ++counts->asked;
  filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
  options.flags = verify ? 0 : FILTERBLOCK_OPEN_TRUSTED;
  filterblock_range_reader* opened = nullptr;
  const std::string& block = found->second;
  if (filterblock_range_reader_open(block.data(), block.size(), &options, nullptr, &opened, nullptr) !=
      FILTERBLOCK_STATUS_OK) {
    ++counts->unusable;
    return true;
  }
  const ReaderPtr reader(opened);
  const filterblock_range_bound from = {lower.data(), lower.size(), 0}, to = {upper.data(), upper.size(), 1};
  const bool may_have = filterblock_range_reader_may_contain_range(reader.get(), lower.empty() ? nullptr : &from,
                                                                   upper.empty() ? nullptr : &to);
  if (!may_have) ++counts->skipped;
  return may_have;
}

}  // namespace

Status RocksdbRangeFilters::New(const std::string& policy, std::shared_ptr<RocksdbRangeFilters>* filters,
                                bool verify) {
  BuilderPtr tried;
  const Status status = NewBuilder(policy, &tried);
  if (status.ok()) filters->reset(new RocksdbRangeFilters(policy, verify));
  return status;
}

rocks::TablePropertiesCollector* RocksdbRangeFilters::CreateTablePropertiesCollector(Context) {
  BuilderPtr builder;
  // The policy is legal. A null builder takes no keys.
  NewBuilder(policy_, &builder).PermitUncheckedError();
  return new Collector(std::move(builder), counts_);
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
  const std::shared_ptr<Counts> counts = filters->counts_;
  const auto lower_bound = lower_, upper_bound = upper_;
  const bool verify = filters->verify_;
  options_.table_filter = [counts, lower_bound, upper_bound, verify](const rocks::TableProperties& table) {
    return MayHave(table, *lower_bound, *upper_bound, verify, counts.get());
  };
}

}  // namespace filterblock
