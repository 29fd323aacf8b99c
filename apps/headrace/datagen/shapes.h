// The pictures of the demo set: one of ten shapes of random place, size and colour over noise.
//
// They are made to be learnt by a small model in minutes, and to cost a loader what photographs of
// that size cost: real JPEG, about 115 KB at 496x387.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace headrace::datagen {

inline constexpr std::array<std::string_view, 10> kShapes = {
    "bars", "crescent", "diamond", "disc", "frame", "plus", "ring", "square", "star", "triangle"};

// An RGB picture, rows top to bottom, three bytes a pixel, no padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

// Draws kShapes[shape] into a new picture. The same `random` state gives the same picture anywhere.
// REQUIRES: shape < kShapes.size(), width and height at least 16.
Picture Draw(std::size_t shape, int width, int height, Random& random);

// Whether the point (x, y) lies in the shape of radius 1 around the origin; y points downwards.
bool Inside(std::size_t shape, double x, double y);

}  // namespace headrace::datagen
