// Runs a fuzz target without libFuzzer: over each file of a corpus, and over seeded mutations of
// them.
//
//   NAME_fuzz CORPUS_FOLDER [MUTATIONS_PER_FILE]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void RunOne(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

// One to eight small changes: bytes set, pieces dropped, repeated, or taken from another input.
std::string Mutate(std::string input, const std::vector<std::string>& corpus,
                   headrace::Random& random) {
  for (std::uint64_t changes = 1 + random.Below(8); changes > 0; --changes) {
    if (input.empty()) input = corpus[random.Below(corpus.size())];
    if (input.empty()) return input;
    const std::size_t at = random.Below(input.size());
    const std::size_t size = 1 + random.Below(std::min<std::size_t>(input.size() - at, 64));
    switch (random.Below(5)) {
      case 0:
        input[at] = static_cast<char>(random.Next());
        break;
      case 1:
        input.erase(at, size);
        break;
      case 2:
        input.insert(at, input.substr(at, size));
        break;
      case 3:
        input.resize(at);
        break;
      default: {
        const std::string& other = corpus[random.Below(corpus.size())];
        if (other.empty()) break;
        const std::size_t from = random.Below(other.size());
        input.insert(at, other.substr(from, 1 + random.Below(64)));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS_PER_FILE]\n", argv[0]);
    return 2;
  }
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 2000;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no inputs\n", argv[1]);
    return 1;
  }
  headrace::Random random(1);
  for (const std::string& input : corpus) {
    RunOne(input);
    for (int i = 0; i < mutations; ++i) RunOne(Mutate(input, corpus, random));
  }
  std::printf("%zu inputs, %d mutations of each\n", corpus.size(), mutations);
}
