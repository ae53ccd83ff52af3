// Compares every instruction set of this machine with the scalar one, bit by bit, without Python: for cross-compiled
// builds that run in an emulator (tools/cross.py). Exit code 1 if anything differs.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/cells.hpp"
#include "core/codes.hpp"
#include "core/encode.hpp"
#include "core/hamming.hpp"
#include "core/score_tables.hpp"
#include "core/segment.hpp"
#include "core/train.hpp"

using namespace rankhash;

namespace {

std::mt19937 rng(7);

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> normals(size_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(rng);
  return values;
}

// Clustered codes with many ties: symbols of a few centres, some of them changed.
std::vector<uint8_t> codes(const Layout& layout, int n) {
  std::vector<uint8_t> centres(8 * layout.n_symbols), symbols(static_cast<size_t>(n) * layout.n_symbols);
  for (uint8_t& symbol : centres) symbol = rng() % layout.arity;
  for (int i = 0; i < n; ++i)
    for (int s = 0; s < layout.n_symbols; ++s)
      symbols[static_cast<size_t>(i) * layout.n_symbols + s] =
          rng() % 4 ? centres[i % 8 * layout.n_symbols + s] : rng() % layout.arity;
  std::vector<uint8_t> rows(static_cast<size_t>(n) * layout.n_bytes);
  pack_rows(symbols.data(), n, layout, rows.data());
  return rows;
}

// Results of the active kernels for fixed inputs.
struct Inputs {
  Layout layout;
  std::vector<uint8_t> rows, queries, blocks;
  std::vector<float> tables, x, weights, center, scores;
  std::vector<int32_t> pairs;
  std::vector<uint8_t> labels;
};

constexpr int kCodes = 1337, kQueries = 9, kVectors = 61, kDims = 40, kPairs = 500, kNearest = 20;

Inputs make(int n_symbols, int arity) {
  Inputs in{make_layout(n_symbols, arity), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  in.rows = codes(in.layout, kCodes);
  in.queries = codes(in.layout, kQueries);
  in.blocks.resize(static_cast<size_t>((kCodes + kBlock - 1) / kBlock) * in.layout.n_bits * kSlice);
  write_slices(in.blocks.data(), in.layout.n_bits, 0, in.rows.data(), kCodes);
  in.tables = normals(static_cast<size_t>(kQueries) * n_symbols * arity);
  in.x = normals(kVectors * kDims);
  in.weights = normals(static_cast<size_t>(n_symbols) * arity * kDims);
  in.center = normals(kDims);
  for (int i = 0; i < 2 * kPairs; ++i) in.pairs.push_back(static_cast<int32_t>(rng() % kVectors));
  for (int i = 0; i < kPairs; ++i) in.labels.push_back(rng() % 2);
  in.scores = normals(static_cast<size_t>(kVectors) * arity);
  return in;
}

void append(std::string& out, const RadiusHits& hits) {
  out += raw(hits.offsets) + raw(hits.ids) + raw(hits.distances);
}

std::string searches(const Inputs& in) {
  const CodesView view{in.blocks.data(), kCodes, in.layout, nullptr, {nullptr, kCodes}};
  std::vector<int64_t> ids(kQueries * kNearest);
  std::vector<float> distances(ids.size());
  std::string out;
  for (int n : {1, kQueries}) {
    search_hamming(view, in.queries.data(), n, kNearest, 1, ids.data(), distances.data());
    out += raw(ids) + raw(distances);
    append(out, search_hamming_radius(view, in.queries.data(), n, in.layout.n_symbols / 2, 1));
    search_scores(view, in.tables.data(), n, kNearest, 1, ids.data(), distances.data());
    out += raw(ids) + raw(distances);
    append(out, search_scores_radius(view, in.tables.data(), n, 0.0f, 1));
  }
  return out;
}

std::string learning(const Inputs& in) {
  std::vector<uint8_t> rows(static_cast<size_t>(kVectors) * in.layout.n_bytes);
  const Projections projections{in.weights.data(), nullptr, in.center.data(), in.layout.arity};
  encode_projections(in.x.data(), kVectors, kDims, projections, in.layout, 1, rows.data());
  std::string out = raw(rows);
  std::vector<float> weights = in.weights, lag(static_cast<size_t>(in.layout.arity) * kDims);
  weights.resize(lag.size());
  const int groups = (in.layout.arity + kRowGroup - 1) / kRowGroup * kRowGroup;
  weights.resize(static_cast<size_t>(groups) * kDims);
  lag.resize(weights.size());
  std::vector<float> rates(kPairs);
  for (int t = 0; t < kPairs; ++t) rates[t] = 0.01f * static_cast<float>(t % 7);
  for (bool hinge : {false, true}) {
    const PairTask task{in.x.data(),
                        in.pairs.data(),
                        in.labels.data(),
                        kPairs,
                        kDims,
                        in.layout.arity,
                        hinge,
                        1.0f,
                        0.7f,
                        0.05f,
                        -1e-5f,
                        -100,
                        hinge ? rates.data() : nullptr};
    const PairTotals totals = train_pairs(task, weights.data(), lag.data());
    std::vector<float> gradient(in.scores.size());
    const PairTotals others = pair_gradient(task, in.scores.data(), gradient.data());
    out += raw(weights) + raw(lag) + raw(gradient);
    out += std::to_string(totals.bound) + " " + std::to_string(totals.errors) + " " + std::to_string(others.errors);
  }
  return out;
}

// Cells of random sizes and codes, and rows of every type; odd numbers of pairs and dimensions leave remainders.
std::string cells(int n_symbols, int depth) {
  constexpr int kCells = 21, kRows = 900;
  std::mt19937 own(n_symbols);
  const auto some = [&](size_t n) {
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(own);
    return values;
  };
  const int n_panels = (kCells + kPanel - 1) / kPanel;
  constexpr int kAxes = 3;  // per symbol
  const int axis_panels = (n_symbols * kAxes + kPanel - 1) / kPanel;
  std::vector<int32_t> first_axis(n_symbols + 1);
  for (int s = 0; s <= n_symbols; ++s) first_axis[s] = s * kAxes;
  const auto centroids = some(n_panels * kPanel * depth), decoder = some(n_symbols * kAxes * kPanel);
  const auto axes = some(axis_panels * kPanel * depth);
  const auto centers = some(kCells * depth), offsets = some(kCells * n_symbols * kPanel), queries = some(40 * depth);
  std::vector<float> squares(kCells, 1.0f), scales(kCells, 0.5f), radii(kCells, 1.0f), steps(kCells, 0.01f);
  const auto lows = some(kCells);
  std::vector<int64_t> first(kCells);
  std::vector<int32_t> sizes(kCells);
  int64_t n_blocks = 0;
  for (int c = 0; c < kCells; ++c) {
    sizes[c] = own() % 80;
    first[c] = n_blocks;
    n_blocks += (sizes[c] + kCellBlock - 1) / kCellBlock;
  }
  std::vector<uint8_t> blocks(n_blocks * (n_symbols / 2 + 1) * kCellBlock),
      rows(static_cast<size_t>(kRows) * depth * 4);
  for (uint8_t& byte : blocks) byte = own();
  for (uint8_t& byte : rows) byte = own() % 60;  // small halves and floats, all finite
  std::vector<uint32_t> row_of(n_blocks * kCellBlock);
  for (uint32_t& row : row_of) row = own() % kRows;
  std::string out;
  for (int run = 0; run < 2 * kRowTypes; ++run) {
    const int type = run / 2;
    const bool corrected = run % 2;
    const CellsView view{Metric::kSquaredEuclidean,
                         depth,
                         kCells,
                         centroids.data(),
                         squares.data(),
                         n_symbols,
                         axes.data(),
                         axis_panels * kPanel,
                         first_axis.data(),
                         decoder.data(),
                         centers.data(),
                         scales.data(),
                         radii.data(),
                         corrected ? nullptr : offsets.data(),
                         corrected ? lows.data() : nullptr,
                         corrected ? steps.data() : nullptr,
                         first.data(),
                         sizes.data(),
                         blocks.data(),
                         row_of.data()};
    const std::vector<float> factors(kRows, 0.25f);
    const RowsView stored{rows.data(),
                          rows.data(),
                          kRows,
                          kRows,
                          type == kInt8 ? factors.data() : nullptr,
                          depth,
                          static_cast<RowType>(type)};
    std::vector<int64_t> ids(40 * 10);
    std::vector<float> distances(40 * 10);
    for (const float effort : {4.0f, 1000.0f}) {
      const CellSearch search{.k = 10,
                              .effort = effort,
                              .exponent = 4,
                              .n_candidates = 25,
                              .usual = 0.5f * depth,
                              .far = 3.0f * depth,
                              .growth = 2,
                              .slack = 1.2f,
                              .n_expected = 10,
                              .beyond = 2.0f * depth,
                              .passing = nullptr,
                              .n_threads = 1};
      const CellStats stats = search_cells(view, stored, {nullptr}, search, queries.data(), queries.data(), 40,
                                           ids.data(), distances.data());
      out += raw(ids) + raw(distances) + std::to_string(stats.incomplete);
    }
    for (const Metric metric : {Metric::kSquaredEuclidean, Metric::kNegativeProduct}) {
      search_rows(stored, {nullptr}, metric, nullptr, queries.data(), 40, 10, 1, ids.data(), distances.data());
      out += raw(ids) + raw(distances);
    }
  }
  std::vector<int32_t> nearest(40);
  std::vector<float> scores(40);
  assign_cells(queries.data(), 40, depth, centroids.data(), squares.data(), kCells, 1, nearest.data(), scores.data());
  return out + raw(nearest) + raw(scores);
}

}  // namespace

int main() {
  const Kernels* list[8];
  const int n = available_kernels(list, 8);
  int wrong = 0;
  for (const auto& [n_symbols, arity] : {std::pair{64, 2}, {13, 3}, {32, 4}, {21, 8}, {16, 16}, {300, 2}}) {
    const Inputs in = make(n_symbols, arity);
    use_kernels("scalar");
    const std::string found = searches(in), learned = learning(in);
    for (int i = 1; i < n; ++i) {
      use_kernels(list[i]->name);
      const bool same_found = searches(in) == found, same_learned = learning(in) == learned;
      wrong += !same_found + !same_learned;
      std::printf("%s, %d symbols of arity %d: searches %s, codes and learning %s\n", list[i]->name, n_symbols, arity,
                  same_found ? "agree" : "DIFFER", same_learned ? "agree" : "DIFFER");
    }
  }
  for (const auto& [n_symbols, depth] : {std::pair{32, 50}, {14, 7}, {64, 96}}) {
    use_kernels("scalar");
    const std::string found = cells(n_symbols, depth);
    for (int i = 1; i < n; ++i) {
      use_kernels(list[i]->name);
      const bool same = cells(n_symbols, depth) == found;
      wrong += !same;
      std::printf("%s, cells of %d symbols in %d dimensions: %s\n", list[i]->name, n_symbols, depth,
                  same ? "agree" : "DIFFER");
    }
  }
  if (n < 2) std::printf("only the scalar kernels run here: nothing compared\n");
  return wrong || n < 2;
}
