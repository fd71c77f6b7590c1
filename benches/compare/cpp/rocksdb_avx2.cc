// RocksDB's own query code (util/bloom_impl.h of the source tree that ROCKSDB_SRC names), compiled for this machine:
// with the AVX2 path that a distribution's portable package lacks. It reads the bytes that the shared library built.
// Calls have the same form as RocksDB's: a virtual MayMatch, and a hash function that is not inlined.
#include "util/bloom_impl.h"

#define XXPH_INLINE_ALL
#include "util/xxph3.h"

#include <memory>

#include "engine.h"

#ifndef __AVX2__
#error "this machine has no AVX2: leave ROCKSDB_SRC unset"
#endif

namespace {
using ROCKSDB_NAMESPACE::FastLocalBloomImpl;
using ROCKSDB_NAMESPACE::Slice;

__attribute__((noinline)) uint64_t hash64(const char* data, size_t len) { return XXPH3_64bits(data, len); }

struct Reader {
  virtual ~Reader() = default;
  virtual bool MayMatch(const Slice& key) const = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) const = 0;
};

class FlbReader : public Reader {
 public:
  FlbReader(std::string_view lines, int num_probes)
      : data_(lines.data()), len_(static_cast<uint32_t>(lines.size())), num_probes_(num_probes) {}

  bool MayMatch(const Slice& key) const override {
    uint32_t offset;
    const uint32_t upper = Prepare(key, &offset);
    return FastLocalBloomImpl::HashMayMatchPrepared(upper, num_probes_, data_ + offset);
  }
  void MayMatch(int num_keys, Slice** keys, bool* may_match) const override {
    uint32_t uppers[32], offsets[32];
    for (int i = 0; i < num_keys; i++) uppers[i] = Prepare(*keys[i], &offsets[i]);
    for (int i = 0; i < num_keys; i++) {
      may_match[i] = FastLocalBloomImpl::HashMayMatchPrepared(uppers[i], num_probes_, data_ + offsets[i]);
    }
  }

 private:
  uint32_t Prepare(const Slice& key, uint32_t* offset) const {
    const uint64_t hash = hash64(key.data(), key.size());
    FastLocalBloomImpl::PrepareHash(static_cast<uint32_t>(hash), len_, data_, offset);
    return static_cast<uint32_t>(hash >> 32);
  }

  const char* data_;
  uint32_t len_;
  int num_probes_;
};

// The lines are followed by five bytes: 0xff (a filter of the newer form), 0 (FastLocalBloom), line size and number of
// probes, and two zeros.
std::unique_ptr<Reader> open(std::string_view content) {
  constexpr size_t kTrailerLen = 5;
  if (content.size() <= kTrailerLen) return nullptr;
  const std::string_view trailer = content.substr(content.size() - kTrailerLen);
  if (trailer[0] != '\xff' || trailer[1] != 0) return nullptr;
  content.remove_suffix(kTrailerLen);
  std::unique_ptr<Reader> reader = std::make_unique<FlbReader>(content, trailer[2] & 31);
  Reader* hidden = reader.release();
  asm volatile("" : "+r"(hidden));  // hides the type, as a policy does: the calls stay virtual
  return std::unique_ptr<Reader>(hidden);
}

class FlbAvx2 : public Engine {
 public:
  FlbAvx2(std::unique_ptr<Engine> built, std::unique_ptr<Reader> reader)
      : built_(std::move(built)), reader_(std::move(reader)) {}
  std::string_view bytes() const override { return built_->bytes(); }
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
  std::unique_ptr<Engine> built_;
  std::unique_ptr<Reader> reader_;
};
}  // namespace

extern "C" Engine* flb_avx2_build(double bits_per_key, const char* keys, size_t num_keys) {
  std::unique_ptr<Engine> built(flb_build(bits_per_key, keys, num_keys));
  std::unique_ptr<Reader> reader = built ? open(built->bytes()) : nullptr;
  return reader ? new FlbAvx2(std::move(built), std::move(reader)) : nullptr;
}
