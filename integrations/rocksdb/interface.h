// The classes of RocksDB's full and partitioned filters, which its public headers only name since 7.0: the virtual
// functions of table/block_based/filter_policy_internal.h, in the same order. A newer RocksDB may have others.

#ifndef FILTERBLOCK_ROCKSDB_INTERFACE_H
#define FILTERBLOCK_ROCKSDB_INTERFACE_H

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

#include <cstddef>
#include <memory>

#define FILTERBLOCK_ROCKSDB_VERSION (ROCKSDB_MAJOR * 1000 + ROCKSDB_MINOR)

#if FILTERBLOCK_ROCKSDB_VERSION < 7000
#error "RocksDB before 7.0 declares these classes itself, and differently"
#endif
#if FILTERBLOCK_ROCKSDB_VERSION > 11009 && !defined(FILTERBLOCK_ROCKSDB_INTERFACE_COMPARED)
#error "newer than RocksDB 11.9: compare filter_policy_internal.h, then define FILTERBLOCK_ROCKSDB_INTERFACE_COMPARED"
#endif

namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}

  virtual void AddKey(const Slice& key) = 0;

#if FILTERBLOCK_ROCKSDB_VERSION >= 9006
  // A key and its prefix.
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif

  // 0 if and only if nothing was added.
  virtual size_t EstimateEntriesAdded() = 0;

  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;

  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status* /*status*/) { return Finish(buf); }

  virtual Status MaybePostVerify(const Slice& /*filter*/) { return Status::OK(); }

  virtual size_t ApproximateNumEntries(size_t bytes) = 0;

#if FILTERBLOCK_ROCKSDB_VERSION >= 10009
  virtual size_t CalculateSpace(size_t num_entries) = 0;

  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
#endif
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}

  virtual bool MayMatch(const Slice& entry) = 0;

  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) {
    for (int i = 0; i < num_keys; ++i) may_match[i] = MayMatch(*keys[i]);
  }
};

}  // namespace ROCKSDB_NAMESPACE

#endif  // FILTERBLOCK_ROCKSDB_INTERFACE_H
