#include "datagen/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace headrace::datagen {
namespace {

using Colour = std::array<int, 3>;

Colour RandomColour(Random& random) {
  Colour colour;
  for (int& channel : colour) channel = 40 + static_cast<int>(random.Below(176));
  return colour;
}

int Contrast(const Colour& a, const Colour& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// Four bytes of noise at a time, each the sum of two uniform ones: triangular,
// -amplitude..amplitude.
class Noise {
 public:
  Noise(Random& random, int amplitude) : random_(random), amplitude_(amplitude) {}

  int Next() {
    if (left_ == 0) {
      bits_ = random_.Next();
      left_ = 4;
    }
    const int sum = static_cast<int>(bits_ & 0xff) + static_cast<int>((bits_ >> 8) & 0xff) - 255;
    bits_ >>= 16;
    --left_;
    return sum * amplitude_ / 256;
  }

 private:
  Random& random_;
  const int amplitude_;
  std::uint64_t bits_ = 0;
  int left_ = 0;
};

// A five-pointed star: within the pentagram's edge at this angle.
bool InStar(double x, double y) {
  constexpr double kSector = 2 * std::numbers::pi / 5;
  constexpr double kInner = 0.45;  // radius of the inner corners
  // The angle from the nearest point's axis; the first point is upwards.
  double angle = std::fmod(std::atan2(x, -y) + 2 * std::numbers::pi, kSector);
  angle = std::min(angle, kSector - angle);
  // The edge runs from (1, 0) to the inner corner at half a sector.
  const double corner_x = kInner * std::cos(kSector / 2);
  const double corner_y = kInner * std::sin(kSector / 2);
  const double radius = std::hypot(x, y);
  const double px = radius * std::cos(angle);
  const double py = radius * std::sin(angle);
  return (corner_x - 1) * py - corner_y * (px - 1) >= 0;
}

}  // namespace

bool Inside(std::size_t shape, double x, double y) {
  const double radius = std::hypot(x, y);
  const double square = std::max(std::abs(x), std::abs(y));
  switch (shape) {
    case 0:  // bars: three, level
      return std::abs(x) <= 0.9 && std::abs(y) <= 0.9 && std::fmod(y + 0.9, 0.72) <= 0.36;
    case 1:  // crescent: a disc without the disc at its right
      return radius <= 1 && std::hypot(x - 0.45, y) > 0.8;
    case 2:  // diamond
      return std::abs(x) + std::abs(y) <= 1;
    case 3:  // disc
      return radius <= 0.9;
    case 4:  // frame: a square with a hole
      return square <= 0.85 && square >= 0.55;
    case 5:  // plus
      return square <= 0.95 && std::min(std::abs(x), std::abs(y)) <= 0.28;
    case 6:  // ring
      return radius <= 0.95 && radius >= 0.6;
    case 7:  // square
      return square <= 0.8;
    case 8:
      return InStar(x, y);
    default:  // triangle, pointing upwards
      return y <= 0.7 && std::abs(x) <= (y + 0.95) * 0.58;
  }
}

Picture Draw(std::size_t shape, int width, int height, Random& random) {
  const Colour background = RandomColour(random);
  Colour colour = RandomColour(random);
  while (Contrast(background, colour) < 120) colour = RandomColour(random);

  const double smaller = std::min(width, height);
  const double radius = smaller * (0.16 + 0.2 * random.Uniform());
  const double centre_x = radius + (width - 2 * radius) * random.Uniform();
  const double centre_y = radius + (height - 2 * radius) * random.Uniform();
  Noise noise(random, 71 + static_cast<int>(random.Below(13)));

  Picture picture{width, height, {}};
  picture.rgb.resize(static_cast<std::size_t>(width) * height * 3);
  std::uint8_t* out = picture.rgb.data();
  for (int row = 0; row < height; ++row) {
    const double y = (row - centre_y) / radius;
    for (int column = 0; column < width; ++column) {
      const double x = (column - centre_x) / radius;
      const bool near = std::abs(x) <= 1 && std::abs(y) <= 1;
      const Colour& base = near && Inside(shape, x, y) ? colour : background;
      const int grain = noise.Next();
      for (int channel = 0; channel < 3; ++channel) {
        *out++ = static_cast<std::uint8_t>(std::clamp(base[channel] + grain, 0, 255));
      }
    }
  }
  return picture;
}

}  // namespace headrace::datagen
