// A small pool of threads that all calls share, and how a long call is ended early.
#pragma once
#include <cstdint>
#include <functional>

namespace rankhash {

// Runs task(0) … task(n - 1), on at most n_threads threads, the caller's among them, and never on more than
// kThreadsPerCore for each core. Tasks are handed out in order, one by one; the first exception of a task is thrown
// again here, after all tasks that had begun have ended. Tasks may call parallel_for themselves.
constexpr int kThreadsPerCore = 4;
void parallel_for(int64_t n, int n_threads, const std::function<void(int64_t)>& task);

// Thrown by check_interrupt.
struct Interrupted {};

// Ends the work that this thread takes part in, if it shall end: because another of its tasks has failed, or because
// `poll` of the calling thread says so. Long tasks call it every few milliseconds at least.
void check_interrupt();

// While it lives, `poll` is asked every kPollMilliseconds in calls from this thread whether to end them.
constexpr int kPollMilliseconds = 25;
class InterruptScope {
 public:
  explicit InterruptScope(bool (*poll)());
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;

 private:
  bool (*outer_)();
};

}  // namespace rankhash
