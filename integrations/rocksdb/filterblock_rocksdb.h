// filterblock's filters in RocksDB, 7.0 or newer: a FilterPolicy for block-based tables.
//
//   filterblock::RocksdbFilterOptions filters;
//   rocksdb::BlockBasedTableOptions table;
//   rocksdb::Status status = filterblock::NewRocksdbFilterPolicy(filters, &table.filter_policy);
//
// What is broken is *may match*, counted, and logged once: no damage changes an answer.

#ifndef FILTERBLOCK_ROCKSDB_H
#define FILTERBLOCK_ROCKSDB_H

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace filterblock {

// The filters of a column family. Those of the upper levels are built and queried often, and soon replaced; those of
// the bottommost level have most of the keys.
struct RocksdbFilterOptions {
  // Policy of tables that are flushed, written outside a database, or compacted into upper levels: "blocked:10",
  // "blocked:fpr=1%", "auto:10", "blocked:10,seed=7". RocksDB extracts prefixes, so a transform is refused.
  std::string upper = "blocked:10";

  // Policy of tables that are compacted into the bottommost level; filters of at most 512 keys have the upper policy
  // where that halves their false positives. "ribbon:10" has the size of a Bloom filter of 10
  // bits a key, and a tenth of its false positives; "ribbon:fpr=0.95%" has its false positives, and 70 % of its size.
  std::string bottommost = "ribbon:10";

  // Leaves the payload's digest out where RocksDB has a checksum of the block, so that opening takes constant time:
  // for partitioned filters in memory-mapped files, whose readers are made for each lookup. Reads that do not verify
  // RocksDB's checksums (ReadOptions::verify_checksums) are unprotected then, as with its own filters.
  bool trusted = false;

  // For a comparator that holds keys of different bytes to be equal, as one of names without case: writes to `normal`,
  // which is empty, bytes that equal keys have in common, as the name in lower case. Filters are built and asked with these,
  // also with those of the extracted prefixes, and are found only under the same name of the form: neither another policy
  // uses them, nor does this one use another's. So a changed form needs another name; under the same one, stored keys are
  // denied. Any thread calls it. No part of an options file: RocksDB leaves a policy that has one out.
  //
  // It helps tables' filters alone. Under such a comparator, memtable_prefix_bloom_size_ratio, kHashSearch and memtables
  // of hashes deny stored keys, as RocksDB hashes the keys' bytes there: leave them off. A prefix extractor is given keys as
  // they are: equal ones must be in its domain together, and their prefixes must have one normal form.
  std::function<void(const ROCKSDB_NAMESPACE::Slice& key, std::string* normal)> normal_form;

  // Letters, digits and '.'; empty if and only if there is no form.
  std::string normal_form_name;

  // The name of the comparator that the form is for, whose equal keys have one form: DB::Open fails with another one that
  // may hold keys of different bytes to be equal. Empty if and only if there is no form.
  std::string normal_form_of;

  // The name of a comparator that holds no keys of different bytes to be equal, though it does not say so: RocksDB's
  // CanKeysWithDifferentByteContentsBeEqual is true unless a comparator overrides it. (RocksDB's own with timestamps need no
  // statement.) Where it is true, of a comparator of another name, DB::Open is InvalidArgument without a normal form, and
  // where RocksDB itself hashes keys' bytes, as stored keys would be denied. If the statement is wrong, they are.
  // CreateColumnFamily, SetOptions, and opening without writing, do not ask, nor does DB::Open where NewAdaptiveTableFactory
  // holds the table factory: ask ValidateOptions of the policy. No part of an options file, after which a policy has neither
  // form nor statement: set it anew.
  std::string distinct_keys_of;

  // Where to log filters that cannot be used. Without it they are logged when the next table is written, to its log.
  // No part of an options file.
  std::shared_ptr<ROCKSDB_NAMESPACE::Logger> log;
};

// The policy; also registers it by RegisterRocksdbFilterPolicy. InvalidArgument for a text that is no policy.
ROCKSDB_NAMESPACE::Status NewRocksdbFilterPolicy(const RocksdbFilterOptions& options,
                                                 std::shared_ptr<const ROCKSDB_NAMESPACE::FilterPolicy>* policy);

// Registers the policy with ObjectLibrary::Default(), so that an options file can be read that names it:
// "filterblock:blocked:10/ribbon:fpr:0.01", "filterblock:blocked:10/ribbon:10/trusted", or "filterblock" for the
// default. There : takes the place of =, which has a meaning of its own in RocksDB's options.
void RegisterRocksdbFilterPolicy();

// A prefix extractor (Options::prefix_extractor) of the bytes up to and including delimiter number `levels`, from 1
// on, as the library's transform "delimited:BYTE:LEVELS" has them at that level: RocksDB has one prefix for each key.
// Keys and seeks with fewer delimiters are out of its domain: no filter is asked. With any extractor, an iterator
// whose range may leave the prefix of its seek needs ReadOptions::total_order_seek, or RocksDB leaves out tables that
// have rows of it. (kHashSearch and memtables of hashes do not ask for the domain: there seek within it, or with
// total_order_seek.) A change of either is a change of its name, and RocksDB then uses no prefix of older tables. An
// options file that names it is read without it, and without an error: set it anew in the program.
std::shared_ptr<const ROCKSDB_NAMESPACE::SliceTransform> NewDelimitedPrefixTransform(char delimiter, unsigned levels);

// What a policy could not open and has built. A reader that is made for each lookup is counted each time.
struct RocksdbFilterCounts {
  uint64_t damaged = 0;     // Not opened, as the bytes are damaged, or no filter's.
  uint64_t newer = 0;       // Not opened, as a newer library wrote them.
  uint64_t mismatch = 0;    // Not opened, as their keys are hashed under a secret key.
  uint64_t not_built = 0;   // Not opened, as the filter could not be built when its table was written.
  uint64_t built = 0;       // Built.
  uint64_t unfinished = 0;  // Could not be built: the tables or partitions have none.
};

// False if the policy is another one.
bool ReadRocksdbFilterCounts(const ROCKSDB_NAMESPACE::FilterPolicy& policy, RocksdbFilterCounts* counts);

// Whether a policy's filters are in use and save reads, in words: a line for each thing that makes them useless (never
// opened or queried, never denying a key, not usable, not built), and one for what they have saved. No answer of RocksDB's
// shows any of it. `*is_fine`, unless null, is whether there is no such thing. Empty, and not fine, if the policy is
// another one. Queries are RocksDB's tickers, of all column families and whole keys and prefixes alike: pass the statistics
// of the database (Options::statistics), with a level that counts tickers.
std::string RocksdbFilterVerdict(const ROCKSDB_NAMESPACE::FilterPolicy& policy,
                                 const ROCKSDB_NAMESPACE::Statistics& statistics, bool* is_fine = nullptr);

}  // namespace filterblock

#endif  // FILTERBLOCK_ROCKSDB_H
