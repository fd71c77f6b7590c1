// A filter as the Rust side sees it, and the loops that query it. They are those of src/peer.rs: because they are on
// this side too, no query crosses the border between the languages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

constexpr size_t kKeyLen = 16;

struct Engine {
  virtual ~Engine() = default;
  virtual std::string_view bytes() const = 0;
  virtual size_t query(const char* keys, size_t num_keys, bool branching) const = 0;
  // Only for engines that have a batch call.
  virtual void query_batches(const char* keys, size_t num_keys, bool* answers) const {}
};

template <class MayMatch>
size_t query_each(const char* keys, size_t num_keys, bool branching, MayMatch may_match) {
  size_t passed = 0;
  if (!branching) {
    for (size_t i = 0; i < num_keys; i++) passed += may_match(keys + i * kKeyLen);
    return passed;
  }
  for (size_t i = 0; i < num_keys; i++) {
    if (may_match(keys + i * kKeyLen)) {
      asm volatile("" : "+r"(passed));  // keeps the branch a branch
      passed++;
    }
  }
  return passed;
}

// RocksDB's MultiGet queries at most this many keys at once (MultiGetContext::MAX_BATCH_SIZE). Filling the array of
// pointers to slices is part of each batch: the interface demands it.
template <class Slice, class MayMatch>
void query_in_batches(const char* keys, size_t num_keys, bool* answers, MayMatch may_match) {
  constexpr size_t kBatchLen = 32;
  Slice slices[kBatchLen];
  Slice* pointers[kBatchLen];
  for (size_t i = 0; i < kBatchLen; i++) pointers[i] = &slices[i];
  for (size_t start = 0; start < num_keys; start += kBatchLen) {
    const size_t len = num_keys - start < kBatchLen ? num_keys - start : kBatchLen;
    for (size_t i = 0; i < len; i++) slices[i] = Slice(keys + (start + i) * kKeyLen, kKeyLen);
    may_match(static_cast<int>(len), pointers, answers + start);
  }
}

extern "C" Engine* flb_build(double bits_per_key, const char* keys, size_t num_keys);
