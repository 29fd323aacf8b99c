#include "devserver/text.h"

#include <gtest/gtest.h>

namespace headrace::devserver {
namespace {

TEST(Text, UriEncodingKeepsOnlyTheUnreserved) {
  EXPECT_EQ(UriEncode("a-_.~Z9", false), "a-_.~Z9");
  EXPECT_EQ(UriEncode("a b+c/\xC3\xBC", false), "a%20b%2Bc%2F%C3%BC");
  EXPECT_EQ(UriEncode("a b/c", true), "a%20b/c");
  EXPECT_EQ(ListEncode("a b+c/d"), "a+b%2Bc/d");
}

TEST(Text, UriDecodingRefusesBrokenEscapes) {
  EXPECT_EQ(UriDecode("a%20b+c", false), "a b+c");
  EXPECT_EQ(UriDecode("a%20b+c", true), "a b c");
  EXPECT_EQ(UriDecode("%00%fF", false), std::string("\0\xFF", 2));
  for (const char* broken : {"%", "%4", "%zz", "abc%2"}) {
    EXPECT_EQ(UriDecode(broken, false), std::nullopt) << broken;
  }
}

TEST(Text, EveryByteSurvivesEncodingAndDecoding) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(UriDecode(UriEncode(all, false), false), all);
  EXPECT_EQ(UriDecode(ListEncode(all), true), all);
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(Base64Decode(Base64Encode(all.substr(250 - n, n))), all.substr(250 - n, n));
  }
}

TEST(Text, Base64DecodingIsStrict) {
  for (const char* broken : {"A", "AA", "AAA", "A===", "AA=A", "AAA*", "====", "AA==AAAA"}) {
    EXPECT_EQ(Base64Decode(broken), std::nullopt) << broken;
  }
}

TEST(Text, Utf8IsCheckedInFull) {
  EXPECT_TRUE(IsValidUtf8("plain \xC3\xBC \xE6\x97\xA5 \xF0\x9F\x8C\x8A"));
  for (const char* broken : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                             "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xFFz"}) {
    EXPECT_FALSE(IsValidUtf8(broken)) << UriEncode(broken, false);
  }
}

TEST(Text, NumbersAreDigitsAlone) {
  EXPECT_EQ(ParseUint("0"), 0U);
  EXPECT_EQ(ParseUint("1234567890123456789"), 1234567890123456789U);
  for (const char* broken : {"", "-1", "+1", " 1", "1 ", "0x1", "12345678901234567890"}) {
    EXPECT_EQ(ParseUint(broken), std::nullopt) << broken;
  }
}

TEST(Text, DatesInAllThreeForms) {
  constexpr std::int64_t kTime = 1369353600;  // 2013-05-24
  EXPECT_EQ(FormatHttpDate(kTime), "Fri, 24 May 2013 00:00:00 GMT");
  EXPECT_EQ(ParseHttpDate("Fri, 24 May 2013 00:00:00 GMT"), kTime);
  EXPECT_EQ(FormatAmzDate(kTime), "20130524T000000Z");
  EXPECT_EQ(ParseAmzDate("20130524T000000Z"), kTime);
  EXPECT_EQ(FormatIsoDate(kTime * 1000 + 7), "2013-05-24T00:00:00.007Z");
  EXPECT_EQ(ParseAmzDate("20131324T000000Z"), std::nullopt);
  EXPECT_EQ(ParseHttpDate("yesterday"), std::nullopt);
}

TEST(Text, XmlKeepsControlCharactersAsReferences) {
  std::string xml;
  AppendXmlEscaped(xml, "a&<>\"\x01\n");
  EXPECT_EQ(xml, "a&amp;&lt;&gt;&quot;&#x1;&#xA;");
}

}  // namespace
}  // namespace headrace::devserver
