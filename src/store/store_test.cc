// The backends that need no server, against the contract.
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/file_store.h"
#include "store/memory_store.h"
#include "testing/store_conformance.h"

namespace headrace::store {
namespace {

BackendUnderTest::Fixture MakeMemory() {
  std::shared_ptr<Store> store = MakeMemoryStore();
  EXPECT_TRUE(store->CreateBucket("bucket").Wait().ok());
  return {std::move(store), "bucket"};
}

BackendUnderTest::Fixture MakeFiles() {
  static BufferPool buffers(1 << 20);
  std::string pattern = std::filesystem::temp_directory_path() / "headrace-store-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return {MakeFileStore(&buffers), pattern};
}

bool FitsAPath(std::string_view key) {
  if (key.starts_with('/') || key.ends_with('/') || key.find("//") != std::string_view::npos) {
    return false;
  }
  return key != "." && key != ".." && key.find("/./") == std::string_view::npos &&
         key.find("/../") == std::string_view::npos && key.size() <= 255;
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(BackendUnderTest{.name = "memory", .make = MakeMemory}),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Files, StoreConformance,
                         testing::Values(BackendUnderTest{
                             .name = "files", .make = MakeFiles, .holds = FitsAPath}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace headrace::store
