// The steps of rows beside words of a background (explain/paths/background_walk.h), for one instruction set. Eight
// lanes at a time, and each sum in eight parts: the same bits in all forms. Included by explain_body.h.

// Doubles of eight lanes; bit i of a mask is for lane i.
using Eight [[gnu::vector_size(64)]] = double;

inline void load_eight(const double* from, Eight& eight) {
  __builtin_memcpy(&eight, from, sizeof eight);
}
inline void store_eight(const Eight& eight, double* to) {
  __builtin_memcpy(to, &eight, sizeof eight);
}

inline std::size_t count_bits(std::uint64_t bits) {
  return static_cast<std::size_t>(__builtin_popcountll(bits));
}
inline std::size_t groups_of(std::uint64_t others) {
  return (count_bits(others) + 7) / 8;
}
// The lanes of a group.
inline std::uint8_t mask_of(std::uint64_t lanes, std::size_t group) {
  return static_cast<std::uint8_t>(lanes >> (8 * group));
}
// The bits of some rows, side by side.
inline std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t rows) {
#if defined(__BMI2__)
  return _pext_u64(bits, rows);
#else
  std::uint64_t found = 0;
  for (int place = 0; rows != 0; rows &= rows - 1, ++place)
    found |= static_cast<std::uint64_t>((bits & rows & -rows) != 0) << place;
  return found;
#endif
}

#if defined(__AVX512F__)
using EightPlaces = __m512i;
// `more` lanes lack one column more.
inline void find_places(const std::uint8_t* n_lacked, std::uint8_t more, EightPlaces& places) {
  const __m512i found = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(n_lacked)));
  places = _mm512_mask_add_epi64(found, more, found, _mm512_set1_epi64(1));
}
// row[place], or 0 in other lanes than `lanes`.
template <bool kFew>
inline void find_betas(const double* row, const EightPlaces& places, std::uint8_t lanes, Eight& found) {
  if (kFew)
    found = _mm512_maskz_permutex2var_pd(lanes, _mm512_loadu_pd(row), places, _mm512_loadu_pd(row + 8));
  else
    found = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), lanes, places, row, 8);
}
inline void keep(std::uint8_t lanes, Eight& eight) {
  eight = _mm512_maskz_mov_pd(lanes, eight);
}
inline void expand(const double* from, std::uint8_t lanes, Eight& eight) {
  eight = _mm512_maskz_expand_pd(lanes, _mm512_loadu_pd(from));
}
// To the next test: `more` lanes lack one column more, and those that stay are packed.
inline void move_on(const std::uint8_t* from, std::uint64_t more, std::uint64_t stay, std::uint8_t* to) {
  const __m512i found = _mm512_load_si512(from);
  const __m512i moved = _mm512_mask_add_epi8(found, more, found, _mm512_set1_epi8(1));
  _mm512_store_si512(to, _mm512_maskz_compress_epi8(stay, moved));
}
#else
// A byte for each bit of eight, 1 where it is set.
inline std::uint64_t bytes_of(std::uint8_t bits) {
  const std::uint64_t found = bits * std::uint64_t{0x0101010101010101} & std::uint64_t{0x8040201008040201};
  return (found + std::uint64_t{0x7f7f7f7f7f7f7f7f}) >> 7 & std::uint64_t{0x0101010101010101};
}
using EightPlaces = std::uint64_t;  // a byte each
inline void find_places(const std::uint8_t* n_lacked, std::uint8_t more, EightPlaces& places) {
  __builtin_memcpy(&places, n_lacked, sizeof places);
  places += bytes_of(more);
}
inline double beta_of(const double* row, const EightPlaces& places, int lane) {
  return row[places >> (8 * lane) & 255];
}
#if defined(__AVX2__)
inline __m256d* halves_of(Eight& eight) {
  return reinterpret_cast<__m256d*>(&eight);
}
inline __m256i masks_of_four(int lanes) {
  const __m256i bits = _mm256_set_epi64x(8, 4, 2, 1);
  return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(lanes), bits), bits);
}
inline void keep(std::uint8_t lanes, Eight& eight) {
  __m256d* halves = halves_of(eight);
  halves[0] = _mm256_and_pd(halves[0], _mm256_castsi256_pd(masks_of_four(lanes & 15)));
  halves[1] = _mm256_and_pd(halves[1], _mm256_castsi256_pd(masks_of_four(lanes >> 4)));
}
template <bool kFew>
inline void find_betas(const double* row, const EightPlaces& places, std::uint8_t lanes, Eight& found) {
  const auto beta = [&](int lane) { return beta_of(row, places, lane); };
  halves_of(found)[0] = _mm256_set_pd(beta(3), beta(2), beta(1), beta(0));
  halves_of(found)[1] = _mm256_set_pd(beta(7), beta(6), beta(5), beta(4));
  keep(lanes, found);
}
// Four numbers to their lanes: both halves of a number in the place of the lane, counted in the lanes that are set.
struct PlacesOfFour {
  alignas(32) std::int32_t at[16][8];
};
constexpr PlacesOfFour kPlacesOfFour = [] {
  PlacesOfFour made{};
  for (int lanes = 0; lanes < 16; ++lanes) {
    for (int lane = 0, n = 0; lane < 4; n += lanes >> lane++ & 1) {
      made.at[lanes][2 * lane] = 2 * n;
      made.at[lanes][2 * lane + 1] = 2 * n + 1;
    }
  }
  return made;
}();
inline __m256d expand_four(const double* from, int lanes) {
  const __m256i places = _mm256_load_si256(reinterpret_cast<const __m256i*>(kPlacesOfFour.at[lanes]));
  const __m256i found = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(_mm256_loadu_pd(from)), places);
  return _mm256_castsi256_pd(_mm256_and_si256(found, masks_of_four(lanes)));
}
inline void expand(const double* from, std::uint8_t lanes, Eight& eight) {
  halves_of(eight)[0] = expand_four(from, lanes & 15);
  halves_of(eight)[1] = expand_four(from + count_bits(lanes & 15), lanes >> 4);
}
#else
inline void keep(std::uint8_t lanes, Eight& eight) {
  for (int i = 0; i < 8; ++i) eight[i] = (lanes >> i & 1) != 0 ? eight[i] : 0.0;
}
template <bool kFew>
inline void find_betas(const double* row, const EightPlaces& places, std::uint8_t lanes, Eight& found) {
  for (int i = 0; i < 8; ++i) found[i] = (lanes >> i & 1) != 0 ? beta_of(row, places, i) : 0.0;
}
inline void expand(const double* from, std::uint8_t lanes, Eight& eight) {
  for (int i = 0; i < 8; ++i) eight[i] = (lanes >> i & 1) != 0 ? *from++ : 0.0;
}
#endif
inline void move_on(const std::uint8_t* from, std::uint64_t more, std::uint64_t stay, std::uint8_t* to) {
#if defined(__BMI2__)
  for (std::size_t g = 0; g < kOthers / 8; ++g) {
    EightPlaces moved;
    find_places(from + 8 * g, mask_of(more, g), moved);
    moved = gather_bits(moved, bytes_of(mask_of(stay, g)) * 255);
    __builtin_memcpy(to, &moved, sizeof moved);
    to += count_bits(mask_of(stay, g));
  }
#else
  for (; stay != 0; stay &= stay - 1) {
    const int lane = __builtin_ctzll(stay);
    *to++ = static_cast<std::uint8_t>(from[lane] + (more >> lane & 1));
  }
#endif
}
#endif

inline void add_to(double* sums, const Eight& more) {
  Eight before;
  load_eight(sums, before);
  store_eight(before + more, sums);
}
// A part of what is below a test.
template <bool kIsFirst>
inline void give(const Eight& more, double* worth) {
  if (kIsFirst)
    store_eight(more, worth);
  else
    add_to(worth, more);
}

// What becomes of a row at a test, on one side of it.
struct Turn {
  std::uint64_t others;    // that go on, of the word
  std::uint64_t stay;      // the same, in lanes
  std::uint64_t now_lack;  // lanes
  std::uint8_t now_fails;  // 255 if so
};
inline void turn_row(const BackgroundSide& side, const BackgroundFrame& here, std::size_t i, Turn& turn) {
  const std::size_t row = here.row[i];
  const std::uint64_t others = here.others[i];
  const bool is_own = (side.right[row] != 0) == side.is_right;
  const bool has_failed = side.former != nullptr && side.former->has_failed[row] != 0;
  const std::uint64_t lacked = side.former != nullptr ? side.former->lacks[row] : 0;
  const std::uint64_t near = -static_cast<std::uint64_t>(is_own && !has_failed);  // all bits or none
  turn.others = others & ((side.others & ~lacked) | near);
  turn.stay = gather_bits(turn.others, others);
  turn.now_lack = gather_bits(others & ~side.others & ~lacked & near, others);
  turn.now_fails = static_cast<std::uint8_t>(-static_cast<int>(!is_own && !has_failed));
}

// What tests on the same column further down must know.
inline void tell_lower_tests(const BackgroundSide& side, BackgroundFrame& here, std::size_t i,
                             const Turn& turn) {
  const std::size_t row = here.row[i];
  const bool is_new = side.former == nullptr;
  here.lacks[row] = ~side.others | (is_new ? 0 : side.former->lacks[row]);
  here.has_failed[row] = turn.now_fails != 0 || (!is_new && side.former->has_failed[row] != 0);
}

void follow_others(const BackgroundSide& side, BackgroundFrame& here, BackgroundFrame& below) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < here.n_rows; ++i) {
    Turn turn;
    turn_row(side, here, i, turn);
    const std::size_t row = here.row[i];
    here.stay[i] = turn.stay;
    here.now_lack[i] = turn.now_lack;
    here.now_fails[i] = turn.now_fails;
    if (side.is_asked_again) tell_lower_tests(side, here, i, turn);
    below.row[n] = static_cast<std::uint8_t>(row);
    below.n_failed[n] = static_cast<std::uint8_t>(here.n_failed[i] + (turn.now_fails & 1));
    below.others[n] = turn.others;
    move_on(here.n_lacked + kOthers * i, turn.now_lack, turn.stay, below.n_lacked + kOthers * n);
    n += turn.others != 0;
  }
  below.n_rows = n;
}

template <bool kIsFirst, bool kFew, bool kOne>
void add_leaf_as(const BackgroundSide& side, BackgroundFrame& here, const BackgroundLeaf& leaf) {
  const std::size_t n_values = kOne ? 1 : side.n_values;
  double* worth = here.worth;
  for (std::size_t i = 0; i < here.n_rows; ++i) {
    Turn turn;
    turn_row(side, here, i, turn);
    const std::size_t n_groups = groups_of(here.others[i]);
    const std::size_t n_failed = std::size_t{here.n_failed[i]} + (turn.now_fails & 1);
    const double* gains = leaf.betas + n_failed * leaf.betas_step;
    // One of the failed columns is not to be known, n_failed - 1 others are. Without any, nothing is lost.
    const double* losses = n_failed > 0 ? gains - leaf.betas_step + 1 : gains;
    const std::uint64_t losing = n_failed > 0 ? turn.stay : 0;
    double* sums = side.sums + std::size_t{here.row[i]} * 8;
    Eight lost = {}, given = {};
    Eight gained[kOne ? 1 : 8];
#pragma GCC unroll 1
    for (std::size_t g = 0; g < n_groups; ++g) {
      EightPlaces places;
      Eight loss;
      Eight& gain = gained[kOne ? 0 : g];
      find_places(here.n_lacked + kOthers * i + 8 * g, mask_of(turn.now_lack, g), places);
      find_betas<kFew>(gains, places, mask_of(turn.stay, g), gain);
      find_betas<kFew>(losses, places, mask_of(losing, g), loss);
      lost += loss;
      if (!kOne) continue;
      Eight part = gain * leaf.values[0];
      give<kIsFirst>(part, worth + 8 * (1 + g));
      keep(mask_of(turn.now_lack, g), part);
      given += part;
    }
    for (std::size_t v = 0; v < n_values; ++v) {
      Eight part = lost * leaf.values[v];
      give<kIsFirst>(part, worth);
      if (!kOne) {
        given = Eight{};
        for (std::size_t g = 0; g < n_groups; ++g) {
          Eight gain = gained[kOne ? 0 : g] * leaf.values[v];
          give<kIsFirst>(gain, worth + 8 * (1 + g));
          keep(mask_of(turn.now_lack, g), gain);
          given += gain;
        }
      }
      keep(turn.now_fails, part);
      add_to(sums + v * side.sums_step, given - part);
      worth += 8 * (1 + n_groups);
    }
  }
}

template <bool kFew, bool kOne>
void add_leaf_first_or_not(const BackgroundSide& side, BackgroundFrame& here, const BackgroundLeaf& leaf) {
  (side.is_first ? add_leaf_as<true, kFew, kOne> : add_leaf_as<false, kFew, kOne>)(side, here, leaf);
}

void add_leaf_for_others(const BackgroundSide& side, BackgroundFrame& here, const BackgroundLeaf& leaf) {
  const bool few = leaf.few_columns;
  const auto form = side.n_values == 1
                        ? (few ? add_leaf_first_or_not<true, true> : add_leaf_first_or_not<false, true>)
                        : (few ? add_leaf_first_or_not<true, false> : add_leaf_first_or_not<false, false>);
  form(side, here, leaf);
}

// Two leaves at once, from the test above the one that they are below. Let n and f be the values on the near and on the
// far side of the lower test, a and b the numbers above it, and M the others that lack its column from here on: it is
// them who go to the far side, too. As beta(a, b) + beta(a - 1, b + 1) = beta(a - 1, b), because t + (1 - t) = 1,
//     G = n beta(a - 1, b), and for those in M (f - n) beta(a - 1, b + 1) more,
//     L = n beta(a, b - 1), and for those in M (f - n) beta(a, b) more,
// and the lower column gets (n - f) beta(a, b) for each in M. Where the row failed this column before, everybody has the
// leaf that he goes to: n is the value on the left, M those who go right, and b does not grow.
template <bool kIsFirst, bool kFew, bool kOne>
void add_two_leaves_as(const BackgroundSide& side, BackgroundFrame& here, const BackgroundPair& pair) {
  const std::size_t n_values = kOne ? 1 : side.n_values;
  const std::size_t step = pair.left.betas_step;
  double* worth = here.worth;
  for (std::size_t i = 0; i < here.n_rows; ++i) {
    Turn turn;
    turn_row(side, here, i, turn);
    if (side.is_asked_again) tell_lower_tests(side, here, i, turn);
    const std::size_t row = here.row[i];
    const bool has_failed = pair.former != nullptr && pair.former->has_failed[row] != 0;
    const std::uint64_t lacked = pair.former != nullptr ? pair.former->lacks[row] : 0;
    const bool right_first = pair.right[row] != 0 && !has_failed;
    const std::uint64_t far = (right_first ? ~pair.others : pair.others) & ~lacked;
    const std::uint64_t moved = gather_bits(far & turn.others, here.others[i]);
    const std::size_t n_groups = groups_of(here.others[i]);
    const std::size_t n_failed = std::size_t{here.n_failed[i]} + (turn.now_fails & 1);
    const double* gains = pair.left.betas + n_failed * step;
    const double* losses = n_failed > 0 ? gains - step + 1 : gains;
    const std::uint64_t losing = n_failed > 0 ? turn.stay : 0;
    const double* more_gains = has_failed ? gains : gains + step;
    const double* more_losses = has_failed ? losses : gains + 1;
    Eight lost = {}, more_lost = {}, given = {};
    Eight gained[kOne ? 1 : 8], more_gained[kOne ? 1 : 8];
    const auto first_value = [&](std::size_t v) {
      return right_first ? pair.right_values[v] : pair.left.values[v];
    };
    const auto more_value = [&](std::size_t v) {
      return right_first ? pair.left.values[v] - pair.right_values[v]
                         : pair.right_values[v] - pair.left.values[v];
    };
#pragma GCC unroll 1
    for (std::size_t g = 0; g < n_groups; ++g) {
      EightPlaces places;
      Eight loss, more_loss;
      Eight& gain = gained[kOne ? 0 : g];
      Eight& more_gain = more_gained[kOne ? 0 : g];
      find_places(here.n_lacked + kOthers * i + 8 * g, mask_of(turn.now_lack, g), places);
      find_betas<kFew>(gains, places, mask_of(turn.stay, g), gain);
      find_betas<kFew>(losses, places, mask_of(losing, g), loss);
      find_betas<kFew>(more_gains, places, mask_of(moved, g), more_gain);
      find_betas<kFew>(more_losses, places, mask_of(moved, g), more_loss);
      lost += loss;
      more_lost += more_loss;
      if (!kOne) continue;
      Eight part = gain * first_value(0) + more_gain * more_value(0);
      give<kIsFirst>(part, worth + 8 * (1 + g));
      keep(mask_of(turn.now_lack, g), part);
      given += part;
    }
    for (std::size_t v = 0; v < n_values; ++v) {
      const Eight own = more_lost * more_value(v);
      Eight part = lost * first_value(v) + own;
      give<kIsFirst>(part, worth);
      if (!kOne) {
        given = Eight{};
        for (std::size_t g = 0; g < n_groups; ++g) {
          Eight gain = gained[kOne ? 0 : g] * first_value(v) + more_gained[kOne ? 0 : g] * more_value(v);
          give<kIsFirst>(gain, worth + 8 * (1 + g));
          keep(mask_of(turn.now_lack, g), gain);
          given += gain;
        }
      }
      keep(turn.now_fails, part);
      add_to(side.sums + v * side.sums_step + 8 * row, given - part);
      Eight of_pair = -own;
      keep(static_cast<std::uint8_t>(-static_cast<int>(!has_failed)), of_pair);
      add_to(pair.sums + v * side.sums_step + 8 * row, of_pair);
      worth += 8 * (1 + n_groups);
    }
  }
}

template <bool kFew, bool kOne>
void add_two_leaves_first_or_not(const BackgroundSide& side, BackgroundFrame& here,
                                 const BackgroundPair& pair) {
  (side.is_first ? add_two_leaves_as<true, kFew, kOne> : add_two_leaves_as<false, kFew, kOne>)(side, here,
                                                                                               pair);
}

void add_two_leaves_for_others(const BackgroundSide& side, BackgroundFrame& here,
                               const BackgroundPair& pair) {
  const bool few = pair.left.few_columns;
  const auto form =
      side.n_values == 1
          ? (few ? add_two_leaves_first_or_not<true, true> : add_two_leaves_first_or_not<false, true>)
          : (few ? add_two_leaves_first_or_not<true, false> : add_two_leaves_first_or_not<false, false>);
  form(side, here, pair);
}

template <bool kIsFirst, bool kOne>
void return_as(const BackgroundSide& side, BackgroundFrame& here, const BackgroundFrame& below) {
  const std::size_t n_values = kOne ? 1 : side.n_values;
  const double* from = below.worth;
  double* worth = here.worth;
  for (std::size_t i = 0; i < here.n_rows; ++i) {
    const std::size_t n_groups = groups_of(here.others[i]);
    const std::size_t n_below = groups_of(here.stay[i]);
    double* sums = side.sums + std::size_t{here.row[i]} * 8;
    for (std::size_t v = 0; v < n_values; ++v) {
      Eight part, given = {};
      const double* packed = from + 8;
#pragma GCC unroll 1
      for (std::size_t g = 0; g < n_groups; ++g) {
        const std::uint8_t lanes = mask_of(here.stay[i], g);
        expand(packed, lanes, part);
        packed += count_bits(lanes);
        give<kIsFirst>(part, worth + 8 * (1 + g));
        keep(mask_of(here.now_lack[i], g), part);
        given += part;
      }
      load_eight(from, part);  // of a row that is not below, it is another's
      keep(static_cast<std::uint8_t>(-static_cast<int>(n_below > 0)), part);
      give<kIsFirst>(part, worth);
      keep(here.now_fails[i], part);
      add_to(sums + v * side.sums_step, given - part);
      worth += 8 * (1 + n_groups);
      from += n_below > 0 ? 8 * (1 + n_below) : 0;
    }
  }
}

void return_others(const BackgroundSide& side, BackgroundFrame& here, const BackgroundFrame& below) {
  const auto form = side.n_values == 1 ? (side.is_first ? return_as<true, true> : return_as<false, true>)
                                       : (side.is_first ? return_as<true, false> : return_as<false, false>);
  form(side, here, below);
}
