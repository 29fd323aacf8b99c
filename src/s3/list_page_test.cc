#include "s3/list_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Page(std::string_view inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         std::string(inside) + "</ListBucketResult>";
}

std::vector<std::string> Keys(const ListPage& page) {
  std::vector<std::string> keys;
  for (const ListedObject& object : page.objects) keys.emplace_back(object.key);
  return keys;
}

TEST(ListPage, ReadsEntriesPrefixesAndToken) {
  Result<ListPage> page = ParseListPage(Page(
      "<Name>b</Name><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a+b%20c==</NextContinuationToken><EncodingType>url</EncodingType>"
      "<Contents><Key>d/a%20b</Key><LastModified>2026-11-29T16:56:41.000Z</LastModified>"
      "<ETag>&quot;abc-3&quot;</ETag><Size>115000</Size><StorageClass>GLACIER</StorageClass>"
      "<Owner><ID>x</ID></Owner></Contents>"
      "<Contents><ETag>def</ETag><Size>0</Size><Key>e</Key></Contents>"
      "<CommonPrefixes><Prefix>x%2By/</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>z/</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "d/a b");
  EXPECT_EQ(page->objects[0].etag, "abc-3");
  EXPECT_EQ(page->objects[0].size, 115000u);
  EXPECT_EQ(page->objects[0].storage_class, "GLACIER");
  EXPECT_EQ(page->objects[0].last_modified_ns, 1795971401'000000000);
  EXPECT_EQ(page->objects[1].key, "e");
  EXPECT_EQ(page->objects[1].etag, "def");
  EXPECT_EQ(page->objects[1].size, 0u);
  EXPECT_THAT(page->common_prefixes, ElementsAre("x+y/", "z/"));
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->next_token, "a+b%20c==");
}

TEST(ListPage, NamesAreDecodedOnlyWhenTheServerSaysSo) {
  EXPECT_THAT(Keys(*ParseListPage(Page("<Contents><Key>a+b%20c</Key><Size>1</Size></Contents>"))),
              ElementsAre("a+b%20c"));
  // Before or after the entries: the element's place does not matter.
  for (const char* page :
       {"<EncodingType>url</EncodingType><Contents><Key>a+b%2B</Key><Size>1</Size></Contents>",
        "<Contents><Key>a+b%2B</Key><Size>1</Size></Contents><EncodingType>url</EncodingType>"}) {
    EXPECT_THAT(Keys(*ParseListPage(Page(page))), ElementsAre("a b+"));
  }
}

TEST(ListPage, KeepsOddKeys) {
  Result<ListPage> page =
      ParseListPage(Page("<Contents><Key> </Key><Size>1</Size></Contents>"
                         "<Contents><Key>x&amp;y&lt;z&gt;</Key><Size>1</Size></Contents>"
                         "<Contents><Key>x&#1;y&#13;z</Key><Size>1</Size></Contents>"
                         "<Contents><Key>a<!-- c -->b<![CDATA[<c>]]></Key><Size>1</Size></Contents>"
                         "<Contents><Key>//</Key><Size>1</Size></Contents>"));
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  EXPECT_THAT(Keys(*page), ElementsAre(" ", "x&y<z>", "x\x01y\rz", "ab<c>", "//"));
}

TEST(ListPage, SurvivesBeingMoved) {
  ListPage page = *ParseListPage(
      Page("<EncodingType>url</EncodingType><Contents><Key>k%31</Key><Size>1</Size></Contents>"));
  ListPage moved = std::move(page);
  EXPECT_EQ(moved.objects[0].key, "k1");
}

TEST(ListPage, AnEmptyTruncatedPageKeepsItsToken) {
  Result<ListPage> page = ParseListPage(
      Page("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"));
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->next_token, "t");
  EXPECT_TRUE(page->objects.empty());
}

TEST(ListPage, ATruncatedPageWithoutTokenIsVisible) {
  Result<ListPage> page = ParseListPage(Page("<IsTruncated>true</IsTruncated>"));
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->truncated && page->next_token.empty());
}

TEST(ListPage, SaysWhatIsWrong) {
  auto message = [](const std::string& body) {
    Result<ListPage> page = ParseListPage(body);
    EXPECT_FALSE(page.ok()) << body;
    EXPECT_EQ(page.status().code(), StatusCode::kProtocol);
    return page.status().message();
  };
  EXPECT_EQ(message(""), "the list answer is empty");
  EXPECT_THAT(message("<html><body>hello"), HasSubstr("not XML or was cut short"));
  EXPECT_THAT(message("hello"), HasSubstr("'hello'"));
  EXPECT_EQ(message("<html></html>"),
            "the list answer is a <html>, not the <ListBucketResult> expected");
  EXPECT_EQ(message(Page("<Contents><Size>1</Size></Contents>")),
            "the list answer: entry 1 has no key");
  EXPECT_EQ(message(Page("<Contents><Key>k</Key></Contents>")),
            "the list answer: the size of key 'k' is ''");
  for (const char* size : {"-1", "1.5", "0x10", "18446744073709551616", " 1"}) {
    EXPECT_THAT(
        message(Page("<Contents><Key>k</Key><Size>" + std::string(size) + "</Size></Contents>")),
        HasSubstr("the size of key 'k'"));
  }
  EXPECT_EQ(message(Page("<IsTruncated>maybe</IsTruncated>")),
            "the list answer: IsTruncated is 'maybe'");
}

TEST(ListPage, EveryTruncationOfAnAnswerIsAnError) {
  const std::string body = Page("<Contents><Key>k</Key><Size>1</Size></Contents>");
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(ParseListPage(body.substr(0, size)).ok()) << size;
  }
}

TEST(ListPage, DeepNestingIsHarmless) {
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  EXPECT_FALSE(ParseListPage(deep).ok());
}

}  // namespace
}  // namespace headrace::s3
