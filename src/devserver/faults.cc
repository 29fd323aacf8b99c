#include "devserver/faults.h"

#include <algorithm>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/macros.h"

namespace headrace::devserver {
namespace {

using nlohmann::json;

constexpr std::pair<std::string_view, FaultKind> kKinds[] = {
    {"stall", FaultKind::kStall},     {"reset", FaultKind::kReset},
    {"close", FaultKind::kClose},     {"truncate", FaultKind::kTruncate},
    {"corrupt", FaultKind::kCorrupt}, {"status", FaultKind::kStatus},
    {"drip", FaultKind::kDrip},       {"wrong-length", FaultKind::kWrongLength}};

constexpr std::string_view kFields[] = {"operation",
                                        "bucket",
                                        "key",
                                        "nth",
                                        "every",
                                        "probability",
                                        "times",
                                        "do",
                                        "on",
                                        "execute",
                                        "at",
                                        "ms",
                                        "delta",
                                        "status",
                                        "code",
                                        "message",
                                        "body",
                                        "headers",
                                        "bytes_per_second",
                                        "comment"};

Status Bad(std::string what) { return Status(StatusCode::kInvalidArgument, std::move(what)); }

Status ReadAction(const json& in, FaultAction* action) {
  std::string kind = in.at("do");
  auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                            [&](const auto& entry) { return entry.first == kind; });
  if (found == std::end(kKinds)) {
    return Bad(
        fmt::format("\"do\" is \"{}\"; it must be one of stall, reset, close, truncate, "
                    "corrupt, status, drip, wrong-length",
                    kind));
  }
  action->kind = found->second;
  std::string on = in.value("on", "response");
  if (on != "response" && on != "request") return Bad("\"on\" must be \"request\" or \"response\"");
  action->on_request = on == "request";
  const bool breaks_request = action->kind == FaultKind::kStall ||
                              action->kind == FaultKind::kReset ||
                              action->kind == FaultKind::kClose || action->kind == FaultKind::kDrip;
  if (action->on_request && !breaks_request) {
    return Bad("\"on\": \"request\" goes with stall, reset, close and drip alone");
  }
  if (in.contains("at")) action->at = in.at("at").get<std::int64_t>();
  if (action->kind == FaultKind::kTruncate && !action->at) return Bad("truncate needs \"at\"");
  // Where no answer comes, nothing is done unless the rule asks for it: the lost-answer case.
  bool answers =
      action->kind != FaultKind::kStatus &&
      !((action->kind == FaultKind::kReset || action->kind == FaultKind::kClose) && !action->at);
  action->execute = in.value("execute", answers);
  action->ms = in.value("ms", std::int64_t{0});
  action->delta = in.value("delta", std::int64_t{0});
  action->bytes_per_second = in.value("bytes_per_second", 0.0);
  action->status = in.value("status", 503);
  action->code = in.value("code", action->status == 503 ? "SlowDown" : "InternalError");
  action->message = in.value("message", "A fault rule asked for this answer.");
  if (in.contains("body")) action->body = in.at("body").get<std::string>();
  if (in.contains("headers")) {
    for (const auto& [name, value] : in.at("headers").items()) {
      action->headers.emplace_back(name, value.get<std::string>());
    }
  }
  if (action->kind == FaultKind::kStall && action->ms <= 0)
    return Bad("stall needs \"ms\" above 0");
  if (action->kind == FaultKind::kDrip && action->bytes_per_second <= 0) {
    return Bad("drip needs \"bytes_per_second\" above 0");
  }
  if (action->kind == FaultKind::kWrongLength && action->delta == 0) {
    return Bad("wrong-length needs a \"delta\" other than 0");
  }
  if (action->status < 200 || action->status > 599) return Bad("\"status\" must be 200 to 599");
  return Status();
}

Status ReadOperations(const json& in, std::vector<Operation>* operations) {
  if (!in.contains("operation")) return Status();
  const json& value = in.at("operation");
  for (const json& name : value.is_array() ? value : json::array({value})) {
    if (name == "*") continue;
    auto op = ParseOperation(name.get<std::string>());
    if (!op) return Bad(fmt::format("there is no operation \"{}\"", name.get<std::string>()));
    operations->push_back(*op);
  }
  return Status();
}

}  // namespace

std::uint64_t FaultAction::At(std::uint64_t size) const {
  std::int64_t n = at.value_or(0);
  if (n < 0) n = std::max<std::int64_t>(0, static_cast<std::int64_t>(size) + n);
  return std::min(static_cast<std::uint64_t>(n), size);
}

bool GlobMatch(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct RuleParser {
  static Status Read(const json& in, FaultInjector::Rule* rule) {
    if (!in.is_object()) return Bad("a rule must be an object");
    for (const auto& [name, value] : in.items()) {
      if (std::find(std::begin(kFields), std::end(kFields), name) == std::end(kFields)) {
        return Bad(fmt::format("unknown field \"{}\"", name));
      }
    }
    RETURN_IF_ERROR(ReadOperations(in, &rule->operations));
    rule->bucket = in.value("bucket", "*");
    rule->key = in.value("key", "*");
    if (in.contains("nth")) rule->nth = in.at("nth").get<std::uint64_t>();
    if (in.contains("every")) rule->every = in.at("every").get<std::uint64_t>();
    if (in.contains("times")) rule->times = in.at("times").get<std::uint64_t>();
    if (rule->nth == 0U || rule->every == 0U) return Bad("\"nth\" and \"every\" count from 1");
    rule->probability = in.value("probability", 1.0);
    if (rule->probability < 0 || rule->probability > 1)
      return Bad("\"probability\" must be 0 to 1");
    return ReadAction(in, &rule->action);
  }
};

Status FaultInjector::SetRules(std::string_view text) {
  json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) return Bad("the fault rules are not JSON");
  if (in.is_array()) in = {{"rules", in}};
  if (!in.is_object() || !in.contains("rules") || !in.at("rules").is_array()) {
    return Bad("the fault rules must be {\"seed\": N, \"rules\": […]} or a list of rules");
  }
  std::vector<Rule> rules;
  std::uint64_t seed = 1;
  try {
    seed = in.value("seed", std::uint64_t{1});
    for (const json& entry : in.at("rules")) {
      Rule rule;
      RETURN_IF_ERROR(RuleParser::Read(entry, &rule)
                          .WithContext(fmt::format("fault rule {}", rules.size() + 1)));
      rules.push_back(std::move(rule));
    }
  } catch (const json::exception& error) {
    return Bad(fmt::format("fault rule {}: {}", rules.size() + 1, error.what()));
  }
  std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  random_state_ = seed;
  any_ = !rules_.empty();
  return Status();
}

std::optional<FaultAction> FaultInjector::Match(Operation op, std::string_view bucket,
                                                std::string_view key) {
  if (!any_.load(std::memory_order_relaxed) || op == Operation::kAdmin) return std::nullopt;
  std::lock_guard lock(mutex_);
  for (Rule& rule : rules_) {
    if (!rule.operations.empty() &&
        std::find(rule.operations.begin(), rule.operations.end(), op) == rule.operations.end()) {
      continue;
    }
    if (!GlobMatch(rule.bucket, bucket) || !GlobMatch(rule.key, key)) continue;
    ++rule.seen;
    if (rule.times && rule.struck >= *rule.times) continue;
    if (rule.nth && rule.seen != *rule.nth) continue;
    if (rule.every && rule.seen % *rule.every != 0) continue;
    if (rule.probability < 1) {
      // splitmix64: one seed gives one sequence of strikes on every machine.
      std::uint64_t z = (random_state_ += 0x9E3779B97F4A7C15ULL);
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      double uniform = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
      if (uniform >= rule.probability) continue;
    }
    ++rule.struck;
    return rule.action;
  }
  return std::nullopt;
}

}  // namespace headrace::devserver
