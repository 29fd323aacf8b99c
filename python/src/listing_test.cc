#include "listing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace headrace::python {
namespace {

TEST(Listing, GivesBackWhatWasAdded) {
  ListingBuilder builder("s3://bucket/");
  const std::string hex = "0123456789abcdef0123456789abcdef";
  const std::string odd = std::string("a b\0c/\xff", 7);
  builder.Add("plain.jpg", 115'000, hex);
  builder.Add(odd, 0, hex + "-12");
  builder.Add("", std::nullopt, "");
  builder.Add(std::string(1024, 'k'), UINT64_MAX - 1, std::string(300, 'e'));
  auto listing = builder.Finish();
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  const Listing& all = **listing;
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all.At(0).uri, "s3://bucket/plain.jpg");
  EXPECT_EQ(all.At(0).etag, hex);
  EXPECT_EQ(all.At(0).size, 115'000u);
  EXPECT_EQ(all.At(1).uri, "s3://bucket/" + odd);
  EXPECT_EQ(all.At(1).etag, hex + "-12");
  EXPECT_EQ(all.At(1).size, 0u);
  EXPECT_EQ(all.At(2).uri, "s3://bucket/");
  EXPECT_EQ(all.At(2).size, std::nullopt);
  EXPECT_EQ(all.At(3).uri, "s3://bucket/" + std::string(1024, 'k'));
  EXPECT_EQ(all.At(3).size, UINT64_MAX - 1);
  EXPECT_EQ(all.At(3).etag, "");
  EXPECT_EQ(all.SizeOf(0), 115'000u);
  EXPECT_EQ(all.SizeOf(2), std::nullopt);
  EXPECT_EQ(all.largest(), UINT64_MAX - 1);
}

TEST(Listing, ManyCostAboutThirtyBytesBesideTheirKeys) {
  constexpr std::uint64_t kCount = 200'000;
  ListingBuilder builder("s3://bucket/");
  for (std::uint64_t i = 0; i < kCount; ++i) {
    builder.Add("train/" + std::to_string(i), i, "0123456789abcdef0123456789abcdef");
  }
  auto listing = builder.Finish();
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ((*listing)->size(), kCount);
  EXPECT_EQ((*listing)->At(kCount - 1).uri, "s3://bucket/train/199999");
  EXPECT_EQ((*listing)->At(kCount - 1).size, kCount - 1);
  EXPECT_LT((*listing)->bytes().size() / kCount, 12 + 30);
}

TEST(Listing, AnotherDescriptorOfTheFileIsTheSameListing) {
  ListingBuilder builder("s3://b/");
  builder.Add("k", 1, "e");
  auto first = builder.Finish();
  ASSERT_TRUE(first.ok());
  auto second = Listing::FromDescriptor(fcntl((*first)->fd(), F_DUPFD_CLOEXEC, 0));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->Id(), (*first)->Id());
  EXPECT_EQ((*second)->Id().size(), 32u);
  EXPECT_EQ((*second)->At(0).uri, "s3://b/k");

  ListingBuilder other("s3://b/");
  other.Add("k", 1, "e");
  EXPECT_NE((*other.Finish())->Id(), (*first)->Id());
}

TEST(Listing, AnEmptyOneHasNoEntries) {
  auto listing = ListingBuilder("s3://b/").Finish();
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ((*listing)->size(), 0u);
}

TEST(Listing, WhatIsNoListingIsRefused) {
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  EXPECT_EQ(Listing::FromDescriptor(empty).status().code(), StatusCode::kInvalidArgument);

  const int noise = memfd_create("noise", MFD_CLOEXEC);
  const std::string text(4096, 'x');
  ASSERT_EQ(write(noise, text.data(), text.size()), 4096);
  EXPECT_EQ(Listing::FromDescriptor(noise).status().code(), StatusCode::kInvalidArgument);

  // A listing that was cut short has no footer where it should be.
  ListingBuilder builder("s3://b/");
  builder.Add("k", 1, "e");
  auto whole = builder.Finish();
  ASSERT_TRUE(whole.ok());
  const int cut = memfd_create("cut", MFD_CLOEXEC);
  const std::string_view bytes = (*whole)->bytes();
  ASSERT_GT(write(cut, bytes.data() + 8, bytes.size() - 8), 0);
  EXPECT_FALSE(Listing::FromDescriptor(cut).ok());
  EXPECT_FALSE(Listing::FromDescriptor(-1).ok());
}

}  // namespace
}  // namespace headrace::python
