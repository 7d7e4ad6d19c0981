// Random numbers as pure functions of a key: the fit's key, the member, the path of the node from its root
// and the purpose are mixed into one 64-bit stream key, so neither growth order nor the number of threads can
// change a draw.
#pragma once

#include <cstdint>
#include <span>

namespace hornbeam {

// What a draw is for; distinct purposes give independent streams at the same node.
enum class Purpose : std::uint64_t {
  kFeatures = 1,
  kThreshold = 2,
  kBootstrap = 3,
  kMember = 4,
  kMemberFeatures = 5,
};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection with good avalanche.
inline constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t combine(std::uint64_t key, std::uint64_t word) {
  return mix(key ^ mix(word));
}

// The path of a child, given its parent's path and its branch number.
inline constexpr std::uint64_t child_path(std::uint64_t path, std::uint64_t branch) {
  return combine(path, branch + 1);
}

class Stream {
 public:
  constexpr Stream(std::uint64_t key, Purpose purpose, std::uint64_t path = 0)
      : Stream(key_for(key, purpose), path) {}
  // The same for many streams that share key and purpose.
  constexpr Stream(std::uint64_t key_and_purpose, std::uint64_t path)
      : state_(combine(key_and_purpose, path)) {}
  static constexpr std::uint64_t key_for(std::uint64_t key, Purpose purpose) {
    return combine(key, static_cast<std::uint64_t>(purpose));
  }

  constexpr std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }

  // Uniform in [0, n) without bias: multiply-shift with rejection (Lemire 2019), on 32-bit ranges.
  constexpr std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = (next() >> 32) * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = static_cast<std::uint32_t>(-n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Uniform in [0, 1) with 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace hornbeam
