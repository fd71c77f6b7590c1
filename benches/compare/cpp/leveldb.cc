// LevelDB's Bloom filter. LevelDB builds one for every 2 KiB of data; here there is one for the whole table, as for the
// other peers.
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <memory>
#include <string>
#include <vector>

#include "engine.h"

namespace {
using leveldb::Slice;

class LevelDb : public Engine {
 public:
  LevelDb(int bits_per_key, const char* keys, size_t num_keys) : policy_(leveldb::NewBloomFilterPolicy(bits_per_key)) {
    std::vector<Slice> slices(num_keys);
    for (size_t i = 0; i < num_keys; i++) slices[i] = Slice(keys + i * kKeyLen, kKeyLen);
    policy_->CreateFilter(slices.data(), static_cast<int>(num_keys), &content_);
  }
  std::string_view bytes() const override { return content_; }
  size_t query(const char* keys, size_t num_keys, bool branching) const override {
    const Slice content(content_);
    return query_each(keys, num_keys, branching, [policy = policy_.get(), content](const char* key) {
      return policy->KeyMayMatch(Slice(key, kKeyLen), content);
    });
  }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> policy_;
  std::string content_;
};
}  // namespace

extern "C" Engine* leveldb_build(double bits_per_key, const char* keys, size_t num_keys) {
  return new LevelDb(static_cast<int>(bits_per_key), keys, num_keys);
}
