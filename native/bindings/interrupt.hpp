// Calls that release the interpreter and still end soon after Ctrl-C, and at a deadline.
#pragma once
#include <nanobind/nanobind.h>

#include "core/threads.hpp"

namespace rankhash {

// Releases the interpreter. In Python's main thread, the only one that receives signals, the core polls for them during
// the call. A handler that raises, such as that of Ctrl-C, ends the call with its exception. In any thread the call
// ends at the thread's deadline.
class Interruptible {
 public:
  Interruptible();

 private:
  InterruptScope scope_;  // before the interpreter is released
  nanobind::gil_scoped_release release_;
};

// Calls from this thread end with TimeoutError once these seconds have passed; infinity: never.
void set_deadline(double seconds);

// Translates rankhash::Interrupted into the exception that the signal handler raised, or into TimeoutError.
void translate_interrupts();

}  // namespace rankhash
