// The contract of store::Store as tests that every backend passes.
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(BackendUnderTest{…}));
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "store/store.h"

namespace headrace::store {

struct BackendUnderTest {
  std::string name;
  // Makes the store and a bucket of its own in it, which is empty.
  struct Fixture {
    std::shared_ptr<Store> store;
    std::string bucket;
  };
  std::function<Fixture()> make;
  // Whether a backend can hold a key, where capabilities().any_key is false.
  std::function<bool(std::string_view key)> holds = [](std::string_view) { return true; };
  // Writing to a bucket that is not there makes it.
  bool makes_buckets = false;
  // Lists in another order than it is taken for.
  bool lists_in_other_order = false;
  // Completing an upload does not look at If-None-Match.
  bool ignores_create_only_uploads = false;
  // Nor does a copy.
  bool ignores_create_only_copies = false;
  // Nor does it look at the version that is wanted.
  bool ignores_version_of_copies = false;
};

void PrintTo(const BackendUnderTest& backend, std::ostream* out);

class StoreConformance : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The bytes of an object, or the test fails.
  std::string Get(const std::string& key);
  std::string Put(const std::string& key, const std::string& bytes);
  std::vector<std::string> ListAll(ListRequest request);

  std::shared_ptr<Store> store_;
  std::string bucket_;
};

// Keys of every kind that S3 allows: blanks, '+', '%', quotes, "//", "..", control characters, both
// normal forms of non-ASCII letters, 1,024 bytes.
const std::vector<std::string>& OddKeys();

}  // namespace headrace::store
