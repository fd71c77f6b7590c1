// `rocksdb absent|present kept|anew|batch`: as src/main.rs, of the bytes and the code of RocksDB's FastLocalBloom of 10 bits
// per key. The code is that of FastLocalBloomBitsReader from the hash on: for a reader that is kept, inlined; for one that
// is found anew, behind the virtual function that RocksDB calls.
#include <cstdio>
#include <string>
#include <vector>

#include "util/bloom_impl.h"

using ROCKSDB_NAMESPACE::FastLocalBloomImpl;
using ROCKSDB_NAMESPACE::Lower32of64;
using ROCKSDB_NAMESPACE::Upper32of64;

namespace {
constexpr uint64_t kNumKeys = 1000, kNumQueries = 200;
constexpr int kMaxBatch = 32;

// SplitMix64.
uint64_t hash_of(uint64_t key) {
  uint64_t z = (key + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
}  // namespace

// As FilterBitsReader, which RocksDB calls.
struct Reader {
  virtual ~Reader() = default;
  virtual bool may_match(uint64_t hash) const = 0;
};

struct Filter final : Reader {
  Filter(const char* data, int num_probes, uint32_t len) : data(data), num_probes(num_probes), len(len) {}
  bool may_match(uint64_t hash) const override {
    uint32_t offset;
    FastLocalBloomImpl::PrepareHash(Lower32of64(hash), len, data, &offset);
    return FastLocalBloomImpl::HashMayMatchPrepared(Upper32of64(hash), num_probes, data + offset);
  }
  const char* data;
  int num_probes;
  uint32_t len;
};

extern "C" __attribute__((noinline)) size_t modelled_kept(const Filter& filter, const uint64_t* hashes, size_t n) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) found += filter.may_match(hashes[i]);
  return found;
}

extern "C" __attribute__((noinline)) size_t modelled_anew(const Reader* const* readers, const uint64_t* hashes,
                                                         size_t n) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) found += readers[i]->may_match(hashes[i]);
  return found;
}

extern "C" __attribute__((noinline)) void modelled_batch(const Filter& filter, const uint64_t* hashes, size_t n,
                                                         bool* answers) {
  uint32_t offsets[kMaxBatch];
  for (size_t start = 0; start < n; start += kMaxBatch) {
    const int len = static_cast<int>(n - start < kMaxBatch ? n - start : kMaxBatch);
    for (int i = 0; i < len; i++) {
      FastLocalBloomImpl::PrepareHash(Lower32of64(hashes[start + i]), filter.len, filter.data, &offsets[i]);
    }
    for (int i = 0; i < len; i++) {
      answers[start + i] = FastLocalBloomImpl::HashMayMatchPrepared(Upper32of64(hashes[start + i]), filter.num_probes,
                                                                    filter.data + offsets[i]);
    }
  }
}

int main(int, char** arguments) {
  std::vector<char> lines((kNumKeys * 10 + 511) / 512 * 64);
  const Filter filter(lines.data(), FastLocalBloomImpl::ChooseNumProbes(10000), static_cast<uint32_t>(lines.size()));
  for (uint64_t key = 0; key < kNumKeys; key++) {
    const uint64_t hash = hash_of(key);
    FastLocalBloomImpl::AddHash(Lower32of64(hash), Upper32of64(hash), filter.len, filter.num_probes, lines.data());
  }
  std::vector<uint64_t> hashes(kNumQueries);
  const uint64_t first = std::string(arguments[1]) == "absent" ? kNumKeys : 0;
  for (uint64_t i = 0; i < kNumQueries; i++) hashes[i] = hash_of(first + i);
  const std::vector<const Reader*> readers(kNumQueries, &filter);
  const std::string calls = arguments[2];
  bool answers[kNumQueries];
  if (calls == "kept") {
    std::printf("%zu\n", modelled_kept(filter, hashes.data(), hashes.size()));
  } else if (calls == "anew") {
    std::printf("%zu\n", modelled_anew(readers.data(), hashes.data(), hashes.size()));
  } else {
    modelled_batch(filter, hashes.data(), hashes.size(), answers);
  }
}
