// Recipes: consistent arguments for operators that reject nearly all random ones.
//
// A line is `name, name: argument=value argument=value`. Values depend on the argument's type:
//   Tensor    kind:sizes     f floating, z floating or complex, c complex, n any dtype, i int64,
//                            j int32, b bool; then `<N` below N, `>N` from 1 to N, `u` in [0,
//                            1], `p` diagonally dominant; sizes such as N,2*C,L+1 (* alone: any
//                            batch)
//   Tensor[]  {one;another}
//   int       N*2+1, or low..high
//   int[]     [N,2] or [N;3] for three times N
//   others    literally
// Letters are sizes shared by the whole call; a|b is a choice; None and - mean no value.
// A name without overload serves all overloads, in-place and out= forms without a separate line.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace uh::test {

using Recipe = std::map<std::string, std::string>;

// Returns the recipes for an operator; empty if any arguments will do.
const std::vector<Recipe>& recipes_for(const std::string& full_name);

std::vector<std::string> split(const std::string& text, char at);

}  // namespace uh::test
