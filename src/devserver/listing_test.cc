#include "devserver/listing.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace headrace::devserver {
namespace {

class SetCursor final : public KeyCursor {
 public:
  explicit SetCursor(const std::set<std::string>& keys) : keys_(keys), at_(keys.end()) {}
  void Seek(std::string_view at_least) override { at_ = keys_.lower_bound(std::string(at_least)); }
  void Next() override { ++at_; }
  bool Valid() const override { return at_ != keys_.end(); }
  std::string_view Key() const override { return *at_; }
  ListedObject Object() const override { return {*at_, "", 0, 0, "", ""}; }

 private:
  const std::set<std::string>& keys_;
  std::set<std::string>::const_iterator at_;
};

struct Listed {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;
  bool operator==(const Listed&) const = default;
};

// All pages, resumed by token or, as version 1 does, by the marker alone.
Listed ListAll(const std::set<std::string>& keys, ListQuery query, bool by_marker) {
  Listed all;
  for (int pages = 0; pages < 1000; ++pages) {
    SetCursor cursor(keys);
    ListPage page = MakeListPage(cursor, query);
    EXPECT_LE(page.objects.size() + page.common_prefixes.size(), query.max_keys);
    for (const auto& object : page.objects) all.keys.push_back(object.key);
    all.prefixes.insert(all.prefixes.end(), page.common_prefixes.begin(),
                        page.common_prefixes.end());
    if (!page.truncated) return all;
    query.position = by_marker ? PositionOfMarker(page.next.after, query.prefix, query.delimiter)
                               : DecodeToken(EncodeToken(page.next)).value();
  }
  ADD_FAILURE() << "the listing does not end";
  return all;
}

// What a listing means, without pages and seeks.
Listed Reference(const std::set<std::string>& keys, const ListQuery& query) {
  Listed out;
  for (const std::string& key : keys) {
    if (!key.starts_with(query.prefix)) continue;
    std::size_t at = query.delimiter.empty() ? std::string::npos
                                             : key.find(query.delimiter, query.prefix.size());
    if (at == std::string::npos) {
      out.keys.push_back(key);
    } else {
      std::string rolled = key.substr(0, at + query.delimiter.size());
      if (out.prefixes.empty() || out.prefixes.back() != rolled) out.prefixes.push_back(rolled);
    }
  }
  return out;
}

TEST(Listing, PagesOfAnySizeGiveTheSameWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> keys;
    const std::string alphabet("a/b-\xFF\x01", 6);
    for (int i = 0; i < 30; ++i) {
      std::string key;
      for (std::size_t n = random() % 6 + 1; n > 0; --n)
        key += alphabet[random() % alphabet.size()];
      keys.insert(key);
    }
    ListQuery query;
    query.prefix = round % 3 == 0 ? "a" : "";
    query.delimiter = round % 4 == 0 ? "" : round % 4 == 1 ? "/b" : "/";
    query.max_keys = random() % 7 + 1;
    Listed expected = Reference(keys, query);
    EXPECT_EQ(ListAll(keys, query, false), expected);
    EXPECT_EQ(ListAll(keys, query, true), expected);
  }
}

TEST(Listing, AFolderOfManyKeysIsSkippedAtOnce) {
  struct CountingCursor final : KeyCursor {
    explicit CountingCursor(const std::set<std::string>& keys) : inner(keys) {}
    void Seek(std::string_view k) override { ++moves, inner.Seek(k); }
    void Next() override { ++moves, inner.Next(); }
    bool Valid() const override { return inner.Valid(); }
    std::string_view Key() const override { return inner.Key(); }
    ListedObject Object() const override { return inner.Object(); }
    SetCursor inner;
    int moves = 0;
  };
  std::set<std::string> keys = {"a", "z"};
  for (int i = 0; i < 10'000; ++i) keys.insert("m/" + std::to_string(i));
  CountingCursor cursor(keys);
  ListQuery query;
  query.delimiter = "/";
  ListPage page = MakeListPage(cursor, query);
  EXPECT_EQ(page.objects.size(), 2U);
  EXPECT_EQ(page.common_prefixes, std::vector<std::string>{"m/"});
  EXPECT_LT(cursor.moves, 10);
}

TEST(Listing, StartsBehindAMarkerThatIsNoKey) {
  std::set<std::string> keys = {"a", "c", "e"};
  SetCursor cursor(keys);
  ListQuery query;
  query.position = PositionOfMarker("b", "", "");
  ListPage page = MakeListPage(cursor, query);
  ASSERT_EQ(page.objects.size(), 2U);
  EXPECT_EQ(page.objects[0].key, "c");
  EXPECT_FALSE(page.truncated);
}

TEST(Listing, NoKeysAskedMeansNoneAndTheEnd) {
  std::set<std::string> keys = {"a"};
  SetCursor cursor(keys);
  ListQuery query;
  query.max_keys = 0;
  EXPECT_FALSE(MakeListPage(cursor, query).truncated);
}

TEST(Listing, ForeignTokensAreRefused) {
  for (const char* token : {"", "x", "eHg=", "!!!!"}) {
    EXPECT_FALSE(DecodeToken(token).ok()) << token;
  }
}

}  // namespace
}  // namespace headrace::devserver
