// Scene: what the arguments of one random call share, and the memory that they point to.
//
// Independent random arguments are nearly always rejected. So a scene draws one dtype, one shape,
// one device and one value for each letter of a recipe, and most arguments use them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capi/underhood.h"
#include "check.h"

namespace uh::test {

// The tags of uh_value.
enum Tag {
  kNone,
  kTensor,
  kInt,
  kFloat,
  kBool,
  kInts,
  kString,
  kTensors,
  kDType,
  kDevice,
  kFloats,
  kComplex
};

using Sizes = std::vector<int64_t>;

// A tensor to create.
struct Wanted {
  enum Values {
    kAny,       // small numbers; sometimes NaN, infinity or a huge one
    kBelow,     // [0, bound), sometimes outside
    kFromOne,   // [1, bound], sometimes outside
    kUnit,      // [0, 1]
    kDefinite,  // diagonally dominant matrices
  };
  Sizes sizes;
  int dtype;
  Values values = kAny;
  int64_t bound = 0;
  bool plain = false;  // may be written: no two elements share memory
};

class Scene {
 public:
  explicit Scene(Random& random);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Returns a tensor that is dense, permuted, with gaps, expanded, self-overlapping, with an
  // offset, meta, or already in this scene.
  uh_handle tensor(const Wanted& expected);

  uh_value ints(const Sizes& values);
  uh_value floats(const std::vector<double>& values);
  uh_value tensors(const std::vector<uh_handle>& values);
  uh_value string(std::string text);

  int64_t letter(char name);  // a size, the same for each use of the letter
  int64_t size();             // any size
  int64_t number();           // small, sometimes as large as possible
  double real();

  Random& random;
  Sizes shape;                          // of tensors without another constraint
  Sizes batch;                          // the meaning of `*` in a recipe
  int any, floating, inexact, complex;  // dtypes: of any kind, or of that kind
  bool gradients() const { return gradients_; }
  std::vector<uh_handle> leaves;  // tensors that require gradients; none in half the scenes

 private:
  uh_handle laid_out(const Wanted& expected);
  uh_handle on_meta(const Wanted& expected);
  Sizes strides_for(const Sizes& sizes, bool plain);
  double element(const Wanted& expected);
  bool wants_gradient(const Wanted& expected);
  uh_handle with_gradient(uh_handle leaf);
  uh_handle call(const char* op, const std::vector<uh_value>& args);

  bool large_, meta_, gradients_;
  int64_t letters_[26];
  std::vector<uh_handle> handles_, read_only_;
  std::vector<std::unique_ptr<int64_t[]>> ints_;
  std::vector<std::unique_ptr<double[]>> reals_;
  std::vector<std::unique_ptr<std::string>> strings_;
};

// Describes an argument for the report of a failed call.
std::string described(const uh_value& value);

}  // namespace uh::test
