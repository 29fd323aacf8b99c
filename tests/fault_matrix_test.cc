// Every fault of the embedded server x every kind of operation (faults/matrix.json): each ends in
// the right bytes or in the error that the matrix names, in time, with nothing held afterwards.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include <nlohmann/json.hpp>

#include "devserver/server.h"
#include "object/fetch.h"
#include "object/writer.h"
#include "s3/engine.h"
#include "store/s3_store.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr std::size_t kObjectSize = 115'000;

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 2654435761U) >> 13);
  return bytes;
}

struct OperationUnderTest {
  std::string name;
  std::vector<std::string> server_operations;
};

void PrintTo(const OperationUnderTest& operation, std::ostream* out) { *out << operation.name; }

const std::vector<OperationUnderTest>& Operations() {
  static const std::vector<OperationUnderTest> kOperations = {
      {"get", {"GetObject"}},        {"ranged_get", {"GetObject"}},
      {"put", {"PutObject"}},        {"multipart", {"CreateMultipartUpload"}},
      {"multipart", {"UploadPart"}}, {"multipart", {"CompleteMultipartUpload"}},
      {"list", {"ListObjectsV2"}},   {"head", {"HeadObject"}},
      {"delete", {"DeleteObject"}},  {"delete_batch", {"DeleteObjects"}},
      {"copy", {"CopyObject"}},
  };
  return kOperations;
}

// Whether a list of the matrix has the operation, by our name for it or by the server's.
bool Names(const json& list, const OperationUnderTest& operation) {
  return std::any_of(list.begin(), list.end(), [&](const json& name) {
    return name == operation.name || name == operation.server_operations.front();
  });
}

std::vector<json> Matrix() {
  std::ifstream file(HEADRACE_SOURCE_DIR "/tests/faults/matrix.json");
  return json::parse(file).get<std::vector<json>>();
}

class FaultMatrix : public testing::TestWithParam<std::tuple<json, OperationUnderTest>> {
 protected:
  // One server for all cases, each with a bucket and an engine of its own.
  static void SetUpTestSuite() {
    std::string pattern = std::filesystem::temp_directory_path() / "headrace-faults-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    devserver::ServerOptions server;
    server.dir = folder_;
    server.min_part_size = 1000;
    server.threads = 1;
    Result<std::unique_ptr<devserver::Server>> started = devserver::Server::Start(server);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = started->release();
  }
  static void TearDownTestSuite() {
    delete std::exchange(server_, nullptr);
    std::filesystem::remove_all(folder_);
  }

  void SetUp() override {
    ASSERT_TRUE(server_->SetFaults("[]").ok());
    s3::EngineOptions options;
    options.endpoint = *s3::Endpoint::FromUrl(server_->endpoint(), "us-east-1");
    options.credentials = std::make_unique<s3::StaticCredentials>(
        s3::Credentials{server_->access_key(), server_->secret_key(), "", std::nullopt});
    options.policy.idle_timeout = std::chrono::milliseconds(300);
    options.policy.progress_timeout = std::chrono::seconds(10);
    options.policy.retry.max_attempts = 4;
    options.policy.retry.base = std::chrono::milliseconds(5);
    options.policy.retry.throttle_base = std::chrono::milliseconds(5);
    options.policy.hedge = true;
    options.transport.max_idle_connections = 1;
    options.wire.user_agent = "headrace-test";
    engine_ = std::make_unique<s3::Engine>(std::move(options), &buffers_, &clock_);
    store_ = std::make_unique<store::S3Store>(engine_.get(), 1000);
    static int cases = 0;
    bucket_ = fmt::format("bucket-{}", ++cases);
    ASSERT_TRUE(store_->CreateBucket(bucket_).Wait().ok());
    ASSERT_TRUE(store_->Put({bucket_, "object"}, Buffer::FromString(bytes_), {}).Wait().ok());
    ASSERT_TRUE(store_->Put({bucket_, "victim"}, Buffer::FromString("x"), {}).Wait().ok());
    context_ = {store_.get(),
                &budget_,
                &buffers_,
                &chunks_,
                {.part_size = 40'000, .multipart_threshold = 1}};
  }

  void TearDown() override {
    // After every operation, however it ended, nothing is held.
    EXPECT_EQ(engine_->metrics().in_flight.value(), 0);
    EXPECT_EQ(engine_->metrics().queued.value(), 0);
    for (const Share share : {Share::kReads, Share::kLookAhead, Share::kUploads}) {
      EXPECT_EQ(budget_.in_use(share), 0U) << ShareName(share);
    }
    EXPECT_TRUE(server_->SetFaults("[]").ok());
    ExpectOneIdleConnection();
    store_.reset();
    engine_.reset();
  }

  // With room for one idle connection, each that is still open for an aborted request takes that
  // room, so that the next request has to open another. Soon rather than at once: the rests of
  // aborted answers may still be read.
  void ExpectOneIdleConnection() {
    const net::LoopMetrics& loop = engine_->metrics().loops;
    const Deadline deadline = Deadline::After(std::chrono::seconds(5));
    std::uint64_t opened = 0;
    do {
      opened = loop.connections_opened.value();
      EXPECT_TRUE(store_->Stat({bucket_, "object"}).Wait().ok());
    } while ((loop.connections_opened.value() != opened || loop.connections.value() != 1) &&
             !deadline.passed());
    EXPECT_EQ(loop.connections_opened.value(), opened);
    EXPECT_EQ(loop.connections.value(), 1);
  }

  // Multipart uploads that nobody completed or aborted. The matrix allows one where the answer that
  // held its id was lost.
  int OpenUploads() {
    EXPECT_TRUE(server_->SetFaults("[]").ok());
    Result<s3::S3Reply> reply =
        engine_->Submit({.operation = s3::Operation::kList, .bucket = bucket_, .query = "uploads="})
            .Wait();
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    if (!reply.ok()) return -1;
    int count = 0;
    const std::string_view page = reply->body.view();
    for (std::size_t at = 0; (at = page.find("<Upload>", at)) != page.npos; ++at) ++count;
    return count;
  }

  // OK with the right bytes, an error, or kInternal with "wrong bytes".
  Status Run(const std::string& operation) {
    if (operation == "get" || operation == "ranged_get") {
      object::Context context = context_;
      if (operation == "get") context.options.part_size = 1 << 20;
      Result<object::Fetched> fetched =
          object::FetchNow(context, {{bucket_, "object"}, {.size = kObjectSize}}, {});
      if (!fetched.ok()) return fetched.status();
      return fetched->data.view() == bytes_ ? Status() : Wrong();
    }
    if (operation == "put") {
      Status status = store_->Put({bucket_, "new"}, Buffer::FromString(bytes_), {}).Wait().status();
      return status.ok() ? Check("new") : status;
    }
    if (operation == "multipart") {
      object::Writer writer(&context_, {bucket_, "new"}, {});
      Status status = writer.Write(std::as_bytes(std::span(bytes_)), {});
      if (status.ok()) status = writer.Close({}).status();
      writer.Abort();
      return status.ok() ? Check("new") : status;
    }
    if (operation == "list") {
      Result<s3::ListPage> page = store_->List({.bucket = bucket_}).Wait();
      if (!page.ok()) return page.status();
      return page->objects.size() == 2 && page->objects[0].size == kObjectSize ? Status() : Wrong();
    }
    if (operation == "head") {
      Result<ObjectInfo> info = store_->Stat({bucket_, "object"}).Wait();
      if (!info.ok()) return info.status();
      return info->size == kObjectSize ? Status() : Wrong();
    }
    if (operation == "copy") {
      Status status = store_->Copy({bucket_, "object"}, {bucket_, "new"}, {}, "").Wait().status();
      return status.ok() ? Check("new") : status;
    }
    Status status;
    if (operation == "delete") {
      status = store_->Delete({bucket_, "victim"}).Wait().status();
    } else {
      Result<std::vector<Status>> each = store_->DeleteMany(bucket_, {"victim"}).Wait();
      status = each.ok() ? each->front() : each.status();
    }
    if (!status.ok()) return status;
    return store_->Stat({bucket_, "victim"}).Wait().status().code() == StatusCode::kNotFound
               ? Status()
               : Wrong();
  }

  // What a reader finds there once the faults are over.
  Status Check(const std::string& key) {
    EXPECT_TRUE(server_->SetFaults("[]").ok());
    Result<store::ReadReply> reply = store_->Read({.name = {bucket_, key}}).Wait();
    if (!reply.ok()) return reply.status();
    return reply->data.view() == bytes_ ? Status() : Wrong();
  }
  static Status Wrong() { return Status(StatusCode::kInternal, "wrong bytes"); }

  const std::string bytes_ = Pattern(kObjectSize);
  static inline std::filesystem::path folder_;
  static inline devserver::Server* server_ = nullptr;
  std::string bucket_;
  RealClock clock_;
  BufferPool buffers_{std::size_t{8} << 20};
  MemoryBudget budget_{MemoryBudget::Split(std::size_t{16} << 20)};
  std::unique_ptr<s3::Engine> engine_;
  std::unique_ptr<store::S3Store> store_;
  object::SharedChunks chunks_;
  object::Context context_{};
};

TEST_P(FaultMatrix, EndsRightOrWithTheErrorNamed) {
  const auto& [fault, operation] = GetParam();
  if (fault.contains("only") && !Names(fault["only"], operation)) GTEST_SKIP() << "not for this";
  json rule = fault.at("rule");
  rule["operation"] = operation.server_operations;
  ASSERT_TRUE(server_->SetFaults(json::array({rule}).dump()).ok());
  std::string expected = "OK";
  if (fault.contains("expect")) {
    expected = fault["expect"].value("*", expected);
    expected = fault["expect"].value(operation.name, expected);
    expected = fault["expect"].value(operation.server_operations.front(), expected);
  }
  const auto began = std::chrono::steady_clock::now();
  const Status status = Run(operation.name);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(12));
  if (expected.starts_with("wrong")) {
    EXPECT_EQ(status.message(), "wrong bytes");
  } else {
    EXPECT_EQ(StatusCodeName(status.code()), expected) << status.ToString();
  }
  const json none = json::object();
  EXPECT_EQ(OpenUploads(),
            fault.value("uploads_left", none).value(operation.server_operations.front(), 0));
}

std::string CaseName(const testing::TestParamInfo<FaultMatrix::ParamType>& info) {
  const auto& [fault, operation] = info.param;
  std::string name = fault.at("name").get<std::string>() + "_" +
                     operation.server_operations.front() +
                     (operation.name == "ranged_get" ? "_ranged" : "");
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, FaultMatrix,
                         testing::Combine(testing::ValuesIn(Matrix()),
                                          testing::ValuesIn(Operations())),
                         CaseName);

}  // namespace
}  // namespace headrace
