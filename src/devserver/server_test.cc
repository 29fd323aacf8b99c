// The server over real sockets: HTTP as it is and as it should not be, timeouts, the model, faults.
#include "devserver/server.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "devserver/test_client.h"
#include "devserver/virtual_bucket.h"

namespace headrace::devserver {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    std::string pattern = (fs::temp_directory_path() / "headrace-server-XXXXXX").string();
    options_.dir = mkdtemp(pattern.data());
    options_.anonymous_buckets = {"bucket"};
    options_.threads = 2;
  }
  ~ServerTest() override {
    server_.reset();
    fs::remove_all(options_.dir);
  }

  void Start() {
    auto started = Server::Start(options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(*started);
    RawClient client(*server_);
    ASSERT_EQ(client.Call("PUT", "/bucket").status, 200);
  }
  void Put(std::string_view key, std::string_view body) {
    RawClient client(*server_);
    RawResponse put = client.Call("PUT", fmt::format("/bucket/{}", key), body);
    ASSERT_EQ(put.status, 200) << put.body;
  }
  // Without a signature: the bucket is open.
  static std::string GetText(std::string_view target, std::string_view headers = {}) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", target, headers);
  }
  RawResponse Get(std::string_view target, std::string_view headers = {}) {
    RawClient client(*server_);
    client.Send(GetText(target, headers));
    return client.Read();
  }
  void Faults(std::string_view rules) {
    Status set = server_->SetFaults(rules);
    ASSERT_TRUE(set.ok()) << set.ToString();
  }
  // Whether every gauge gets back to zero; the last of a response may be on its way still.
  bool BecomesIdle() {
    auto deadline = steady_clock::now() + std::chrono::seconds(10);
    while (steady_clock::now() < deadline) {
      RequestCounts counts = server_->counts();
      if (counts.connections == 0 && counts.in_flight == 0) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }
  static std::string Pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * 7919) >> 8);
    return out;
  }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, TlsWithoutACertificateIsHungUpOn) {
  Start();
  RawClient client(*server_);
  client.Send("\x16\x03\x01");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(ServerTest, MakesTheBucketsThatAreMissing) {
  options_.buckets = {"bucket", "second"};
  for (int start = 0; start < 2; ++start) {
    auto started = Server::Start(options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(*started);
    if (start == 0) Put("key", "kept");
    EXPECT_EQ(Get("/bucket/key").body, "kept");
    RawClient client(*server_);
    EXPECT_EQ(client.Call("HEAD", "/second").status, 200);
    server_.reset();
  }
  options_.buckets = {"Upper"};
  EXPECT_EQ(Server::Start(options_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrderOnOneConnection) {
  Start();
  Put("a", "first");
  Put("b", "second");
  server_->ResetCounts();
  RawClient client(*server_);
  client.Send("\r\n" + GetText("/bucket/a") + GetText("/bucket/none") + GetText("/bucket/b"));
  EXPECT_EQ(client.Read().body, "first");
  EXPECT_EQ(client.Read().status, 404);
  EXPECT_EQ(client.Read().body, "second");
  EXPECT_EQ(server_->counts().connections_opened, 1U);
  EXPECT_EQ(server_->counts().Requests("GetObject"), 3U);
}

TEST_F(ServerTest, HeadHasTheHeadersOfGetAndNoBody) {
  Start();
  Put("k", "12345");
  RawClient client(*server_);
  RawResponse head = client.Call("HEAD", "/bucket/k");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers["content-length"], "5");
  EXPECT_EQ(client.Call("HEAD", "/bucket/none").status, 404);
  EXPECT_EQ(client.Call("GET", "/bucket/k").body, "12345") << "nothing is left on the connection";
}

TEST_F(ServerTest, ABucketMayBeAHostName) {
  Start();
  Put("dir/k", "x");
  RawClient client(*server_);
  client.set_host("bucket.localhost:80");
  EXPECT_EQ(client.Call("GET", "/dir/k").body, "x");
  EXPECT_EQ(client.Call("PUT", "/_headrace/stats", "a key").status, 200);
  EXPECT_EQ(client.Call("GET", "/_headrace/stats").body, "a key");
  client.set_host("localhost");
  EXPECT_EQ(client.Call("GET", "/bucket/dir/k").body, "x");
}

TEST_F(ServerTest, ALargeBodyReachesASlowReaderWhole) {
  Start();
  const std::string body = Pattern(9'000'001);
  Put("k", body);
  RawClient client(*server_);
  client.ShrinkReceiveBuffer();
  client.Send(GetText("/bucket/k"));
  EXPECT_TRUE(client.Read().body == body);
  RawResponse range = Get("/bucket/k", "Range: bytes=5000000-6000000\r\n");
  EXPECT_EQ(range.status, 206);
  EXPECT_TRUE(range.body == body.substr(5'000'000, 1'000'001));
}

TEST_F(ServerTest, ExpectContinueIsAnsweredBeforeTheBody) {
  Start();
  RawClient client(*server_);
  client.Send(client.Sign("PUT", "/bucket/k", 4, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.Read().status, 100);
  client.Send("body");
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(Get("/bucket/k").body, "body");

  RawClient refused(*server_);
  refused.Send(refused.Sign("PUT", "/no-such-bucket/k", 4, "Expect: 100-continue\r\n"));
  EXPECT_EQ(refused.Read().status, 404);
  EXPECT_TRUE(refused.AtEnd());
}

TEST_F(ServerTest, ABodyMayComeInHttpChunks) {
  Start();
  RawClient client(*server_);
  client.Send(client.Sign("PUT", "/bucket/k", 0, "Transfer-Encoding: chunked\r\n"));
  client.Send("5\r\nhello\r\n");
  client.Send("7\r\n, world\r\n0\r\n\r\n" + GetText("/bucket/k"));
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read().body, "hello, world");
}

TEST_F(ServerTest, ARefusedUploadIsDrainedAndTheConnectionLivesOn) {
  Start();
  RawClient client(*server_);
  RawResponse refused = client.Call("PUT", "/no-such-bucket/k", Pattern(3'000'000));
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(refused.body.find("<Code>NoSuchBucket</Code>"), std::string::npos);
  EXPECT_EQ(client.Call("PUT", "/bucket/k", "x").status, 200);
}

TEST_F(ServerTest, MalformedRequestsAreRefusedAndTheConnectionClosed) {
  Start();
  for (const std::string& bad : {
           std::string("nonsense\r\n\r\n"),
           std::string("GET / HTTP/3.0\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nbroken\r\n\r\n"),
           std::string(
               "PUT /bucket/k HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"
               "\r\n"),
           std::string("PUT /bucket/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
           "GET /" + std::string(70'000, 'x') + " HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\n" + std::string(70'000, 'x'),
       }) {
    RawClient client(*server_);
    client.Send(bad);
    RawResponse response = client.Read();
    EXPECT_GE(response.status, 400) << bad.substr(0, 80);
    EXPECT_LT(response.status, 600) << bad.substr(0, 80);
    EXPECT_TRUE(client.AtEnd()) << bad.substr(0, 80);
  }
}

// Requests torn, mixed up and mutated at random: whatever the answer, the server stays up, and no
// connection hangs or leaks.
TEST_F(ServerTest, RandomBytesNeverHangOrCrashIt) {
  options_.request_timeout = milliseconds(300);
  Start();
  Put("k", "fine");
  std::mt19937 random(1);
  const auto head = [](const std::string& line, const std::string& headers) {
    return line + " HTTP/1.1\r\n" + headers + "\r\n\r\n";
  };
  const std::vector<std::string> seeds = {
      GetText("/bucket/k?list-type=2&max-keys=%zz&X-Amz-Signature=x", "Range: bytes=--\r\n"),
      GetText("/bucket?list-type=2&continuation-token=AAAA&encoding-type=url"),
      head("POST /bucket?delete", "Content-Length: 30\r\nContent-MD5: x") + "<Delete><Object>",
      head("PUT /bucket/k?partNumber=1&uploadId=x",
           "Transfer-Encoding: chunked\r\n"
           "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER") +
          "5\r\nhello\r\n0\r\n\r\n",
      head("POST /_headrace/faults", "Content-Length: 12") + "[{\"do\":1}]  ",
      head("GET /",
           "Authorization: AWS4-HMAC-SHA256 Credential=////,SignedHeaders=;;,Signature=\r\n"
           "x-amz-date: 20130524T000000Z")};
  for (int round = 0; round < 400; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (unsigned i = random() % 8; i > 0 && !text.empty(); --i) {
      std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        case 2:
          text.insert(at, seeds[random() % seeds.size()].substr(random() % 40, 30));
          break;
        default:
          text.resize(at + 1);
      }
    }
    RawClient client(*server_);
    client.Send(text);
    // Half of them leave at once; the others stay to see what comes.
    if (round % 40 == 0) client.Read();
  }
  EXPECT_EQ(Get("/bucket/k").body, "fine");
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(ServerTest, SlowSendersAreCutOff) {
  options_.request_timeout = milliseconds(300);
  options_.idle_timeout = milliseconds(300);
  Start();
  RawClient head(*server_);
  head.Send("GET / HTTP/1.1\r\nHost: h\r\n");
  RawClient body(*server_);
  body.Send(body.Sign("PUT", "/bucket/k", 1000));
  body.Send("only a little");
  RawClient idle(*server_);
  EXPECT_TRUE(head.AtEnd());
  EXPECT_TRUE(body.AtEnd());
  EXPECT_TRUE(idle.AtEnd());
  EXPECT_EQ(Get("/bucket/k").status, 404);
}

TEST_F(ServerTest, StopEndsWhatIsUnderWay) {
  options_.model.list_ms = 60'000;
  Start();
  RawClient client(*server_);
  client.Send(GetText("/bucket?list-type=2"));
  server_->Stop();
  EXPECT_EQ(client.Read().status, 0);
}

TEST_F(ServerTest, TheModelDelaysPacesAndThrottles) {
  options_.model.list_ms = 150;
  options_.model.bytes_per_second = 10e6;
  options_.model.gets_per_second = 24;  // six at once
  Start();
  Put("k", Pattern(1'064'000));
  auto started = steady_clock::now();
  EXPECT_EQ(Get("/bucket?list-type=2").status, 200);
  EXPECT_GE(steady_clock::now() - started, milliseconds(150));
  started = steady_clock::now();
  EXPECT_EQ(Get("/bucket/k").body.size(), 1'064'000U);
  EXPECT_GE(steady_clock::now() - started, milliseconds(105)) << "1 MB at 10 MB/s";
  Put("small", Pattern(200'000));
  started = steady_clock::now();
  EXPECT_EQ(Get("/bucket/small").body.size(), 200'000U);
  EXPECT_GE(steady_clock::now() - started, milliseconds(20));
  int refused = 0;
  for (int i = 0; i < 30; ++i) refused += Get("/bucket/none").status == 503 ? 1 : 0;
  EXPECT_GT(refused, 10);
  EXPECT_EQ(server_->counts().throttled, static_cast<std::uint64_t>(refused));
}

TEST_F(ServerTest, VirtualKeysAreAnsweredWithTheirBytes) {
  options_.virtual_file = options_.dir + ".jsonl";
  std::ofstream(options_.virtual_file) << R"({"bucket": "v-bucket", "key": "k", "size": 40000000})";
  Start();
  fs::remove(options_.virtual_file);
  RawClient client(*server_);
  RawResponse whole = client.Call("GET", "/v-bucket/k");
  ASSERT_EQ(whole.body.size(), 40'000'000U);
  EXPECT_TRUE(whole.body.substr(0, 1000) == whole.body.substr(kPoolBytes, 1000)) << "it repeats";
  EXPECT_FALSE(whole.body.substr(0, 1000) == whole.body.substr(1000, 1000));
  RawResponse range = client.Call("GET", "/v-bucket/k", "", "Range: bytes=16000000-34000000\r\n");
  EXPECT_TRUE(range.body == whole.body.substr(16'000'000, 18'000'001));
  EXPECT_EQ(client.Call("PUT", "/v-bucket/k", "x").status, 405);
  EXPECT_EQ(client.Call("DELETE", "/v-bucket/k").status, 405);
}

TEST_F(ServerTest, TheAdminCallsCountResetAndSetFaults) {
  Start();
  Put("k", "12345");
  Get("/bucket/k");
  RawClient client(*server_);
  auto call = [&](std::string_view method, std::string_view what, std::string_view body = {}) {
    client.Send(fmt::format("{} /_headrace/{} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", method,
                            what, body.size(), body));
    return client.Read();
  };
  EXPECT_NE(call("GET", "stats").body.find("\"GetObject\":1"), std::string::npos);
  EXPECT_EQ(call("POST", "reset").status, 200);
  EXPECT_EQ(call("GET", "stats").body.find("GetObject"), std::string::npos);
  EXPECT_EQ(call("POST", "faults", R"([{"do": "status", "status": 500}])").status, 200);
  EXPECT_EQ(Get("/bucket/k").status, 500);
  RawResponse bad = call("POST", "faults", R"([{"do": "x"}])");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("fault rule 1"), std::string::npos);
  EXPECT_EQ(call("POST", "faults").status, 200);
  EXPECT_EQ(Get("/bucket/k").status, 200);
  EXPECT_EQ(call("GET", "nothing").status, 405);
}

TEST_F(ServerTest, FaultsOnTheResponse) {
  Start();
  const std::string body = Pattern(100'000);
  Put("k", body);

  Faults(R"([{"do": "truncate", "at": 70000, "times": 1}])");
  RawResponse cut = Get("/bucket/k");
  EXPECT_EQ(cut.headers["content-length"], "100000");
  EXPECT_TRUE(cut.body == body.substr(0, 70'000));
  EXPECT_FALSE(cut.reset);
  EXPECT_TRUE(Get("/bucket/k").body == body) << "the rule has struck its one time";

  Faults(R"([{"do": "reset", "at": -1}])");
  RawResponse reset = Get("/bucket/k");
  EXPECT_FALSE(reset.complete);
  EXPECT_TRUE(reset.reset);

  Faults(R"([{"do": "reset"}])");
  EXPECT_EQ(Get("/bucket/k").status, 0);
  Faults(R"([{"do": "close"}])");
  EXPECT_EQ(Get("/bucket/k").status, 0);

  Faults(R"([{"do": "corrupt", "at": 99999}])");
  RawResponse corrupt = Get("/bucket/k");
  EXPECT_TRUE(corrupt.body.substr(0, 99'999) == body.substr(0, 99'999));
  EXPECT_EQ(corrupt.body[99'999], body[99'999] ^ 1);

  Faults(
      R"([{"do": "status", "status": 503, "code": "SlowDown", "headers": {"Retry-After": "7"}}])");
  RawResponse slow = Get("/bucket/k");
  EXPECT_EQ(slow.status, 503);
  EXPECT_EQ(slow.headers["retry-after"], "7");
  EXPECT_NE(slow.body.find("<Code>SlowDown</Code>"), std::string::npos);
  Faults(R"([{"do": "status", "status": 200, "body": "<html>"}])");
  EXPECT_EQ(Get("/bucket/k").body, "<html>");

  Faults(R"([{"do": "wrong-length", "delta": -10}])");
  EXPECT_EQ(Get("/bucket/k").headers["content-length"], "99990");
  Faults("[]");
  EXPECT_TRUE(Get("/bucket/k").body == body);
}

TEST_F(ServerTest, FaultsThatTakeTime) {
  Start();
  Put("k", Pattern(2000));
  auto timed = [&](std::string_view rules) {
    Faults(rules);
    auto started = steady_clock::now();
    EXPECT_EQ(Get("/bucket/k").body.size(), 2000U);
    return steady_clock::now() - started;
  };
  EXPECT_GE(timed(R"([{"do": "stall", "ms": 200}])"), milliseconds(200));
  EXPECT_GE(timed(R"([{"do": "stall", "ms": 200, "at": 1000}])"), milliseconds(200));
  EXPECT_GE(timed(R"([{"do": "drip", "bytes_per_second": 10000}])"), milliseconds(190));
}

TEST_F(ServerTest, FaultsOnTheRequestsBody) {
  Start();
  auto put = [&](std::string_view rules) {
    Faults(rules);
    RawClient client(*server_);
    return client.Call("PUT", "/bucket/k", Pattern(50'000));
  };
  EXPECT_EQ(
      put(R"([{"operation": "PutObject", "do": "close", "on": "request", "at": 10000}])").status,
      0);
  EXPECT_EQ(put(R"([{"operation": "PutObject", "do": "reset", "on": "request", "at": -1}])").status,
            0);
  EXPECT_EQ(Get("/bucket/k").status, 404);
  auto started = steady_clock::now();
  EXPECT_EQ(put(R"([{"do": "stall", "on": "request", "at": 10000, "ms": 200, "times": 1}])").status,
            200);
  EXPECT_GE(steady_clock::now() - started, milliseconds(200));
  // The lost answer: done, and nobody was told.
  EXPECT_EQ(put(R"([{"do": "close", "execute": true, "operation": "PutObject"}])").status, 0);
  Faults("[]");
  EXPECT_EQ(Get("/bucket/k").body.size(), 50'000U);
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(ServerTest, WhatIsWrongAtTheStartIsSaid) {
  Start();
  auto message = [&](auto change) {
    ServerOptions options;
    options.dir = options_.dir + "-other";
    change(options);
    auto server = Server::Start(options);
    fs::remove_all(options.dir);
    return server.ok() ? std::string("OK") : server.status().message();
  };
  EXPECT_NE(message([&](ServerOptions& o) { o.port = server_->port(); }).find("in use"),
            std::string::npos);
  EXPECT_NE(message([](ServerOptions& o) { o.bind = "host"; }).find("not an IP"),
            std::string::npos);
  EXPECT_NE(message([](ServerOptions& o) { o.tls_key = "k"; }).find("certificate"),
            std::string::npos);
  EXPECT_NE(message([](ServerOptions& o) { o.faults_file = "/none"; }).find("/none"),
            std::string::npos);
  EXPECT_NE(message([](ServerOptions& o) { o.virtual_file = "/none"; }).find("/none"),
            std::string::npos);
  EXPECT_NE(message([&](ServerOptions& o) { o.dir = options_.dir; }).find("another server"),
            std::string::npos);
}

}  // namespace
}  // namespace headrace::devserver
