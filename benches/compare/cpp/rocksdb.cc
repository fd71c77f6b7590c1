// RocksDB's filters as the shared library builds and reads them, and the part of the C ABI that all engines share.
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>
#include <utility>

#include "engine.h"

// Since 7.0 the public headers only name the two classes below. These declarations have the virtual functions in the
// order of the library's virtual function tables: run with 7.8.3, compared with the source of 11.8.1, whose further
// functions come last.
static_assert(7 <= ROCKSDB_MAJOR && ROCKSDB_MAJOR <= 11, "compare the virtual functions with filter_policy_internal.h");

namespace rocksdb {
class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice& key) = 0;
#if ROCKSDB_MAJOR > 9 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR >= 6)
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) = 0;
  virtual Status MaybePostVerify(const Slice& content) = 0;
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;
};
class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice& key) = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) = 0;
};
}  // namespace rocksdb

namespace {
using rocksdb::Slice;

class RocksDb : public Engine {
 public:
  explicit RocksDb(const rocksdb::FilterPolicy* policy) : policy_(policy) {}

  bool Build(const char* keys, size_t num_keys) {
    rocksdb::BlockBasedTableOptions options;
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(rocksdb::FilterBuildingContext(options)));
    if (!builder) return false;
    for (size_t i = 0; i < num_keys; i++) builder->AddKey(Slice(keys + i * kKeyLen, kKeyLen));
    rocksdb::Status status;
    content_ = builder->Finish(&buf_, &status);
    reader_.reset(policy_->GetFilterBitsReader(content_));
    return status.ok() && reader_;
  }
  std::string_view bytes() const override { return {content_.data(), content_.size()}; }
  size_t query(const char* keys, size_t num_keys, bool branching) const override {
    return query_each(keys, num_keys, branching,
                    [reader = reader_.get()](const char* key) { return reader->MayMatch(Slice(key, kKeyLen)); });
  }
  void query_batches(const char* keys, size_t num_keys, bool* answers) const override {
    query_in_batches<Slice>(keys, num_keys, answers, [reader = reader_.get()](int len, Slice** batch, bool* out) {
      reader->MayMatch(len, batch, out);
    });
  }

 private:
  std::unique_ptr<const rocksdb::FilterPolicy> policy_;
  std::unique_ptr<const char[]> buf_;
  Slice content_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

Engine* build(const rocksdb::FilterPolicy* policy, const char* keys, size_t num_keys) {
  auto engine = std::make_unique<RocksDb>(policy);
  return engine->Build(keys, num_keys) ? engine.release() : nullptr;
}
}  // namespace

extern "C" {
const char* rocksdb_version() {
  static const std::string version =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH);
  return version.c_str();
}
Engine* flb_build(double bits_per_key, const char* keys, size_t num_keys) {
  return build(rocksdb::NewBloomFilterPolicy(bits_per_key), keys, num_keys);
}
Engine* ribbon_build(double bits_per_key, const char* keys, size_t num_keys) {
  return build(rocksdb::NewRibbonFilterPolicy(bits_per_key), keys, num_keys);
}
void engine_free(Engine* engine) { delete engine; }
size_t engine_num_bytes(const Engine* engine) { return engine->bytes().size(); }
size_t engine_query(const Engine* engine, const char* keys, size_t num_keys, bool branching) {
  return engine->query(keys, num_keys, branching);
}
void engine_query_batches(const Engine* engine, const char* keys, size_t num_keys, bool* answers) {
  engine->query_batches(keys, num_keys, answers);
}
}
