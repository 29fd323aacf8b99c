#include "s3/sign.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/macros.h"
#include "s3/uri.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::size_t kCachedKeys = 8;  // a few sets of credentials and regions in one process
constexpr std::chrono::seconds kMaxPresignedLifetime = std::chrono::hours(24 * 7);

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Appends the value trimmed, with each run of blanks as one space.
void AppendCanonicalValue(std::string& out, std::string_view value) {
  while (!value.empty() && IsBlank(value.front())) value.remove_prefix(1);
  while (!value.empty() && IsBlank(value.back())) value.remove_suffix(1);
  if (value.find_first_of(" \t") == std::string_view::npos) {
    out += value;
    return;
  }
  bool blank = false;
  for (const char c : value) {
    if (!IsBlank(c)) {
      out += c;
    } else if (!blank) {
      out += ' ';
    }
    blank = IsBlank(c);
  }
}

void AppendDigits(std::string& out, unsigned value, int width) {
  std::array<char, 8> digits;
  for (int i = width - 1; i >= 0; --i) {
    digits[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(digits.data(), width);
}

std::string_view AsView(const Digest256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Status OpenSslFailed() {
  return Status(StatusCode::kInternal, "OpenSSL cannot compute SHA-256; check its configuration");
}

void SetCredentialScope(std::string& out, std::string_view date, const SignScope& scope) {
  out.clear();
  out += date;
  out += '/';
  out += scope.region;
  out += '/';
  out += scope.service;
  out += "/aws4_request";
}

}  // namespace

std::string CanonicalQuery(std::span<const QueryParam> params) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(params.size());
  for (const QueryParam& param : params) {
    encoded.emplace_back(EncodeQuery(param.name), EncodeQuery(param.value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string query;
  for (const auto& [name, value] : encoded) {
    if (!query.empty()) query += '&';
    query += name;
    query += '=';
    query += value;
  }
  return query;
}

void Signer::SetTime(WallTime now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  if (second.time_since_epoch().count() == formatted_second_) return;
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const auto in_day = static_cast<unsigned>((second - day).count());
  date_time_.clear();
  AppendDigits(date_time_, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  AppendDigits(date_time_, static_cast<unsigned>(date.month()), 2);
  AppendDigits(date_time_, static_cast<unsigned>(date.day()), 2);
  date_time_ += 'T';
  AppendDigits(date_time_, in_day / 3600, 2);
  AppendDigits(date_time_, in_day / 60 % 60, 2);
  AppendDigits(date_time_, in_day % 60, 2);
  date_time_ += 'Z';
  formatted_second_ = second.time_since_epoch().count();
}

void Signer::AddHeader(std::string_view name, std::string_view value) {
  HeaderRef header{static_cast<std::uint32_t>(names_.size()),
                   static_cast<std::uint32_t>(name.size()),
                   static_cast<std::uint32_t>(headers_.size()), value};
  for (const char c : name) {
    names_ += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  headers_.push_back(header);
}

Status Signer::CollectHeaders(const SignInput& input) {
  names_.clear();
  headers_.clear();
  AddHeader("host", input.host);
  for (const HeaderView& header : input.headers) {
    // A line break would end the header and let a value smuggle in others.
    if (header.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("header {} holds a line break or a NUL", header.name));
    }
    AddHeader(header.name, header.value);
  }
  return {};
}

void Signer::SortHeaders() {
  std::sort(headers_.begin(), headers_.end(), [this](const HeaderRef& a, const HeaderRef& b) {
    const int order = Name(a).compare(Name(b));
    return order != 0 ? order < 0 : a.order < b.order;
  });
  signed_headers_.clear();
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (i > 0 && Name(headers_[i]) == Name(headers_[i - 1])) continue;
    if (i > 0) signed_headers_ += ';';
    signed_headers_ += Name(headers_[i]);
  }
}

void Signer::BuildCanonicalRequest(const SignInput& input, std::string_view query,
                                   std::string_view payload_hash) {
  std::string& out = canonical_request_;
  out.clear();
  out += input.method;
  out += '\n';
  out += input.path;
  out += '\n';
  out += query;
  out += '\n';
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (i > 0 && Name(headers_[i]) == Name(headers_[i - 1])) {
      out.back() = ',';  // one line for all values of a name
    } else {
      out += Name(headers_[i]);
      out += ':';
    }
    AppendCanonicalValue(out, headers_[i].value);
    out += '\n';
  }
  out += '\n';
  out += signed_headers_;
  out += '\n';
  out += payload_hash;
}

const HmacKey* Signer::SigningKey(const Credentials& credentials, const SignScope& scope) {
  const std::string_view date = std::string_view(date_time_).substr(0, 8);
  auto found = std::find_if(keys_.begin(), keys_.end(), [&](const CachedKey& cached) {
    return cached.date == date && cached.secret == credentials.secret_access_key &&
           cached.region == scope.region && cached.service == scope.service;
  });
  if (found == keys_.end()) {
    Digest256 digest;
    HmacKey step;
    const std::string secret = "AWS4" + credentials.secret_access_key;
    if (!step.Set(sha_, secret) || !step.Compute(sha_, date, &digest)) return nullptr;
    for (const std::string_view part :
         {scope.region, scope.service, std::string_view("aws4_request")}) {
      if (!step.Set(sha_, AsView(digest)) || !step.Compute(sha_, part, &digest)) return nullptr;
    }
    CachedKey cached{credentials.secret_access_key, std::string(date), std::string(scope.region),
                     std::string(scope.service), HmacKey()};
    if (!cached.key.Set(sha_, AsView(digest))) return nullptr;
    OPENSSL_cleanse(digest.data(), digest.size());
    if (keys_.size() == kCachedKeys) keys_.pop_back();
    keys_.push_back(std::move(cached));
    found = keys_.end() - 1;
  }
  std::rotate(keys_.begin(), found, found + 1);
  return &keys_.front().key;
}

Status Signer::ComputeSignature(const Credentials& credentials, const SignScope& scope) {
  Digest256 digest;
  if (!sha_.Hash(canonical_request_, &digest)) return OpenSslFailed();
  string_to_sign_.clear();
  string_to_sign_ += kAlgorithm;
  string_to_sign_ += '\n';
  string_to_sign_ += date_time_;
  string_to_sign_ += '\n';
  string_to_sign_ += credential_scope_;
  string_to_sign_ += '\n';
  AppendHex(string_to_sign_, digest);

  const HmacKey* key = SigningKey(credentials, scope);
  if (key == nullptr || !key->Compute(sha_, string_to_sign_, &digest)) return OpenSslFailed();
  signature_.clear();
  AppendHex(signature_, digest);
  return {};
}

Result<SignedHeaders> Signer::Sign(const SignInput& input, const Credentials& credentials,
                                   const SignScope& scope, WallTime now) {
  SetTime(now);
  SetCredentialScope(credential_scope_, std::string_view(date_time_).substr(0, 8), scope);
  RETURN_IF_ERROR(CollectHeaders(input));
  AddHeader("x-amz-content-sha256", input.payload_hash);
  AddHeader("x-amz-date", date_time_);
  if (!credentials.session_token.empty()) {
    AddHeader("x-amz-security-token", credentials.session_token);
  }
  SortHeaders();
  BuildCanonicalRequest(input, input.query, input.payload_hash);
  RETURN_IF_ERROR(ComputeSignature(credentials, scope));

  authorization_.clear();
  authorization_ += kAlgorithm;
  authorization_ += " Credential=";
  authorization_ += credentials.access_key_id;
  authorization_ += '/';
  authorization_ += credential_scope_;
  authorization_ += ", SignedHeaders=";
  authorization_ += signed_headers_;
  authorization_ += ", Signature=";
  authorization_ += signature_;
  return SignedHeaders{date_time_, input.payload_hash, credentials.session_token, authorization_};
}

Result<std::string> Signer::Presign(const SignInput& input, const Credentials& credentials,
                                    const SignScope& scope, WallTime now,
                                    std::chrono::seconds lifetime) {
  if (lifetime <= std::chrono::seconds(0) || lifetime > kMaxPresignedLifetime) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("a presigned URL lives 1 to {} s, not {}",
                              kMaxPresignedLifetime.count(), lifetime.count()));
  }
  SetTime(now);
  SetCredentialScope(credential_scope_, std::string_view(date_time_).substr(0, 8), scope);
  RETURN_IF_ERROR(CollectHeaders(input));
  SortHeaders();

  // The caller's parameters are encoded already: split them and sort them in among ours.
  std::vector<std::pair<std::string, std::string>> params;
  for (std::string_view rest = input.query; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    params.emplace_back(pair.substr(0, equals),
                        equals == std::string_view::npos ? "" : pair.substr(equals + 1));
  }
  auto add = [&params](std::string_view name, std::string_view value) {
    params.emplace_back(name, EncodeQuery(value));
  };
  add("X-Amz-Algorithm", kAlgorithm);
  add("X-Amz-Credential", fmt::format("{}/{}", credentials.access_key_id, credential_scope_));
  add("X-Amz-Date", date_time_);
  add("X-Amz-Expires", std::to_string(lifetime.count()));
  add("X-Amz-SignedHeaders", signed_headers_);
  if (!credentials.session_token.empty()) add("X-Amz-Security-Token", credentials.session_token);
  std::sort(params.begin(), params.end());
  std::string query;
  for (const auto& [name, value] : params) {
    if (!query.empty()) query += '&';
    query += name;
    query += '=';
    query += value;
  }

  BuildCanonicalRequest(input, query, kUnsignedPayload);
  RETURN_IF_ERROR(ComputeSignature(credentials, scope));
  query += "&X-Amz-Signature=";
  query += signature_;
  return query;
}

}  // namespace headrace::s3
