// Calls that release the interpreter and still end soon after Ctrl-C.
#pragma once
#include <nanobind/nanobind.h>

#include "core/threads.hpp"

namespace rankhash {

// Releases the interpreter. In Python's main thread, the only one that receives signals, the core polls for them during
// the call. A handler that raises, such as that of Ctrl-C, ends the call with its exception.
class Interruptible {
 public:
  Interruptible();

 private:
  InterruptScope scope_;  // before the interpreter is released
  nanobind::gil_scoped_release release_;
};

// Translates rankhash::Interrupted into the exception that the signal handler raised.
void translate_interrupts();

}  // namespace rankhash
