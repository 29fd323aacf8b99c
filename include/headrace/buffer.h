// Bytes with shared ownership: filled once, then read by anyone.
//
// Copying a Buffer copies a handle, not the bytes. A Slice shares the memory and keeps all of it
// alive. Reading from many threads is safe; writing through mutable_data() is for whoever fills the
// buffer, before it is shared.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

class Buffer {
 public:
  Buffer() = default;
  // `owner` keeps data[0, size) alive.
  Buffer(std::shared_ptr<void> owner, std::byte* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}
  static Buffer FromString(std::string text) {
    auto owner = std::make_shared<std::string>(std::move(text));
    auto* data = reinterpret_cast<std::byte*>(owner->data());
    const std::size_t size = owner->size();
    return Buffer(std::move(owner), data, size);
  }

  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Bytes [offset, offset + size) of this one. REQUIRES: they exist.
  Buffer Slice(std::size_t offset, std::size_t size) const {
    return Buffer(owner_, data_ + offset, size);
  }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headrace
