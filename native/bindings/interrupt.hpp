// Calls that release the interpreter and still end soon after Ctrl-C.
#pragma once
#include <nanobind/nanobind.h>

#include "core/threads.hpp"

namespace rankhash {

// Releases the interpreter. In Python's main thread, the only one that gets signals, the core asks for them meanwhile;
// a handler that raises, such as that of Ctrl-C, ends the call with its exception.
class Interruptible {
 public:
  Interruptible();

 private:
  InterruptScope scope_;  // before the interpreter is released
  nanobind::gil_scoped_release release_;
};

// Makes rankhash::Interrupted the exception that the signal handler raised.
void translate_interrupts();

}  // namespace rankhash
