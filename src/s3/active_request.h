// One request under way on an event loop: carries out what its AttemptMachine decides.
//
// All of it runs on the loop's thread. The bytes of a GET go straight from libcurl's buffer to
// where they belong (reply_builder.h); a body that breaks off keeps what it brought, and the next
// attempt asks for the rest.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "base/buffer_pool.h"
#include "base/clock.h"
#include "base/pending.h"
#include "net/event_loop.h"
#include "net/resolver.h"
#include "s3/attempt.h"
#include "s3/bucket_endpoints.h"
#include "s3/credentials_cache.h"
#include "s3/engine_metrics.h"
#include "s3/reply_builder.h"
#include "s3/request.h"
#include "s3/sign.h"
#include "s3/wire_request.h"

namespace headrace::s3 {

// What all requests of one event loop use. The pointers outlive them.
struct LoopContext {
  net::EventLoop* loop;
  net::Resolver* resolver;
  CredentialsCache* credentials;  // null: anonymous
  BucketEndpoints* endpoints;
  BufferPool* buffers;
  const Clock* clock;
  EngineMetrics* metrics;
  const WireOptions* wire;
  const AttemptPolicy* policy;
  AttemptContext attempts;  // this loop's
  FlowControl* flow;        // this loop's
  Signer* signer;           // this loop's
};

class ActiveRequest {
 public:
  // `done` runs on the loop thread when the request ended; it may delete this object.
  using Done = std::function<void(ActiveRequest*)>;
  ActiveRequest(const LoopContext* context, S3Request request, Promise<S3Reply> promise);
  ~ActiveRequest();

  void Start(bool saturated, Done done);
  // Ends it with kCancelled; `done` runs, if it was started.
  void Cancel();
  bool started() const { return done_ != nullptr; }

 private:
  // One attempt's side of the conversation.
  class Attempt final : public net::ResponseHandler {
   public:
    void OnHead(int status, const net::Headers& headers) override;
    bool OnBody(std::span<const std::byte> bytes) override;
    void OnEnd(const net::TransferEnd& end) override;

    ActiveRequest* owner = nullptr;
    int slot = 0;
    std::uint64_t received_before = 0;  // bytes of body kept when it was sent
    std::uint64_t run = 0;  // which use of the slot: late callbacks of an earlier one are ignored
    net::EventLoop::TransferId transfer = 0;
    SteadyTime sent{};
    Duration first_byte{};
    std::shared_ptr<const Endpoint> endpoint;  // it was sent to
    std::string host;
    std::string address;
    std::string proxy;
    std::shared_ptr<const Credentials> credentials;
    WallTime signed_at{};
    int status = 0;
    bool good = false;
    net::Headers error_headers;
    std::string error_body;
    Status refusal;  // why a good-looking answer was stopped
  };

  void Perform(const AttemptMachine::Actions& actions);
  void OnSilence(const Attempt& attempt, bool retried);
  void Send(int slot);
  void SendWith(int slot, std::shared_ptr<const Credentials> credentials);
  void SendTo(int slot, const Route& route, const std::string& address);
  ServerAnswer ReadAnswer(const Attempt& attempt) const;
  void Fail(int slot, Status status, ErrorClass error_class, Duration retry_after = {});
  void Rearm();
  void OnTimer();
  void Finish(Result<S3Reply> result);

  void OnWhole(Attempt& attempt);
  void OnRefused(Attempt& attempt);
  bool AcceptNothingThere(Attempt& attempt);
  void OnBroken(Attempt& attempt, const net::TransferEnd& end);
  Status WithFacts(Status status) const;
  bool HasHeader(std::string_view name) const;

  const LoopContext& context_;
  const S3Request request_;
  Promise<S3Reply> promise_;
  Done done_;
  AttemptMachine machine_;
  std::array<Attempt, kSlots> attempts_;
  SteadyTime began_;
  bool saturated_ = false;
  std::uint64_t runs_ = 0;
  net::EventLoop::TimerId timer_ = 0;
  SteadyTime timer_at_ = SteadyTime::max();
  Status last_failure_;

  ReplyBuilder reply_;
  bool drop_if_match_ = false;
  int mismatches_ = 0;

  // Posted callbacks hold this and find out whether the request is still there.
  std::shared_ptr<ActiveRequest*> self_ = std::make_shared<ActiveRequest*>(this);
};

}  // namespace headrace::s3
