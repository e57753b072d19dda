// The output of the program to stdout and stderr as events, between the lines that write it.
//
// Neither a pty nor a pipe is put in place of the descriptors. A pipe changes `isatty`, seeking,
// `os.fstat`, the moment of SIGPIPE, and the order of both streams; a pty changes `os.ttyname`, job
// control and the foreground group; and with either one the recorder must outlive every child that
// inherits the descriptor, and learns of a buffered text when it is flushed, perhaps at the exit:
// no longer next to its line. So the tee is one level up, at the text: the stream objects stay the
// same, and get an attribute `write`, a builtin like the method that it calls. A builtin has no
// frame: tracebacks, `sys.settrace` and the stack are the program's. Output that bypasses the stream
// (`sys.stdout.buffer`, `os.write`, a child process, a library in C) are not recorded.
#pragma once

#include <stdint.h>

/* cdef begin */
int uh_output_begin(uintptr_t out, uintptr_t error);
void uh_output_flush(void);
void uh_output_end(void);
/* cdef end */

// uh_output_begin  records what is written to these two stream objects, passed as id(object). A
// stream that is not an
//                  io.TextIOWrapper (closed, or replaced by the program's host) is left alone
// uh_output_flush  emits what has been written since the last event: a line of the program begins
// uh_output_end    emits the rest, and removes the attributes
