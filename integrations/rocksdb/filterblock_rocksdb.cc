#include "filterblock_rocksdb.h"

#include "interface.h"

#include <filterblock.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/object_registry.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace filterblock {
namespace {

namespace rocks = ROCKSDB_NAMESPACE;
using rocks::Slice;
using rocks::Status;

// A table's filter is found by the policy's compatibility name, which is that of RocksDB's own policies here: after a
// change of policy, in either direction, filters that are on disk are still found. So they have to be distinguished by
// their last bytes. RocksDB's end with a byte for the implementation, and four bytes of parameters; it writes the
// implementation 0 for a filter that matches everything, and has always read it so. Ours end with that 0 and a mark.
constexpr char kMark[] = {'\0', 'f', 'b', 'k'};
// After the mark: whether RocksDB has a checksum of the block.
constexpr char kWithChecksum = 'c';
constexpr char kWithoutChecksum = 'n';
constexpr size_t kTrailerLen = sizeof kMark + 1;
// Instead of a filter that could not be built. RocksDB takes five bytes or fewer for a filter that matches nothing.
constexpr char kNotBuilt[] = {'\0', '\0', 'f', 'b', 'k', kWithChecksum};
// What a block begins with: format-spec.md.
constexpr char kMagic[] = {'\xf1', 'F', 'B', 'L', 'K', '\r', '\n', '\x1a'};

enum class Writer { kLibrary, kNotBuilt, kRocksdb, kUnknown };

uint32_t LittleEndian(const char* bytes, int len) {
  uint32_t value = 0;
  for (int i = 0; i < len; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << 8 * i;
  return value;
}

// Whether these can be the bytes of one of RocksDB's filters, as far as their length and their end show.
bool IsRocksdbs(const Slice& filter) {
  if (filter.size() <= kTrailerLen) return false;
  const size_t len = filter.size() - kTrailerLen;
  const char* end = filter.data() + len;
  const int implementation = static_cast<signed char>(end[0]);
  if (implementation == -1) {  // Bloom, in lines of 64 bytes
    const int num_probes = static_cast<unsigned char>(end[2]);
    return end[1] == 0 && num_probes >= 1 && num_probes <= 30 && end[3] == 0 && end[4] == 0 && len % 64 == 0;
  }
  if (implementation == -2) {  // Ribbon, in blocks of one segment of 16 bytes a column
    const uint32_t num_blocks = LittleEndian(end + 2, 3);
    return num_blocks >= 2 && len % 16 == 0 && len / 16 >= num_blocks && len / 16 <= uint64_t{num_blocks} * 32;
  }
  if (implementation >= 1 && implementation <= 30) {  // Bloom before format_version 5, in lines of a power of two
    const uint32_t num_lines = LittleEndian(end + 1, 4);
    if (num_lines == 0 || len % num_lines != 0) return false;
    const size_t line_len = len / num_lines;
    return line_len >= 16 && line_len <= 1024 && (line_len & (line_len - 1)) == 0;
  }
  return implementation == 0 && len == 1 && LittleEndian(end - 1, 4) == 0 && LittleEndian(end + 1, 4) == 0;
}

// Magic and mark both have to be lost before a block of the library's is taken for another one.
Writer WriterOf(const Slice& filter) {
  const bool has_mark = filter.size() > kTrailerLen &&
                        std::memcmp(filter.data() + filter.size() - kTrailerLen, kMark, sizeof kMark) == 0;
  if (has_mark && filter.size() == sizeof kNotBuilt) return Writer::kNotBuilt;
  if (has_mark || filter.starts_with(Slice(kMagic, sizeof kMagic))) return Writer::kLibrary;
  return IsRocksdbs(filter) ? Writer::kRocksdb : Writer::kUnknown;
}

struct Free {
  void operator()(filterblock_builder* builder) const { filterblock_builder_free(builder); }
};
// Not changed once it is made, so that builders of all threads may share it.
using PolicyPtr = std::shared_ptr<const filterblock_policy>;
using BuilderPtr = std::unique_ptr<filterblock_builder, Free>;

enum Event { kDamaged, kNewer, kMismatch, kNotBuiltEvent, kUnfinished, kBuilt, kOpened, kNumEvents };

// Counts, and logs the first of each kind of failure. Shared with builders, and changed by policies that are const.
class Events {
 public:
  explicit Events(std::shared_ptr<rocks::Logger> log) : log_(std::move(log)) {}

  void Count(Event event) { counts_[event].fetch_add(1, std::memory_order_relaxed); }

  // Once: where a reader is made for each lookup, threads would contend for a count.
  void Note(Event event) {
    if (Read(event) == 0) counts_[event].store(1, std::memory_order_relaxed);
  }

  void CountFailure(Event event, const char* what, const char* why) {
    if (counts_[event].fetch_add(1, std::memory_order_relaxed) != 0) return;
    const std::string message = std::string("filterblock: ") + what + ": " + why;
    if (log_ != nullptr) {
      rocks::Warn(log_, "%s", message.c_str());
    } else {
      std::lock_guard<std::mutex> lock(mutex_);
      pending_.push_back(message);
      has_pending_.store(true, std::memory_order_release);
    }
  }

  void LogPending(rocks::Logger* log) {
    if (log == nullptr || !has_pending_.load(std::memory_order_acquire)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& message : pending_) rocks::Warn(log, "%s", message.c_str());
    pending_.clear();
    has_pending_.store(false, std::memory_order_release);
  }

  uint64_t Read(Event event) const { return counts_[event].load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<rocks::Logger> log_;
  std::array<std::atomic<uint64_t>, kNumEvents> counts_{};
  std::atomic<bool> has_pending_{false};
  std::mutex mutex_;
  std::vector<std::string> pending_;
};

using NormalForm = std::function<void(const Slice& key, std::string* normal)>;

class Builder final : public rocks::FilterBitsBuilder {
 public:
  // `of_small` is null, or the policy of filters of few keys, where it has fewer false positives.
  Builder(PolicyPtr policy, PolicyPtr of_small, const rocks::BlockBasedTableOptions& table, NormalForm normal_form,
          std::shared_ptr<Events> events)
      : policy_(std::move(policy)),
        of_small_(std::move(of_small)),
        builder_(filterblock_builder_new(policy_.get(), nullptr)),
        small_builder_(filterblock_builder_new(of_small_.get(), nullptr)),
        small_(of_small_ != nullptr),
        checksum_(table.checksum == rocks::kNoChecksum ? kWithoutChecksum : kWithChecksum),
        report_corruption_(table.detect_filter_construct_corruption),
        normal_form_(std::move(normal_form)),
        events_(std::move(events)) {}

  void AddKey(const Slice& key) override {
    if (normal_form_ == nullptr) return AddEntry(key);
    normal_.clear();
    normal_form_(key, &normal_);
    AddEntry(normal_);
  }

  // A failure is reported by the finish. The library keeps one of neighbours that are equal.
  void AddEntry(const Slice& key) {
    added_ = true;
    filterblock_builder_add_key(builder_.get(), key.data(), key.size());
    if (!small_) return;
    filterblock_builder_add_key(small_builder_.get(), key.data(), key.size());
    small_ = filterblock_builder_num_added(builder_.get()) < kMaxSmall;
  }

#if FILTERBLOCK_ROCKSDB_VERSION >= 9006
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    AddKey(key);
    if (has_alt_ && alt == Slice(last_alt_)) return;
    AddKey(alt);
    has_alt_ = true;
    last_alt_.assign(alt.data(), alt.size());
  }
#endif

  size_t EstimateEntriesAdded() override {
    const uint64_t num_added = filterblock_builder_num_added(builder_.get());
    return static_cast<size_t>(std::max<uint64_t>(num_added, added_ ? 1 : 0));
  }

  Slice Finish(std::unique_ptr<const char[]>* buf) override { return Finish(buf, nullptr); }

  Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) override {
    const filterblock_allocator allocator = {sizeof allocator, nullptr, Allocate, GiveBack};
    void* memory = nullptr;
    size_t len = 0;
    filterblock_error error;
    filterblock_builder* builder = IsBetterSmall() ? small_builder_.get() : builder_.get();
    const filterblock_status finished =
        filterblock_builder_finish_with(builder, &allocator, &memory, &len, nullptr, &error);
    filterblock_builder_clear(builder_.get());
    filterblock_builder_clear(small_builder_.get());
    small_ = of_small_ != nullptr;
    added_ = false;
    has_alt_ = false;
    if (status != nullptr) *status = Status::OK();
    if (finished != FILTERBLOCK_STATUS_OK) {
      events_->CountFailure(kUnfinished, "a table or partition has no filter", error.message);
      if (finished == FILTERBLOCK_STATUS_SELF_CHECK && report_corruption_ && status != nullptr) {
        *status = Status::Corruption(error.message);
      }
      buf->reset();
      return Slice(kNotBuilt, sizeof kNotBuilt);
    }
    events_->Count(kBuilt);
    char* filter = static_cast<char*>(memory);
    std::memcpy(filter + len, kMark, sizeof kMark);
    filter[len + sizeof kMark] = checksum_;
    buf->reset(filter);
    return Slice(filter, len + kTrailerLen);
  }

  // The library has queried the block for every key. What has become of it since shows in its digest.
  Status MaybePostVerify(const Slice& filter) override {
    if (!report_corruption_ || WriterOf(filter) == Writer::kNotBuilt) return Status::OK();
    alignas(FILTERBLOCK_READER_ALIGN) unsigned char storage[FILTERBLOCK_READER_SIZE];
    filterblock_reader* reader = nullptr;
    filterblock_error error;
    const size_t len = filter.size() - std::min(filter.size(), kTrailerLen);
    // Nothing is expected of a block that was built a moment ago but its own checksums.
    const filterblock_status opened =
        filterblock_reader_init(storage, sizeof storage, filter.data(), len, nullptr, nullptr, &reader, &error);
    return opened == FILTERBLOCK_STATUS_OK ? Status::OK() : Status::Corruption(error.message);
  }

  // RocksDB keeps the result for a partition in 32 bits.
  size_t ApproximateNumEntries(size_t bytes) override {
    const size_t len = bytes - std::min(bytes, kTrailerLen);
    const uint64_t num_entries = filterblock_policy_num_entries(policy_.get(), len);
    return static_cast<size_t>(std::min<uint64_t>(num_entries, std::numeric_limits<uint32_t>::max()));
  }

#if FILTERBLOCK_ROCKSDB_VERSION >= 10009
  size_t CalculateSpace(size_t num_entries) override {
    return static_cast<size_t>(Predict(policy_, num_entries).block_len) + kTrailerLen;
  }

  double EstimatedFpRate(size_t num_entries, size_t /*bytes*/) override {
    return Predict(policy_, num_entries).false_positive_rate;
  }
#endif

 private:
  // Beyond these no kind has lost more than a few per cent.
  static constexpr uint64_t kMaxSmall = 512;

  // Of a filter that cannot be built, that it is empty and matches everything.
  static filterblock_prediction Predict(const PolicyPtr& policy, uint64_t num_entries) {
    filterblock_prediction prediction{};
    prediction.size = sizeof prediction;
    prediction.false_positive_rate = 1;
    filterblock_policy_predict(policy.get(), num_entries, &prediction, nullptr);
    return prediction;
  }

  // Whether the kind for small filters at least halves the false positives: a ribbon filter of 24 keys has no room for
  // more than one column.
  bool IsBetterSmall() const {
    const uint64_t num_entries = filterblock_builder_num_added(builder_.get());
    return small_ && num_entries > 0 &&
           2 * Predict(of_small_, num_entries).false_positive_rate < Predict(policy_, num_entries).false_positive_rate;
  }

  static void* Allocate(void* /*context*/, size_t len) {
    return len > std::numeric_limits<size_t>::max() - kTrailerLen ? nullptr
                                                                  : new (std::nothrow) char[len + kTrailerLen];
  }

  static void GiveBack(void* /*context*/, void* memory, size_t /*len*/) { delete[] static_cast<char*>(memory); }

  const PolicyPtr policy_, of_small_;
  const BuilderPtr builder_, small_builder_;
  bool small_;
  const char checksum_;
  const bool report_corruption_;
  bool added_ = false;
  [[maybe_unused]] bool has_alt_ = false;
  std::string last_alt_, normal_;
  const NormalForm normal_form_;
  const std::shared_ptr<Events> events_;
};

// One allocation: where files are mapped into memory, RocksDB makes the reader of a partition for each lookup.
class Reader final : public rocks::FilterBitsReader {
 public:
  // No policy is expected: a reader is given keys, not hashes, and hashes them under the seed that its block states. So
  // blocks that were written before a change of the policy's seed stay in use.
  filterblock_status Open(const Slice& block, bool trusted, filterblock_error* error) {
    filterblock_open_options options = FILTERBLOCK_OPEN_OPTIONS_INIT;
    options.flags = trusted ? FILTERBLOCK_OPEN_TRUSTED : 0;
    return filterblock_reader_init(storage_, sizeof storage_, block.data(), block.size(), &options, nullptr, &reader_,
                                   error);
  }

  bool MayMatch(const Slice& entry) override {
    return filterblock_reader_may_contain(reader_, entry.data(), entry.size());
  }

  void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
    constexpr int kBatch = 32;  // as many as RocksDB passes
    std::array<const void*, kBatch> data;
    std::array<size_t, kBatch> lens;
    for (int done = 0; done < num_keys; done += kBatch) {
      const int batch = std::min(num_keys - done, kBatch);
      for (int i = 0; i < batch; ++i) {
        data[i] = keys[done + i]->data();
        lens[i] = keys[done + i]->size();
      }
      filterblock_reader_may_contain_keys(reader_, data.data(), lens.data(), static_cast<size_t>(batch),
                                          may_match + done);
    }
  }

 private:
  filterblock_reader* reader_ = nullptr;
  // Of any alignment, as an aligned allocation is slower.
  unsigned char storage_[FILTERBLOCK_READER_SIZE + FILTERBLOCK_READER_ALIGN - 1];
};

// Of a filter that cannot answer.
class MatchingReader final : public rocks::FilterBitsReader {
 public:
  using rocks::FilterBitsReader::MayMatch;
  bool MayMatch(const Slice& /*entry*/) override { return true; }
};

// Asks another reader for the normal forms of keys.
class NormalReader final : public rocks::FilterBitsReader {
 public:
  NormalReader(NormalForm form, rocks::FilterBitsReader* reader) : form_(std::move(form)), reader_(reader) {}

  using rocks::FilterBitsReader::MayMatch;
  bool MayMatch(const Slice& entry) override {
    std::string normal;
    form_(entry, &normal);
    return reader_->MayMatch(normal);
  }

 private:
  const NormalForm form_;
  const std::unique_ptr<rocks::FilterBitsReader> reader_;
};

Event EventOf(filterblock_status status) {
  if (status == FILTERBLOCK_STATUS_NEWER) return kNewer;
  return status == FILTERBLOCK_STATUS_MISMATCH ? kMismatch : kDamaged;
}

// The prefix up to the last of `levels` delimiters.
class DelimitedPrefix final : public rocks::SliceTransform {
 public:
  DelimitedPrefix(char delimiter, unsigned levels)
      : delimiter_(delimiter), levels_(levels),
        name_("filterblock.delimited." + std::to_string(static_cast<unsigned char>(delimiter)) + "." +
              std::to_string(levels)) {}

  const char* Name() const override { return name_.c_str(); }
  Slice Transform(const Slice& key) const override { return Slice(key.data(), End(key)); }
  bool InDomain(const Slice& key) const override { return End(key) != 0; }
  bool SameResultWhenAppended(const Slice& prefix) const override { return InDomain(prefix); }

 private:
  size_t End(const Slice& key) const {
    unsigned found = 0;
    for (size_t i = 0; i < key.size(); ++i) {
      if (key[i] == delimiter_ && ++found == levels_) return i + 1;
    }
    return 0;
  }

  const char delimiter_;
  const unsigned levels_;
  const std::string name_;
};

// The policy of a text, and the text as the library writes it.
Status PolicyOf(const std::string& text, PolicyPtr* policy, std::string* written) {
  filterblock_policy* made = nullptr;
  filterblock_error error;
  if (filterblock_policy_from_text(text.c_str(), &made, &error) != FILTERBLOCK_STATUS_OK) {
    return Status::InvalidArgument("filterblock: " + text, error.message);
  }
  policy->reset(made, filterblock_policy_free);
  written->resize(filterblock_policy_text(made, nullptr, 0) + 1);
  filterblock_policy_text(made, &(*written)[0], written->size());
  written->pop_back();
  if (written->find(",transform=") != std::string::npos) {
    return Status::InvalidArgument("filterblock: " + text, "RocksDB extracts prefixes: the policy must not transform");
  }
  return Status::OK();
}

class Policy final : public rocks::FilterPolicy {
 public:
  static const char* kClassName() { return "filterblock"; }

  static Status Make(const RocksdbFilterOptions& options, std::unique_ptr<Policy>* policy) {
    if (filterblock_abi_version() != FILTERBLOCK_ABI_VERSION) {
      return Status::NotSupported("filterblock: the library is not the one of the header:", filterblock_version());
    }
    const std::string compiled = std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
    if (rocks::GetRocksVersionAsString(false) != compiled) {
      return Status::NotSupported("filterblock: compiled for RocksDB " + compiled + ", running with",
                                  rocks::GetRocksVersionAsString(false));
    }
    std::unique_ptr<Policy> made(new Policy(options));
    std::string upper, bottommost;
    Status status = PolicyOf(options.upper, &made->upper_, &upper);
    if (status.ok()) status = PolicyOf(options.bottommost, &made->bottommost_, &bottommost);
    if (!status.ok()) return status;
    made->id_ = std::string(kClassName()) + ":" + upper + "/" + bottommost + (options.trusted ? "/trusted" : "");
    const std::string& name = options.normal_form_name;
    const auto is_other = [](unsigned char c) { return c != '.' && std::isalnum(c) == 0; };
    if (name.empty() != (options.normal_form == nullptr) || name.empty() != options.normal_form_of.empty() ||
        std::any_of(name.begin(), name.end(), is_other)) {
      return Status::InvalidArgument("filterblock: a normal form needs a comparator, and a name in [a-zA-Z0-9.]", name);
    }
    if (!name.empty()) {
      made->id_ += "/normal:" + name;
      made->compatibility_name_ = "filterblock.normal." + name;
    }
    // In RocksDB's options a text with = is a list of them.
    std::replace(made->id_.begin(), made->id_.end(), '=', ':');
    *policy = std::move(made);
    return status;
  }

  const char* Name() const override { return kClassName(); }

  const char* CompatibilityName() const override { return compatibility_name_.c_str(); }

  std::string GetId() const override { return id_; }

  // DB::Open asks, and fails. RocksDB's two comparators with timestamps, which no filter is given, do not state it.
  Status ValidateOptions(const rocks::DBOptions& db, const rocks::ColumnFamilyOptions& family) const override {
    const std::string name = family.comparator->Name();
    const auto* table = family.table_factory->GetOptions<rocks::BlockBasedTableOptions>();
    const bool hashed = family.memtable_prefix_bloom_size_ratio > 0 ||
                        Slice(family.memtable_factory->Name()).starts_with("Hash") ||
                        (table != nullptr && table->index_type == rocks::BlockBasedTableOptions::kHashSearch);
    const bool has_form = normal_form_ != nullptr && name == normal_form_of_;
    if (!family.comparator->CanKeysWithDifferentByteContentsBeEqual() || name == distinct_keys_of_ ||
        name == "leveldb.BytewiseComparator.u64ts" || name == "rocksdb.ReverseBytewiseComparator.u64ts" ||
        (has_form && !hashed)) {
      return FilterPolicy::ValidateOptions(db, family);
    }
    const char* by = hashed ? "RocksDB's memtables or index" : "filters without its normal_form or distinct_keys_of";
    return Status::InvalidArgument(std::string("filterblock: keys that it holds to be equal are denied by ") + by, name);
  }

  rocks::FilterBitsBuilder* GetBuilderWithContext(const rocks::FilterBuildingContext& context) const override {
    events_->LogPending(context.info_log);
    const int level = context.level_at_creation;
    PolicyPtr policy = AtLevel(context.is_bottommost ? bottommost_ : upper_, level);
    PolicyPtr of_small = context.is_bottommost ? AtLevel(upper_, level) : nullptr;
    return new Builder(std::move(policy), std::move(of_small), context.table_options, normal_form_, events_);
  }

  rocks::FilterBitsReader* GetFilterBitsReader(const Slice& filter) const override {
    rocks::FilterBitsReader* const reader = ReaderOf(filter);
    return normal_form_ == nullptr ? reader : new NormalReader(normal_form_, reader);
  }

  rocks::FilterBitsReader* ReaderOf(const Slice& filter) const {
    switch (WriterOf(filter)) {
      case Writer::kRocksdb:
        return rocksdbs_->GetFilterBitsReader(filter);
      case Writer::kNotBuilt:
        events_->CountFailure(kNotBuiltEvent, "a table or partition has no filter", "none could be built");
        return new MatchingReader();
      case Writer::kUnknown:
        events_->CountFailure(kDamaged, "a filter is not used", "its bytes are no filter's");
        return new MatchingReader();
      case Writer::kLibrary:
        break;
    }
    const Slice block(filter.data(), filter.size() - std::min(filter.size(), kTrailerLen));
    const bool verified = filter.ends_with(std::string(kMark, sizeof kMark) + kWithChecksum);
    std::unique_ptr<Reader> reader(new Reader());
    filterblock_error error;
    const filterblock_status status = reader->Open(block, trusted_ && verified, &error);
    if (status == FILTERBLOCK_STATUS_OK) {
      events_->Note(kOpened);
      return reader.release();
    }
    events_->CountFailure(EventOf(status), "a filter is not used", error.message);
    return new MatchingReader();
  }

  void Read(RocksdbFilterCounts* counts) const {
    counts->damaged = events_->Read(kDamaged);
    counts->newer = events_->Read(kNewer);
    counts->mismatch = events_->Read(kMismatch);
    counts->not_built = events_->Read(kNotBuiltEvent);
    counts->built = events_->Read(kBuilt);
    counts->unfinished = events_->Read(kUnfinished);
  }

  filterblock_counters_snapshot Snapshot(const rocks::Statistics& statistics) const {
    const auto count = [&](rocks::Tickers ticker) { return statistics.getTickerCount(ticker); };
    filterblock_counters_snapshot read{};
    read.size = sizeof read;
    read.opened = events_->Read(kOpened);
    read.damaged = events_->Read(kDamaged);
    read.newer = events_->Read(kNewer);
    read.mismatch = events_->Read(kMismatch);
    read.failed = events_->Read(kNotBuiltEvent);
    read.built = events_->Read(kBuilt);
    read.unfinished = events_->Read(kUnfinished);
    read.queries = count(rocks::BLOOM_FILTER_USEFUL) + count(rocks::BLOOM_FILTER_FULL_POSITIVE) +
                   count(rocks::BLOOM_FILTER_PREFIX_CHECKED);
    read.denied = count(rocks::BLOOM_FILTER_USEFUL) + count(rocks::BLOOM_FILTER_PREFIX_USEFUL);
#if FILTERBLOCK_ROCKSDB_VERSION >= 9000
    // Iterators have tickers of their own.
    const uint64_t filtered = count(rocks::LAST_LEVEL_SEEK_FILTERED) + count(rocks::NON_LAST_LEVEL_SEEK_FILTERED);
    read.queries += filtered + count(rocks::LAST_LEVEL_SEEK_FILTER_MATCH) +
                    count(rocks::NON_LAST_LEVEL_SEEK_FILTER_MATCH);
    read.denied += filtered;
#endif
    return read;
  }

 private:
  // For tables of a level, -1 if it is unknown.
  static PolicyPtr AtLevel(const PolicyPtr& policy, int level) {
    if (level < 0) return policy;
    const uint8_t known = static_cast<uint8_t>(std::min(level, 255));
    return PolicyPtr(filterblock_policy_at_level(policy.get(), known), filterblock_policy_free);
  }

  explicit Policy(const RocksdbFilterOptions& options)
      : trusted_(options.trusted),
        distinct_keys_of_(options.distinct_keys_of),
        normal_form_of_(options.normal_form_of),
        normal_form_(options.normal_form),
        events_(std::make_shared<Events>(options.log)),
        rocksdbs_(rocks::NewBloomFilterPolicy(10)),
        compatibility_name_(rocksdbs_->CompatibilityName()) {}

  PolicyPtr upper_;
  PolicyPtr bottommost_;
  std::string id_;
  const bool trusted_;
  const std::string distinct_keys_of_, normal_form_of_;
  const NormalForm normal_form_;
  const std::shared_ptr<Events> events_;
  // Reads all of RocksDB's filters.
  const std::unique_ptr<const rocks::FilterPolicy> rocksdbs_;
  std::string compatibility_name_;
};

// The text of a policy in whose settings = is written as :, except after the kind.
std::string PolicyTextOf(std::string text) {
  const auto kind = std::find(text.begin(), text.end(), ':');
  if (kind != text.end()) std::replace(kind + 1, text.end(), ':', '=');
  return text;
}

// The options of "filterblock", or "filterblock:UPPER/BOTTOMMOST" with "/trusted" or without.
Status OptionsOf(const std::string& id, RocksdbFilterOptions* options) {
  const std::string name = Policy::kClassName();
  if (id == name) return Status::OK();
  const size_t upper = name.size() + 1, slash = id.find('/', upper);
  if (slash == std::string::npos) return Status::InvalidArgument("no filterblock:UPPER/BOTTOMMOST", id);
  const size_t second = id.find('/', slash + 1);
  options->trusted = second != std::string::npos;
  if (options->trusted && id.substr(second) != "/trusted") return Status::InvalidArgument("not /trusted", id);
  options->upper = PolicyTextOf(id.substr(upper, slash - upper));
  options->bottommost = PolicyTextOf(id.substr(slash + 1, second == std::string::npos ? second : second - slash - 1));
  return Status::OK();
}

}  // namespace

Status NewRocksdbFilterPolicy(const RocksdbFilterOptions& options,
                              std::shared_ptr<const rocks::FilterPolicy>* policy) {
  RegisterRocksdbFilterPolicy();
  std::unique_ptr<Policy> made;
  Status status = Policy::Make(options, &made);
  if (status.ok()) policy->reset(made.release());
  return status;
}

std::shared_ptr<const rocks::SliceTransform> NewDelimitedPrefixTransform(char delimiter, unsigned levels) {
  return std::make_shared<DelimitedPrefix>(delimiter, levels);
}

void RegisterRocksdbFilterPolicy() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    rocks::ObjectLibrary::Default()->AddFactory<const rocks::FilterPolicy>(
        rocks::ObjectLibrary::PatternEntry(Policy::kClassName()).AddSeparator(":"),
        [](const std::string& id, std::unique_ptr<const rocks::FilterPolicy>* guard, std::string* message) {
          RocksdbFilterOptions options;
          std::unique_ptr<Policy> made;
          Status status = OptionsOf(id, &options);
          if (status.ok()) status = Policy::Make(options, &made);
          if (!status.ok()) *message = status.ToString();
          *guard = std::move(made);
          return guard->get();
        });
  });
}

bool ReadRocksdbFilterCounts(const rocks::FilterPolicy& policy, RocksdbFilterCounts* counts) {
  const Policy* ours = policy.CheckedCast<Policy>();
  if (ours != nullptr) ours->Read(counts);
  return ours != nullptr;
}

std::string RocksdbFilterVerdict(const rocks::FilterPolicy& policy, const rocks::Statistics& statistics,
                                 bool* is_fine) {
  const Policy* ours = policy.CheckedCast<Policy>();
  char text[FILTERBLOCK_VERDICT_SIZE] = "";
  uint32_t findings = 0;
  bool judged = false;
  if (ours != nullptr) {
    const filterblock_counters_snapshot read = ours->Snapshot(statistics);
    judged = filterblock_verdict(&read, &findings, text, sizeof text) == FILTERBLOCK_STATUS_OK;
  }
  if (is_fine != nullptr) *is_fine = judged && findings == 0;
  return text;
}

}  // namespace filterblock
