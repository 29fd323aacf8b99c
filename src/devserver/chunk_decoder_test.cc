#include "devserver/chunk_decoder.h"

#include <gtest/gtest.h>

namespace headrace::devserver {
namespace {

struct Recorder final : ChunkSink {
  std::string data;
  std::string extensions;
  std::string trailers;
  Status OnChunkData(std::string_view piece) override {
    data += piece;
    return Status();
  }
  Status OnChunkEnd(std::string_view extension) override {
    extensions += std::string(extension) + "|";
    return Status();
  }
  Status OnTrailer(std::string_view name, std::string_view value) override {
    trailers += std::string(name) + "=" + std::string(value) + "|";
    return Status();
  }
};

constexpr std::string_view kBody =
    "5;chunk-signature=aa\r\nhello\r\nA\r\n, world!!!\r\n0;chunk-signature=bb\r\n"
    "X-Amz-Checksum-Crc32: AAAA==\r\n\r\n";

TEST(ChunkDecoder, TakesABodyInPiecesOfAnySize) {
  for (std::size_t piece = 1; piece <= kBody.size(); ++piece) {
    Recorder recorder;
    ChunkDecoder decoder(recorder);
    for (std::size_t at = 0; at < kBody.size(); at += piece) {
      std::string_view in = kBody.substr(at, piece);
      ASSERT_TRUE(decoder.Feed(&in).ok());
      ASSERT_TRUE(in.empty());
    }
    EXPECT_TRUE(decoder.done());
    EXPECT_EQ(recorder.data, "hello, world!!!");
    EXPECT_EQ(recorder.extensions, "chunk-signature=aa||chunk-signature=bb|");
    EXPECT_EQ(recorder.trailers, "x-amz-checksum-crc32=AAAA==|");
  }
}

TEST(ChunkDecoder, LeavesWhatFollowsTheBody) {
  Recorder recorder;
  ChunkDecoder decoder(recorder);
  std::string_view in = "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1";
  ASSERT_TRUE(decoder.Feed(&in).ok());
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(in, "GET / HTTP/1.1");
}

TEST(ChunkDecoder, RefusesBrokenFraming) {
  for (std::string_view bad :
       {std::string_view("x\r\n"), std::string_view("\r\n"), std::string_view("-1\r\n"),
        std::string_view("1\nab\r\n"), std::string_view("1\r\nabc\r\n"),
        std::string_view("FFFFFFFFFFFFF\r\n"), std::string_view("0\r\nno colon\r\n")}) {
    Recorder recorder;
    ChunkDecoder decoder(recorder);
    std::string_view in = bad;
    EXPECT_FALSE(decoder.Feed(&in).ok()) << bad;
  }
  Recorder recorder;
  ChunkDecoder decoder(recorder);
  std::string endless(100'000, '1');
  std::string_view in = endless;
  EXPECT_FALSE(decoder.Feed(&in).ok()) << "a line without end must not be collected";
}

}  // namespace
}  // namespace headrace::devserver
