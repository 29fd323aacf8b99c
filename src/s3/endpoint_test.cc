#include "s3/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

Endpoint Url(std::string_view url, std::string_view region = "us-east-1") {
  Result<Endpoint> endpoint = Endpoint::FromUrl(url, region);
  EXPECT_TRUE(endpoint.ok()) << endpoint.status().ToString();
  return *endpoint;
}

TEST(Endpoint, AwsBucketsStandInTheHost) {
  const Target target = Endpoint::ForAwsRegion("eu-west-1").For("data", "a b/c");
  EXPECT_EQ(target.host_header, "data.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(target.connect_host, "data.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(target.port, 443);
  EXPECT_TRUE(target.tls);
  EXPECT_EQ(target.path, "/a%20b/c");
  EXPECT_EQ(Endpoint::ForAwsRegion("eu-west-1").For("data", "").path, "/");
  EXPECT_EQ(Endpoint::ForAwsRegion("cn-north-1").host, "s3.cn-north-1.amazonaws.com.cn");
}

TEST(Endpoint, BucketsThatNoCertificateCoversStandInThePath) {
  const Endpoint aws = Endpoint::ForAwsRegion("eu-west-1");
  for (const char* bucket : {"my.data", "My_Data", "ab", "-ab", "ab-", "UPPER"}) {
    const Target target = aws.For(bucket, "k");
    EXPECT_EQ(target.host_header, "s3.eu-west-1.amazonaws.com") << bucket;
    EXPECT_EQ(target.path, std::string("/") + bucket + "/k");
  }
  Endpoint plain = aws;
  plain.scheme = "http";
  plain.port = 80;
  EXPECT_EQ(plain.For("my.data", "k").host_header, "my.data.s3.eu-west-1.amazonaws.com");
  for (const char* bucket : {"my..data", "my.-data", "my-.data", ".data", "192.168.0.1"}) {
    EXPECT_EQ(plain.For(bucket, "k").host_header, "s3.eu-west-1.amazonaws.com") << bucket;
  }
}

TEST(Endpoint, CustomEndpointsUseThePathUnlessTold) {
  Endpoint endpoint = Url("https://Minio.Example.com:9000");
  EXPECT_EQ(endpoint.For("data", "k").host_header, "minio.example.com:9000");
  EXPECT_EQ(endpoint.For("data", "k").path, "/data/k");
  EXPECT_EQ(endpoint.For("data", "").path, "/data");
  EXPECT_EQ(endpoint.For("", "").path, "/");
  endpoint.style = AddressingStyle::kVirtual;
  EXPECT_EQ(endpoint.For("data", "k").host_header, "data.minio.example.com:9000");
  EXPECT_EQ(endpoint.For("data", "k").path, "/k");
  Endpoint address = Url("http://127.0.0.1:9000");
  address.style = AddressingStyle::kVirtual;  // an address has no subdomains
  EXPECT_EQ(address.For("data", "k").path, "/data/k");
  Endpoint local = Url("http://localhost:9000");
  EXPECT_EQ(local.For("data", "k").host_header, "localhost:9000");
  local.style = AddressingStyle::kVirtual;
  EXPECT_EQ(local.For("data", "k").host_header, "data.localhost:9000");
}

// REPORTS client-1.
TEST(Endpoint, SlashesAtTheEndMakeNoDifferenceAndAPathIsKept) {
  for (const char* url :
       {"http://127.0.0.1:9000", "http://127.0.0.1:9000/", "http://127.0.0.1:9000//"}) {
    const Target target = Url(url).For("b", "k");
    EXPECT_EQ(target.path, "/b/k") << url;
    EXPECT_EQ(target.host_header, "127.0.0.1:9000");
  }
  for (const char* url : {"http://127.0.0.1:9000/gw", "http://127.0.0.1:9000/gw//"}) {
    const Target target = Url(url).For("b", "/k");
    EXPECT_EQ(target.path, "/gw/b//k") << url;
    EXPECT_EQ(target.host_header, "127.0.0.1:9000");
    EXPECT_EQ(Url(url).Url(), "http://127.0.0.1:9000/gw");
  }
}

TEST(Endpoint, UsualPortsStayOutOfTheHostHeader) {
  EXPECT_EQ(Url("http://h:80").For("b", "k").host_header, "h");
  EXPECT_EQ(Url("https://h:443").For("b", "k").host_header, "h");
  EXPECT_EQ(Url("https://h:80").For("b", "k").host_header, "h:80");
  const Target ipv6 = Url("http://[::1]:9000").For("b", "k");
  EXPECT_EQ(ipv6.host_header, "[::1]:9000");
  EXPECT_EQ(ipv6.connect_host, "::1");
}

TEST(Endpoint, DotsInKeysAreKept) {
  EXPECT_EQ(Url("http://h").For("b", "a/../b/./c").path, "/b/a/../b/./c");
}

TEST(Endpoint, ForeignUrlsSayWhatToWrite) {
  for (const char* url : {"127.0.0.1:9000", "ftp://h", "http://", "http://h:0", "http://h:70000",
                          "http://h:", "http://h:x", "http://h/?a=b", "http://h/a b", "http://a b",
                          "http://[::1", "http://[x]", ""}) {
    const Status status = Endpoint::FromUrl(url, "r").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(status.message(), HasSubstr("write http://HOST:PORT or https://HOST"));
  }
  const Status secret = Endpoint::FromUrl("http://me:secret@h", "r").status();
  EXPECT_THAT(secret.message(), HasSubstr("user name or password"));
  EXPECT_EQ(secret.message().find("secret@"), std::string::npos);
}

TEST(Endpoint, RegionFollowsFromAwsNames) {
  EXPECT_EQ(Url("https://s3.us-west-2.amazonaws.com", "").region, "us-west-2");
  EXPECT_EQ(Url("https://s3.us-west-2.amazonaws.com", "eu-west-1").region, "eu-west-1");
  EXPECT_EQ(RegionOfAwsHost("s3.amazonaws.com"), "us-east-1");
  EXPECT_EQ(RegionOfAwsHost("b.s3.amazonaws.com"), "us-east-1");
  EXPECT_EQ(RegionOfAwsHost("b.c.s3.eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfAwsHost("s3-eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfAwsHost("b.s3.dualstack.eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfAwsHost("s3.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  EXPECT_EQ(RegionOfAwsHost("ec2.eu-west-1.amazonaws.com"), "");
  EXPECT_EQ(RegionOfAwsHost("s3.eu-west-1.example.com"), "");
  EXPECT_EQ(RegionOfAwsHost("s3.eu-west-1.notamazonaws.com"), "");
}

TEST(Redirect, GoesToTheBucketsRegion) {
  const Endpoint from = Endpoint::ForAwsRegion("us-east-1");
  ServerAnswer answer{.http_status = 301, .region = "eu-west-1"};
  EXPECT_EQ(*from.Redirected(answer, "data"), Endpoint::ForAwsRegion("eu-west-1"));
  for (const char* where : {"data.s3.eu-west-1.amazonaws.com", "s3.eu-west-1.amazonaws.com",
                            "https://data.s3-eu-west-1.amazonaws.com/key?x"}) {
    ServerAnswer named{.http_status = 307, .endpoint = where};
    Result<Endpoint> to = from.Redirected(named, "data");
    ASSERT_TRUE(to.ok()) << to.status().ToString();
    EXPECT_EQ(*to, Endpoint::ForAwsRegion("eu-west-1"));
  }
}

TEST(Redirect, StaysWithinThePartition) {
  const Endpoint from = Endpoint::ForAwsRegion("us-east-1");
  ServerAnswer china{.http_status = 301, .region = "cn-north-1"};
  EXPECT_THAT(from.Redirected(china, "data").status().message(), HasSubstr("another partition"));
  ServerAnswer stranger{.http_status = 307,
                        .location = "https://s3.eu-west-1.amazonaws.com.evil.org/"};
  EXPECT_THAT(from.Redirected(stranger, "data").status().message(),
              HasSubstr("credentials are not sent there"));
}

TEST(Redirect, CustomEndpointsKeepTheirDomain) {
  const Endpoint from = Url("https://s3.example.com/gw", "r1");
  ServerAnswer below{.http_status = 307, .location = "https://data.eu.s3.example.com:8443/k"};
  Result<Endpoint> to = from.Redirected(below, "data");
  ASSERT_TRUE(to.ok()) << to.status().ToString();
  EXPECT_EQ(to->host, "eu.s3.example.com");
  EXPECT_EQ(to->port, 8443);
  EXPECT_EQ(to->base_path, "/gw");

  ServerAnswer region{.http_status = 400, .region = "r2"};
  EXPECT_EQ(from.Redirected(region, "data")->region, "r2");
  EXPECT_EQ(from.Redirected(region, "data")->host, "s3.example.com");

  for (const char* where : {"https://evil.org/", "https://s3.example.com.evil.org/",
                            "https://xs3.example.com/", "http://s3.example.com/"}) {
    ServerAnswer bad{.http_status = 307, .location = where};
    EXPECT_EQ(from.Redirected(bad, "data").status().code(), StatusCode::kInvalidArgument) << where;
  }
}

TEST(Redirect, AddressesKeepTheirHost) {
  const Endpoint from = Url("http://127.0.0.1:9000");
  ServerAnswer port{.http_status = 307, .location = "http://127.0.0.1:9001/b/k"};
  EXPECT_EQ(from.Redirected(port, "b")->port, 9001);
  for (const char* where :
       {"http://127.0.0.2:9000/", "http://x.127.0.0.1/", "http://localhost:9000/"}) {
    ServerAnswer bad{.http_status = 307, .location = where};
    EXPECT_FALSE(from.Redirected(bad, "b").ok()) << where;
  }
}

TEST(Redirect, LeadingNowhereNewIsAnError) {
  const Endpoint from = Url("http://127.0.0.1:9000", "r1");
  for (const ServerAnswer& answer :
       {ServerAnswer{.http_status = 307, .location = "http://127.0.0.1:9000/b/k"},
        ServerAnswer{.http_status = 307, .location = "/b/k/"}, ServerAnswer{.http_status = 301},
        ServerAnswer{.http_status = 301, .region = "r1"}}) {
    EXPECT_THAT(from.Redirected(answer, "b").status().message(), HasSubstr("already"));
  }
}

}  // namespace
}  // namespace headrace::s3
