// filterblock's range filters in RocksDB: iterators leave out the tables that have nothing in their range.
//
//   rocksdb::Options options;
//   std::shared_ptr<filterblock::RocksdbRangeFilters> ranges;
//   rocksdb::Status status = filterblock::RocksdbRangeFilters::New("range:14", &ranges);
//   options.table_properties_collector_factories.push_back(ranges);
//   …
//   filterblock::RocksdbScan scan(ranges, "user0500", "user0600");
//   std::unique_ptr<rocksdb::Iterator> rows(db->NewIterator(scan.Read()));
//
// RocksDB has no range filters of its own. A collector of table properties is given each key of a table, and stores the
// filter among the table's properties, which are in memory while the table is open; ReadOptions::table_filter is asked
// for each table as an iterator is made.

#ifndef FILTERBLOCK_ROCKSDB_RANGES_H
#define FILTERBLOCK_ROCKSDB_RANGES_H

#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table_properties.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

struct filterblock_counters;

namespace filterblock {

// Makes range filters for the tables of a column family. The name of the property is "filterblock.range".
class RocksdbRangeFilters final : public ROCKSDB_NAMESPACE::TablePropertiesCollectorFactory {
 public:
  // `policy` is that of a range filter: "range:14". InvalidArgument for any other text, NotSupported for a RocksDB of
  // another version than the headers. While a table is written its keys are kept in memory.
  //
  // A filter's digest is not verified for each iterator, as RocksDB verifies its checksum of the properties when it
  // opens a table. Tables without checksums (kNoChecksum) need `verify`, which takes time in proportion to the filter.
  static ROCKSDB_NAMESPACE::Status New(const std::string& policy, std::shared_ptr<RocksdbRangeFilters>* filters,
                                       bool verify = false);

  ROCKSDB_NAMESPACE::TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override;
  const char* Name() const override { return "filterblock.range"; }

  // Events of collectors and iterators, of all threads so far.
  struct Counts {
    uint64_t built = 0;       // Filters.
    uint64_t unfinished = 0;  // Filters that could not be built: their tables have none.
    uint64_t asked = 0;       // Tables with a filter, for an iterator.
    uint64_t skipped = 0;     // Of these, tables that the iterator leaves out.
    uint64_t unusable = 0;    // Of these, tables whose filter could not be opened: they are read.
  };
  Counts counts() const;

  // Whether the filters are in use and leave tables out, in words: a line for each thing that makes them useless, as no
  // scan that asks them (an iterator without a RocksdbScan) or tables of which none is left out, and one for what they have
  // saved. `*is_fine`, unless null, is whether there is no such thing.
  std::string Verdict(bool* is_fine = nullptr) const;

 private:
  friend class RocksdbScan;
  RocksdbRangeFilters(std::string policy, bool verify);

  const std::string policy_;
  const bool verify_;
  const std::shared_ptr<filterblock_counters> counters_;
};

// The end of the keys that begin with `prefix`: the least string above all of them, to be the upper bound of a scan. Empty,
// which is no bound, if there is none, as of "\xff".
std::string EndOfPrefix(const ROCKSDB_NAMESPACE::Slice& prefix);

// A scan from `lower`, included, to `upper`, excluded; empty strings are no bounds. Keep it as long as its iterators.
// The bounds of a descending scan are the same: `lower` is the lesser one. Where it is not, no table is left out, and RocksDB
// finds nothing. Bounds and table_filter of `options` are replaced, and it has total_order_seek unless it has auto_prefix_mode
// or prefix_same_as_start: with a prefix extractor, RocksDB's other seeks lose rows of other prefixes than the bound's.
//
// An iterator of Read() cannot leave the range: outside of it, rows of the tables that were left out would be missing.
// So do not change bounds or table_filter of what Read() returns; to scan elsewhere, make another scan. Nor is it for
// DB::NewMultiScan(), which replaces the bounds, keeps table_filter, and would lose rows: make one scan for each range.
//
// Since 11.2 RocksDB refuses such an iterator, with InvalidArgument, in a column family whose
// min_tombstones_for_range_conversion is not 0.
class RocksdbScan {
 public:
  RocksdbScan(const std::shared_ptr<const RocksdbRangeFilters>& filters, const ROCKSDB_NAMESPACE::Slice& lower,
              const ROCKSDB_NAMESPACE::Slice& upper,
              const ROCKSDB_NAMESPACE::ReadOptions& options = ROCKSDB_NAMESPACE::ReadOptions());
  RocksdbScan(const RocksdbScan&) = delete;

  const ROCKSDB_NAMESPACE::ReadOptions& Read() const { return options_; }

 private:
  const std::shared_ptr<const std::string> lower_, upper_;
  const ROCKSDB_NAMESPACE::Slice lower_slice_, upper_slice_;
  std::function<bool(const ROCKSDB_NAMESPACE::TableProperties&)> table_filter_;
  ROCKSDB_NAMESPACE::ReadOptions options_;
};

}  // namespace filterblock

#endif  // FILTERBLOCK_ROCKSDB_RANGES_H
