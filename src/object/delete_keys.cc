#include "object/delete_keys.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "s3/xml.h"

namespace headrace::object {
namespace {

constexpr std::size_t kDeleteBatch = 1000;

}  // namespace

std::vector<Status> DeleteKeys(const Context& context, std::span<const store::Name> names,
                               const std::stop_token& stop) {
  struct Batch {
    std::vector<std::size_t> places;
    std::vector<std::string> keys;
    Pending<std::vector<Status>> pending;
  };
  std::vector<Status> statuses(names.size());
  std::map<std::string, Batch> open;
  std::vector<Batch> sent;
  std::vector<std::pair<std::size_t, Pending<store::Nothing>>> single;
  auto send = [&](const std::string& bucket, Batch& batch) {
    batch.pending = context.store->DeleteMany(bucket, batch.keys);
    sent.push_back(std::move(batch));
    batch = {};
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const store::Name& name = names[i];
    if (!s3::XmlCanCarry(name.key) || names.size() == 1) {
      single.emplace_back(i, context.store->Delete(name));
      continue;
    }
    Batch& batch = open[name.bucket];
    batch.places.push_back(i);
    batch.keys.push_back(name.key);
    if (batch.keys.size() == kDeleteBatch) send(name.bucket, batch);
  }
  for (auto& [bucket, batch] : open) {
    if (!batch.keys.empty()) send(bucket, batch);
  }
  // An interrupt ends one wait; what is left then is dropped, not waited for.
  std::optional<Status> stopped;
  auto wait = [&]<typename T>(Pending<T>& pending) -> Result<T> {
    if (stopped) return *stopped;
    Result<T> result = pending.Wait(stop);
    if (result.status().code() == StatusCode::kCancelled) stopped = result.status();
    return result;
  };
  for (Batch& batch : sent) {
    const Result<std::vector<Status>> result = wait(batch.pending);
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      statuses[batch.places[i]] = result.ok() ? (*result)[i] : result.status();
    }
  }
  for (auto& [place, pending] : single) statuses[place] = wait(pending).status();
  return statuses;
}

}  // namespace headrace::object
