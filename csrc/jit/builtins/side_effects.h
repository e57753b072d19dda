// The output of print and the warnings of scripted programs.
//
// Invariant: a handler is called on the thread that runs the program, and does not throw.
#pragma once

#include <string>

namespace uh::jit {

// Handles a printed line, with its newline. Null: standard output and standard error.
using TextHandler = void (*)(const char* text, size_t size);
void set_print_handler(TextHandler handler);
void set_warn_handler(TextHandler handler);

void print_out(const std::string& text);
void warn_out(const std::string& text);

}  // namespace uh::jit
