#include "s3/active_request.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/macros.h"
#include "s3/time_text.h"
#include "s3/uri.h"
#include "s3/xml.h"

namespace headrace::s3 {
namespace {

constexpr std::size_t kErrorBodyLimit = 64UL * 1024;
// Bytes that fail their checksum are fetched again this many times.
constexpr int kMaxMismatches = 2;

std::uint64_t Micros(Duration d) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

}  // namespace

ActiveRequest::ActiveRequest(const LoopContext* context, S3Request request,
                             Promise<S3Reply> promise)
    : context_(*context),
      request_(std::move(request)),
      promise_(std::move(promise)),
      machine_(
          [&] {
            AttemptPolicy policy = *context->policy;
            policy.hedge = policy.hedge && request_.operation == Operation::kGet;
            return policy;
          }(),
          context->attempts),
      began_(context->clock->Now()),
      reply_(&request_, context->buffers) {
  for (int i = 0; i < kSlots; ++i) {
    attempts_[static_cast<std::size_t>(i)].owner = this;
    attempts_[static_cast<std::size_t>(i)].slot = i;
  }
}

ActiveRequest::~ActiveRequest() {
  *self_ = nullptr;
  context_.loop->CancelTimer(timer_);
  for (Attempt& attempt : attempts_) {
    if (attempt.transfer != 0) context_.loop->Abort(attempt.transfer);
  }
}

void ActiveRequest::Start(bool saturated, Done done) {
  done_ = std::move(done);
  saturated_ = saturated;
  began_ = context_.clock->Now();  // waiting in the queue is not the service's slowness
  Perform(machine_.Start(context_.clock->Now()));
}

void ActiveRequest::Cancel() { Finish(Status(StatusCode::kCancelled, "cancelled by the caller")); }

// The idle timeout ended this attempt: the next goes elsewhere, where there is another address.
void ActiveRequest::OnSilence(const Attempt& attempt, bool retried) {
  if (retried) context_.metrics->retries[static_cast<std::size_t>(ErrorClass::kTransient)].Add();
  if (!attempt.address.empty()) context_.resolver->ReportFailure(attempt.host, attempt.address);
}

void ActiveRequest::Perform(const AttemptMachine::Actions& actions) {
  const bool goes_on = actions.finish == AttemptMachine::Outcome::kNone;
  for (const int slot : actions.silent) {
    OnSilence(attempts_[static_cast<std::size_t>(slot)], goes_on);
  }
  for (const int slot : actions.abort) {
    Attempt& attempt = attempts_[static_cast<std::size_t>(slot)];
    if (attempt.transfer != 0) context_.loop->Abort(std::exchange(attempt.transfer, 0));
    attempt.run = 0;
    if (attempt.good && request_.operation != Operation::kGet) reply_.Restart();
  }
  switch (actions.finish) {
    case AttemptMachine::Outcome::kSuccess:
      Finish(reply_.Take());
      return;
    case AttemptMachine::Outcome::kFailed:
      Finish(WithFacts(last_failure_));
      return;
    case AttemptMachine::Outcome::kTimedOut: {
      const double seconds = std::chrono::duration<double>(context_.clock->Now() - began_).count();
      const std::string what = fmt::format("no answer within {:.1f} s", seconds);
      Finish(WithFacts(
          last_failure_.ok()
              ? Status(StatusCode::kTimeout, what)
              : Status(last_failure_.code() == StatusCode::kThrottled ? StatusCode::kThrottled
                                                                      : StatusCode::kTimeout,
                       fmt::format("{}; the last failure: {}", what, last_failure_.message()),
                       last_failure_.info())));
      return;
    }
    case AttemptMachine::Outcome::kNone:
      break;
  }
  if (actions.send) {
    if (actions.send_is_hedge) context_.metrics->hedges_sent.Add();
    Rearm();
    Send(*actions.send);  // last: it may fail at once and end this request
    return;
  }
  Rearm();
}

void ActiveRequest::Rearm() {
  const SteadyTime next = machine_.next_timer();
  // A timer that is armed for an earlier moment looks again then: cheaper than re-arming each time.
  if (timer_ != 0 && timer_at_ <= next) return;
  context_.loop->CancelTimer(timer_);
  timer_ = 0;
  if (next == SteadyTime::max()) return;
  timer_at_ = next;
  timer_ = context_.loop->At(next, [this] { OnTimer(); });
}

void ActiveRequest::OnTimer() {
  timer_ = 0;
  const SteadyTime now = context_.clock->Now();
  for (const Attempt& attempt : attempts_) {
    if (attempt.transfer != 0) {
      machine_.SetBytesMoved(attempt.slot, context_.loop->BytesMoved(attempt.transfer), now);
    }
  }
  if (now < machine_.next_timer()) {
    Rearm();
    return;
  }
  Perform(machine_.OnTimer(now));
}

void ActiveRequest::Send(int slot) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(slot)];
  attempt.run = ++runs_;
  attempt.received_before = reply_.received();
  attempt.sent = context_.clock->Now();
  attempt.status = 0;
  attempt.good = false;
  attempt.address.clear();
  attempt.error_headers.Clear();
  attempt.error_body.clear();
  attempt.refusal = Status();
  if (reply_.range_complete()) {
    // The attempt before fell silent after the last byte that was asked for.
    Perform(machine_.OnGoodHead(slot, attempt.sent));
    return Perform(machine_.OnComplete(slot));
  }
  if (context_.credentials == nullptr) return SendWith(slot, nullptr);
  if (std::shared_ptr<const Credentials> fresh = context_.credentials->Get()) {
    return SendWith(slot, std::move(fresh));
  }
  context_.credentials->GetAsync(
      [self = self_, loop = context_.loop->mailbox(), slot, run = attempt.run](auto result) {
        loop->Post([self, slot, run, result = std::move(result)] {
          ActiveRequest* request = *self;
          if (request == nullptr) return;
          if (request->attempts_[static_cast<std::size_t>(slot)].run != run) return;
          if (!result.ok()) {
            request->Fail(slot, result.status(), ErrorClass::kFatal);
          } else {
            request->SendWith(slot, *result);
          }
        });
      });
}

void ActiveRequest::SendWith(int slot, std::shared_ptr<const Credentials> credentials) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(slot)];
  attempt.credentials = std::move(credentials);
  const Route route = context_.endpoints->For(request_.bucket, request_.key);
  attempt.endpoint = route.endpoint;
  attempt.host = route.target.connect_host;
  if (route.skip_lookup) return SendTo(slot, route, "");
  // The answer is often known, and then given at once: no trip through the queue of posted work.
  auto inline_answer = std::make_shared<std::optional<Result<std::string>>>();
  auto returned = std::make_shared<bool>(false);
  context_.resolver->Pick(
      attempt.host, [self = self_, loop = context_.loop->mailbox(), slot, run = attempt.run, route,
                     inline_answer, returned](Result<std::string> address) {
        if (loop->InLoop() && !*returned) {
          inline_answer->emplace(std::move(address));
          return;
        }
        loop->Post([self, slot, run, route, address = std::move(address)] {
          ActiveRequest* request = *self;
          if (request == nullptr) return;
          if (request->attempts_[static_cast<std::size_t>(slot)].run != run) return;
          if (!address.ok()) {
            request->Fail(slot, address.status(), ErrorClass::kTransient);
          } else {
            request->SendTo(slot, route, *address);
          }
        });
      });
  *returned = true;
  if (!inline_answer->has_value()) return;
  const Result<std::string>& address = **inline_answer;
  if (!address.ok()) return Fail(slot, address.status(), ErrorClass::kTransient);
  SendTo(slot, route, *address);
}

void ActiveRequest::SendTo(int slot, const Route& route, const std::string& address) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(slot)];
  const bool bind = !drop_if_match_ && !context_.endpoints->refuses_if_match();
  attempt.signed_at = context_.endpoints->SigningTime(context_.clock->WallNow());
  Result<net::Request> wire =
      BuildWireRequest({.request = request_,
                        .route = route,
                        .credentials = attempt.credentials.get(),
                        .received = reply_.received(),
                        .if_match = bind ? std::string_view(reply_.etag()) : std::string_view(),
                        .time = attempt.signed_at},
                       *context_.wire, *context_.signer);
  if (!wire.ok()) return Fail(slot, wire.status(), ErrorClass::kFatal);
  wire->pinned_address = address;
  wire->proxy = route.proxy;
  attempt.address = address;
  attempt.proxy = route.proxy;
  context_.metrics->requests[static_cast<std::size_t>(request_.operation)].Add();
  context_.metrics->bytes_sent.Add(request_.body.size());
  attempt.transfer = context_.loop->Start(std::move(*wire), &attempt);
}

void ActiveRequest::Fail(int slot, Status status, ErrorClass error_class, Duration retry_after) {
  last_failure_ = std::move(status);
  Attempt& attempt = attempts_[static_cast<std::size_t>(slot)];
  const bool kept = attempt.good && reply_.received() > 0 &&
                    error_class == ErrorClass::kTransient && request_.operation == Operation::kGet;
  // Only an object's body can be taken up where it broke off.
  if (attempt.good && !kept) reply_.Restart();
  attempt.transfer = 0;
  attempt.run = 0;
  const bool advanced = kept && reply_.Advanced(attempt.received_before);
  // A hedge that got no answer (its credentials, its address may be others) says nothing of the
  // attempt that is under way.
  if (error_class == ErrorClass::kFatal && attempt.status == 0 &&
      machine_.IsHedgeBesideOthers(slot)) {
    error_class = ErrorClass::kTransient;
  }
  const AttemptMachine::Actions actions =
      machine_.OnFailure(slot, error_class, retry_after, advanced, context_.clock->Now(),
                         context_.endpoints->answered());
  if (actions.finish == AttemptMachine::Outcome::kNone) {
    context_.metrics->retries[static_cast<std::size_t>(error_class)].Add();
  }
  if (error_class == ErrorClass::kThrottle) context_.flow->OnThrottle(context_.clock->Now());
  Perform(actions);
}

void ActiveRequest::Finish(Result<S3Reply> result) {
  if (!promise_.valid()) return;
  EngineMetrics& metrics = *context_.metrics;
  metrics.total.Record(Micros(context_.clock->Now() - began_));
  if (!result.ok() && result.status().code() != StatusCode::kCancelled) {
    metrics.failures[static_cast<std::size_t>(request_.operation)].Add();
  }
  if (result.ok() && machine_.hedge_won()) metrics.hedges_won.Add();
  for (Attempt& attempt : attempts_) {
    if (attempt.transfer != 0) context_.loop->Abort(std::exchange(attempt.transfer, 0));
    attempt.run = 0;
  }
  // The books are right before anybody hears of the end. This object may be gone after that.
  Promise<S3Reply> promise = std::move(promise_);
  if (done_) std::exchange(done_, nullptr)(this);
  promise.Set(std::move(result));
}

Status ActiveRequest::WithFacts(Status status) const {
  ErrorInfo info = status.info();
  info.bucket = request_.bucket;
  info.key = request_.key;
  info.attempts = machine_.attempts();
  info.elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(context_.clock->Now() - began_);
  return status.WithInfo(std::move(info));
}

// ---------------------------------------------------------------------------------------------------
// The answer.

void ActiveRequest::Attempt::OnHead(int status_code, const net::Headers& headers) {
  status = status_code;
  ActiveRequest& r = *owner;
  r.context_.endpoints->SetAnswered();
  const SteadyTime now = r.context_.clock->Now();
  first_byte = now - sent;
  r.context_.metrics->first_byte.Record(Micros(first_byte));
  good = status_code >= 200 && status_code < 300;
  if (good) {
    refusal = r.reply_.Accept(status_code, headers);
    if (refusal.ok()) {
      if (r.request_.operation == Operation::kGet) {
        if (r.drop_if_match_) r.context_.endpoints->SetRefusesIfMatch();
        r.context_.attempts.hedges->OnFirstByte(now - r.began_);
      }
      // Aborts the others; this attempt goes on.
      r.Perform(r.machine_.OnGoodHead(slot, now));
      return;
    }
    good = false;
  }
  error_headers = headers;
}

bool ActiveRequest::Attempt::OnBody(std::span<const std::byte> bytes) {
  if (!refusal.ok()) return false;
  if (good) {
    owner->context_.metrics->bytes_received.Add(bytes.size());
    return owner->reply_.Append(bytes);
  }
  const std::size_t room = kErrorBodyLimit - std::min(error_body.size(), kErrorBodyLimit);
  error_body.append(reinterpret_cast<const char*>(bytes.data()), std::min(room, bytes.size()));
  return true;
}

void ActiveRequest::Attempt::OnEnd(const net::TransferEnd& end) {
  ActiveRequest& r = *owner;
  transfer = 0;
  r.machine_.CountResends(end.resends);
  using Kind = net::TransferEnd::Kind;
  const bool cut = end.kind == Kind::kStopped && good && r.reply_.cut_short();
  if (!refusal.ok()) {
    const bool again = refusal.code() == StatusCode::kProtocol;
    r.Fail(slot, refusal, again ? ErrorClass::kTransient : ErrorClass::kFatal);
  } else if (good && (end.kind == Kind::kComplete || cut)) {
    r.OnWhole(*this);
  } else if (end.kind == Kind::kComplete) {
    r.OnRefused(*this);
  } else {
    r.OnBroken(*this, end);
  }
}

void ActiveRequest::OnWhole(Attempt& attempt) {
  if (const Status bad = reply_.Verify(); bad.code() == StatusCode::kChecksumMismatch) {
    reply_.Restart();
    attempt.good = false;
    const bool again = ++mismatches_ <= kMaxMismatches;
    return Fail(attempt.slot, bad, again ? ErrorClass::kTransient : ErrorClass::kFatal);
  } else if (!bad.ok()) {
    return Fail(attempt.slot, bad, ErrorClass::kTransient);
  }
  if (FactsOf(request_.operation).error_in_200) {
    ServerAnswer answer{.http_status = attempt.status};
    if (ParseErrorDocument(reply_.body(), &answer)) {
      attempt.error_headers = reply_.headers();
      attempt.error_body.assign(reply_.body());
      reply_.Restart();
      attempt.good = false;
      return OnRefused(attempt);
    }
  }
  const SteadyTime now = context_.clock->Now();
  context_.flow->OnAnswer(attempt.first_byte, now - attempt.sent,
                          reply_.received() + request_.body.size(), saturated_, now);
  Perform(machine_.OnComplete(attempt.slot));
}

// What a refusal says, in its headers and its body.
ServerAnswer ActiveRequest::ReadAnswer(const Attempt& attempt) const {
  const net::Headers& headers = attempt.error_headers;
  ServerAnswer answer;
  answer.http_status = attempt.status;
  answer.request_id = headers.Get("x-amz-request-id");
  answer.region = headers.Get("x-amz-bucket-region");
  answer.location = headers.Get("Location");
  if (const std::optional<WallTime> date = ParseHttpDate(headers.Get("Date"))) {
    using std::chrono::round;
    using std::chrono::seconds;
    answer.clock_offset = round<seconds>(*date - context_.clock->WallNow());
    answer.signing_offset = round<seconds>(*date - attempt.signed_at);
  }
  ParseErrorDocument(attempt.error_body, &answer);
  return answer;
}

// There are no bytes at that offset. That is an answer: with it comes the object's size, in
// Content-Range or, from servers that leave that out, in the error document.
bool ActiveRequest::AcceptNothingThere(Attempt& attempt) {
  const net::Headers& headers = attempt.error_headers;
  std::optional<std::uint64_t> size;
  if (const auto range = ParseContentRange(headers.Get("Content-Range"))) size = range->size;
  if (!size) size = ParseActualObjectSize(attempt.error_body);
  if (!size) return false;
  // Where a version is wanted and If-Match cannot ask for it, this answer is of no use: it does not
  // name its own.
  const bool unchecked = drop_if_match_ || context_.endpoints->refuses_if_match();
  if (reply_.received() == 0 && unchecked && !reply_.etag().empty()) return false;
  if (!reply_.AcceptNothingThere(attempt.status, headers, *size)) return false;
  Perform(machine_.OnGoodHead(attempt.slot, context_.clock->Now()));
  OnWhole(attempt);
  return true;
}

bool ActiveRequest::HasHeader(std::string_view name) const {
  return std::any_of(request_.headers.begin(), request_.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

void ActiveRequest::OnRefused(Attempt& attempt) {
  const ServerAnswer answer = ReadAnswer(attempt);
  if (answer.http_status == 416 && AcceptNothingThere(attempt)) return;
  const Endpoint& endpoint = *attempt.endpoint;
  const std::string url = endpoint.Url();
  const bool signed_request = attempt.credentials && !attempt.credentials->anonymous();
  const RequestFacts facts{
      .action = FactsOf(request_.operation).action,
      .bucket = request_.bucket,
      .key = request_.key,
      .endpoint = url,
      .region = endpoint.region,
      .session_credentials = signed_request && !attempt.credentials->session_token.empty(),
      .anonymous = !signed_request,
      .if_match = !reply_.etag().empty() || HasHeader("x-amz-copy-source-if-match"),
      .if_none_match = HasHeader("If-None-Match")};
  if (answer.http_status == 412 && request_.operation == Operation::kGet &&
      !reply_.etag().empty() && !std::exchange(drop_if_match_, true)) {
    // Some servers know the version and refuse it all the same, because of its quotes. Asked
    // without If-Match, the answer's ETag tells whether the object really changed.
    return Fail(attempt.slot, ToStatus(answer, facts), ErrorClass::kRedirect);
  }
  const ErrorClass error_class = Classify(answer, facts);
  Status status = ToStatus(answer, facts);
  if (answer.http_status == 416 && !reply_.etag().empty()) {
    // The version that is being read reaches further.
    status = Status(
        StatusCode::kObjectChanged,
        fmt::format("{} was replaced by a shorter object while it was being read; open it again to "
                    "read the new version",
                    FormatUri(request_.bucket, request_.key)),
        status.info());
  }
  if (error_class == ErrorClass::kAuthRefresh && context_.credentials != nullptr) {
    context_.credentials->Invalidate(*attempt.credentials);
  }
  if (error_class == ErrorClass::kClockSkew)
    context_.endpoints->SetClockOffset(answer.clock_offset);
  if (error_class == ErrorClass::kRedirect) {
    if (const Status moved = context_.endpoints->Follow(request_.bucket, attempt.endpoint, answer);
        !moved.ok()) {
      return Fail(attempt.slot, moved.WithInfo(status.info()), ErrorClass::kFatal);
    }
  }
  Fail(attempt.slot, status, error_class,
       ParseRetryAfter(attempt.error_headers.Get("Retry-After"), context_.clock->WallNow()));
}

void ActiveRequest::OnBroken(Attempt& attempt, const net::TransferEnd& end) {
  if (attempt.good && reply_.range_complete()) {
    return OnWhole(attempt);  // all that was asked for had come
  }
  using Kind = net::TransferEnd::Kind;
  std::string where = attempt.endpoint->Url();
  if (!attempt.proxy.empty()) {
    // Without the user and the password that may stand before the host.
    where +=
        fmt::format(" through the proxy {}", attempt.proxy.substr(attempt.proxy.rfind('@') + 1));
  }
  switch (end.kind) {
    case Kind::kConnectFailed:
      if (!attempt.address.empty()) context_.resolver->ReportFailure(attempt.host, attempt.address);
      return Fail(
          attempt.slot,
          Status(StatusCode::kUnreachable,
                 fmt::format("cannot connect to {}: {}; check that the {}", where, end.detail,
                             !attempt.proxy.empty() ? "proxy is right and up"
                             : where.starts_with("https:")
                                 ? "endpoint is right and up, and that it speaks https"
                                 : "endpoint is right and up")),
          ErrorClass::kTransient);
    case Kind::kTlsFailed:
      return Fail(
          attempt.slot,
          Status(StatusCode::kUnreachable,
                 fmt::format("no TLS connection to {}: {}; set AWS_CA_BUNDLE to the file of "
                             "authorities that signed its certificate",
                             where, end.detail)),
          ErrorClass::kFatal);
    case Kind::kRefused:
      return Fail(attempt.slot,
                  Status(StatusCode::kInvalidArgument,
                         fmt::format("cannot form a request to {}: {}", where, end.detail)),
                  ErrorClass::kFatal);
    default:
      return Fail(
          attempt.slot,
          Status(StatusCode::kUnreachable,
                 fmt::format("the connection to {} broke in mid-answer: {}", where, end.detail)),
          ErrorClass::kTransient);
  }
}

}  // namespace headrace::s3
