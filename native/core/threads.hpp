// A small pool of threads that all calls share.
#pragma once
#include <cstdint>
#include <functional>

namespace rankhash {

// Runs task(0) … task(n - 1), on at most n_threads threads, the caller's among them. Tasks are handed out in order,
// one by one; the first exception of a task is thrown again here, after all tasks that had begun have ended.
void parallel_for(int64_t n, int n_threads, const std::function<void(int64_t)>& task);

}  // namespace rankhash
