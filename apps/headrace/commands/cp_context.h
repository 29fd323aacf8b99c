// What the four ways of `headrace cp` share: to S3, from S3, within S3, and through - .
#pragma once

#include <stop_token>
#include <string>

#include "headrace/client.h"
#include "support/common_options.h"
#include "support/filter_options.h"
#include "support/filters.h"
#include "support/local_tree.h"
#include "support/location.h"
#include "support/reporter.h"
#include "support/transfer_pool.h"

namespace headrace::cli {

// Why --verify is refused where bytes are used as they come.
inline constexpr const char* kNoVerifyInPlace =
    "--verify needs a file as its target: what went into a pipe or a device cannot be taken back";

struct CpArguments {
  CommonOptions common;
  FilterOptions filters;
  std::string source;
  std::string target;
  bool recursive = false;
  bool dryrun = false;
  bool verify = false;
  bool guess_type = true;
  TreeOptions tree;
  PutOptions put;
  // As typed; cp.cc turns them into numbers.
  std::string part_size;
  std::string multipart_threshold;
  std::string expected_size;
  std::vector<std::string> metadata;
};

// One run. All references outlive it; the pool runs the transfers, the calling thread finds them.
struct CpContext {
  const CpArguments& arguments;
  const Filters& filters;
  Client& client;
  Reporter& reporter;
  TransferPool& pool;
  std::stop_token stop;

  // To the pool, unless what came before shows that it would be in vain.
  void Submit(TransferPool::Task task) const;
};

// Each reports every object and every failure through context.reporter.
void CpUpload(const CpContext& context, const Location& source, const Location& target);
void CpDownload(const CpContext& context, const Location& source, const Location& target);
void CpWithinS3(const CpContext& context, const Location& source, const Location& target);
void CpFromStream(const CpContext& context, const Location& target);
void CpToStream(const CpContext& context, const Location& source);

// An address whose key is a folder's prefix: with a '/' at its end, unless it is the whole bucket.
Location AsFolder(const Location& location);

// The key that a single source named `name` gets: the target itself, or `name` in it when the
// target is a bucket or ends in '/'.
std::string TargetKey(const Location& target, std::string_view name);

// Calls `found` for each object of a folder that the filters accept, with its path below it; folder
// markers (empty, ending in '/') too; ends when it returns false. Reports failures, and a folder in
// which nothing stands.
void ForEachObject(
    const CpContext& context, const Location& folder,
    const std::function<bool(const ListEntry& entry, std::string_view relative)>& found);

}  // namespace headrace::cli
