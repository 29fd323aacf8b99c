#include "s3/flow.h"

namespace headrace::s3 {
namespace {

// Before enough was seen, a request is late after this long.
constexpr Duration kFirstThreshold = std::chrono::milliseconds(500);
// A hedge sooner than this is noise: the service is fast, and our own CPU is what is late.
constexpr Duration kLeastThreshold = std::chrono::milliseconds(25);
constexpr std::size_t kEnough = 24;

// An answer costs something even when it carries no bytes.
constexpr std::uint64_t kAnswerWorth = 4096;
constexpr Duration kShortestRound = std::chrono::milliseconds(20);

Duration MedianOf(std::vector<Duration>& samples) {
  auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

void LatencyWindow::Add(Duration sample) {
  ring_[count_ % kSize] = sample;
  ++count_;
}

Duration LatencyWindow::Quantile(double q) const {
  if (count_ == 0) return Duration::zero();
  if (sorted_.empty() || count_ - sorted_at_ >= 32) {
    sorted_.assign(ring_.begin(),
                   ring_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kSize)));
    std::sort(sorted_.begin(), sorted_.end());
    sorted_at_ = count_;
  }
  const auto index = static_cast<std::size_t>(q * static_cast<double>(sorted_.size()));
  return sorted_[std::min(index, sorted_.size() - 1)];
}

Duration HedgeControl::Threshold() const {
  if (first_bytes_.count() < kEnough) return kFirstThreshold;
  return std::max(first_bytes_.Quantile(0.97), kLeastThreshold);
}

bool HedgeControl::TryHedge(SteadyTime now) {
  if (now < quiet_until_ || allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

void FlowControl::OnAnswer(Duration first_byte, Duration elapsed, std::uint64_t bytes,
                           bool saturated, SteadyTime now) {
  if (limits_.fixed > 0) return;
  if (round_latencies_.empty() && round_bytes_ == 0) round_began_ = now - elapsed;
  round_latencies_.push_back(first_byte);
  round_bytes_ += bytes + kAnswerWorth;
  round_saturated_ = round_saturated_ || saturated;
  if (static_cast<int>(round_latencies_.size()) >= limit_ && now - round_began_ >= kShortestRound) {
    EndRound(now);
  }
}

void FlowControl::EndRound(SteadyTime now) {
  const double seconds = std::chrono::duration<double>(now - round_began_).count();
  const double rate = static_cast<double>(round_bytes_) / seconds;
  const Duration median = MedianOf(round_latencies_);
  recent_medians_.push_back(median);
  if (recent_medians_.size() > 32) recent_medians_.pop_front();
  const Duration lowest = *std::min_element(recent_medians_.begin(), recent_medians_.end());

  if (round_saturated_) {
    // Sub-millisecond medians double by chance; a real queue is longer than that.
    const bool late = median >= 2 * lowest && median > std::chrono::milliseconds(5);
    const bool first = best_rate_ == 0;
    const bool probing = before_probe_ > 0;
    const bool paid = probing && rate >= 1.05 * best_rate_ && !late;
    const bool settled = !probing && !late && ++settled_rounds_ >= 16;
    if (first || paid || settled) {
      best_rate_ = rate;
      Probe();
    } else if (probing) {
      limit_ = std::exchange(before_probe_, 0);
      settled_rounds_ = 0;
    } else if (late) {
      limit_ = std::min(limit_, std::max(limit_ - limit_ / 8, limits_.start));
      best_rate_ = rate;
    }
  }
  round_latencies_.clear();
  round_bytes_ = 0;
  round_saturated_ = false;
}

void FlowControl::Probe() {
  before_probe_ = limit_;
  limit_ = std::min(limit_ + limit_ / 2, limits_.ceiling);
}

void FlowControl::OnThrottle(SteadyTime now) {
  if (limits_.fixed > 0 || now - throttled_at_ < std::chrono::milliseconds(500)) return;
  throttled_at_ = now;
  limit_ = std::max(limit_ / 2, kLowest);
  before_probe_ = 0;
  best_rate_ = 0;
}

}  // namespace headrace::s3
