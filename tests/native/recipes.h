// Recipes: arguments that belong together, for operators that refuse nearly everything else.
//
// A line is `name, name: argument=value argument=value`. Values are, by the type of the argument:
//   Tensor    kind:sizes     f floating, z floating or complex, c complex, n any dtype, i int64,
//                            j int32, b bool; after it `<N` below N, `>N` from 1 to N, `u` in [0,
//                            1], `p` with a heavy diagonal; sizes such as N,2*C,L+1 (* alone: any
//                            batch)
//   Tensor[]  {one;another}
//   int       N*2+1, or low..high
//   int[]     [N,2] or [N;3] for three times N
//   others    as they are written
// Letters are sizes that the whole call shares; a|b is a choice; None and - mean no value.
// A name without overload serves all overloads, in-place and out= forms without their own line.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace uh::test {

using Recipe = std::map<std::string, std::string>;

// The recipes that serve an operator; empty when any arguments will do.
const std::vector<Recipe>& recipes_for(const std::string& full_name);

std::vector<std::string> split(const std::string& text, char at);

}  // namespace uh::test
