// A database with filterblock's filters: blocked in the upper levels, ribbon in the bottommost one.

#include "filterblock_rocksdb.h"

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

static void Require(const rocksdb::Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "%s\n", status.ToString().c_str());
  exit(1);
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "/tmp/filterblock-rocksdb-example";
  filterblock::RocksdbFilterOptions filters;
  filters.bottommost = "ribbon:fpr=0.1%";
  rocksdb::BlockBasedTableOptions table;
  Require(filterblock::NewRocksdbFilterPolicy(filters, &table.filter_policy));

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.statistics = rocksdb::CreateDBStatistics();
  options.error_if_exists = true;  // It is destroyed at the end.
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<rocksdb::DB> db;
  Require(rocksdb::DB::Open(options, path, &db));
#else
  rocksdb::DB* opened = nullptr;
  Require(rocksdb::DB::Open(options, path, &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
#endif

  for (int i = 0; i < 100000; i++) {
    Require(db->Put(rocksdb::WriteOptions(), "user" + std::to_string(2 * i), "value"));
  }
  Require(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));

  int found = 0;
  std::string value;
  for (int i = 0; i < 200000; i++) {
    found += db->Get(rocksdb::ReadOptions(), "user" + std::to_string(i), &value).ok();
  }
  printf("found %d of 200000 keys\n", found);
  bool is_fine = false;
  const std::string verdict = filterblock::RocksdbFilterVerdict(*table.filter_policy, *options.statistics, &is_fine);
  printf("%s: %s\n", is_fine ? "fine" : "not fine", verdict.c_str());
  db.reset();
  rocksdb::DestroyDB(path, options);
  return found == 100000 && is_fine ? 0 : 1;
}
