//! The budget alone: what it divides is there.

use hadal_model::Shape;
use hadal_store::MAX_STATE_LEN;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::StoreKind;

/// A search of some width and number of threads, and its memory.
struct Case {
    options: Options,
    shape: Shape,
    keys: KeySpace,
}

impl Case {
    fn new(memory_bytes: u64, threads: usize, state_len: usize, store: StoreKind) -> Self {
        let dictionary_bytes = Budget::dictionary_bytes(memory_bytes);
        Case {
            options: Options {
                memory_bytes,
                threads,
                window_blocks: (4 * threads).max(16),
                ..Options::default()
            },
            shape: Shape {
                state_bits: 8 * state_len,
                state_len,
                ..Shape::default()
            },
            keys: KeySpace::new(state_len, dictionary_bytes, store, 0),
        }
    }

    /// Memory from 64 KiB to 64 GiB, 1 to 64 threads, states of 1 byte to 40 kB: small ones as
    /// often as large ones.
    fn random(rng: &mut Pcg64Mcg) -> Self {
        let mut by_magnitude = |from: f64, to: f64| {
            let exponent = rng.random_range(from.log2()..=to.log2());
            exponent.exp2() as u64
        };
        let memory_bytes = by_magnitude(65_536.0, 68_719_476_736.0);
        let threads = by_magnitude(1.0, 64.0) as usize;
        let state_len = by_magnitude(1.0, 40_000.0) as usize;
        let store = [StoreKind::Exact, StoreKind::Hash40, StoreKind::Hash128];
        Case::new(
            memory_bytes,
            threads,
            state_len,
            store[rng.random_range(0..3)],
        )
    }

    fn budget(&self) -> Budget {
        Budget::new(&self.options, &self.shape, &self.keys)
    }

    /// What it is about, for messages.
    fn name(&self) -> String {
        let Options {
            memory_bytes,
            threads,
            ..
        } = self.options;
        let state_len = self.shape.state_len;
        format!("{memory_bytes} bytes, {threads} threads, states of {state_len} bytes")
    }
}

fn sum(shares: &Shares) -> u64 {
    let Shares {
        cache,
        buckets,
        sort,
        frontier,
        candidates,
        runs,
        lookup,
        readers,
    } = *shares;
    cache + buckets + sort + frontier + candidates + runs + lookup + readers
}

#[test]
fn shares_are_no_more_than_what_window_codec_and_disk_buffers_leave() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut n_left = 0;
    for _ in 0..5000 {
        let case = Case::random(&mut rng);
        let (budget, total) = (case.budget(), case.options.memory_bytes);
        // What is held may exceed the budget: then nothing is left, and no share underflows.
        let codec_bytes = rng.random_range(0..=Budget::dictionary_bytes(total) * 2);
        let disk_buffer_bytes = rng.random_range(0..=total / 2);
        let window = window_bytes(&case, budget.window, case.keys.widths());
        let fixed = window + codec_bytes + disk_buffer_bytes;
        let left = total.saturating_sub(fixed);
        let shares = budget.shares(fixed);
        assert!(
            sum(&shares) <= left,
            "{}: {shares:?} of {left}",
            case.name()
        );
        // Scratch of the threads takes a quarter of it at most, division the rest of 32 parts.
        assert!(
            sum(&shares) + 32 >= left - left / 4,
            "{}: {shares:?} of {left}",
            case.name()
        );
        n_left += u64::from(left > 0);
    }
    assert!(n_left > 2000, "{n_left}");
}

/// What a window of some sizes takes with keys of some widths.
fn window_bytes(case: &Case, sizes: WindowSizes, widths: KeyWidths) -> u64 {
    let task = Task::bytes_for(&case.shape, widths, sizes.buffer_len, sizes.block_len);
    sizes.window_blocks as u64 * task
}

/// Whatever the layout of keys becomes.
#[test]
fn a_window_keeps_to_its_share_or_has_one_candidate_a_thread() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let (mut n_least, mut n_fewer, mut n_within) = (0, 0, 0);
    for _ in 0..5000 {
        let case = Case::random(&mut rng);
        let first = case.budget().window;
        let share = case.options.memory_bytes / WINDOW_SHARE;
        let widest = KeyWidths::widest(case.shape.state_len);
        let widened = first.limits.sizes(&case.shape, widest);
        for (sizes, widths) in [(first, case.keys.widths()), (widened, widest)] {
            let name = case.name();
            let WindowSizes {
                block_len,
                window_blocks,
                buffer_len,
                ..
            } = sizes;
            assert!(block_len >= 1 && buffer_len >= 1 && window_blocks >= case.options.threads);
            n_fewer += u64::from(window_blocks < case.options.window_blocks);
            let window = window_bytes(&case, sizes, widths);
            if window <= share {
                n_within += 1;
                continue;
            }
            n_least += 1;
            assert!(
                window_blocks == case.options.threads && buffer_len == 1 && block_len == 1,
                "{name}: {window} bytes of {share}, {sizes:?}"
            );
        }
    }
    assert!(n_least > 300 && n_within > 500, "{n_least}, {n_within}");
    assert!(n_fewer > n_least, "{n_fewer}, {n_least}");
}

/// The least memory has room for the parts that it is made of, and grows with threads and states.
#[test]
fn the_least_memory_leaves_something_to_share() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for _ in 0..2000 {
        let case = Case::random(&mut rng);
        let (shape, threads) = (&case.shape, case.options.threads);
        let least = Budget::least_bytes(shape, threads);
        assert!(least < Budget::least_bytes(shape, threads + 1));
        let case = Case::new(least, threads, shape.state_len, StoreKind::Exact);
        let budget = case.budget();
        let widest = KeyWidths::widest(shape.state_len);
        let sizes = budget.window.limits.sizes(shape, widest);
        let window = window_bytes(&case, sizes, widest);
        let shares = budget.shares(window + Codec::least_bytes(shape.state_len));
        let key_bytes = 8 * widest.codec_words as u64;
        let per_thread = sum(&shares) / threads as u64;
        assert!(per_thread >= 8 * key_bytes, "{}: {shares:?}", case.name());
        // Readers leave most of the memory to sorting.
        let sorting = shares.sort + shares.buckets;
        let lent = shares.most_lent(sorting);
        assert!(lent <= sorting / 4, "{}: {shares:?}", case.name());
    }
}

#[test]
fn a_window_without_a_length_has_one_state_and_one_candidate() {
    let mut case = Case::new(1 << 20, 1, 8, StoreKind::Exact);
    (case.options.block_len, case.options.window_blocks) = (0, 0);
    case.options.buffer_len = Some(0);
    let WindowSizes {
        block_len,
        window_blocks,
        buffer_len,
        ..
    } = case.budget().window;
    assert_eq!((block_len, window_blocks, buffer_len), (1, 1, 1));
}

#[test]
fn a_full_buffer_fits_one_piece_of_a_log() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for _ in 0..2000 {
        let case = Case::random(&mut rng);
        assert!(case.shape.state_len <= MAX_STATE_LEN);
        let n_words = max_key_words(case.shape.state_len);
        let candidate = delta_bytes(n_words) + PARENT_BYTES;
        let piece = BATCH_HEAD + FIRST_PARENT_BYTES + case.budget().window.buffer_len * candidate;
        assert!(piece <= MAX_PIECE_BYTES, "{}: {piece} bytes", case.name());
    }
}

#[test]
fn the_reserve_for_sorting_stays_free_until_it_is_used() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let extremes = [0, 1, u64::MAX].map(|bytes| Case::new(bytes, 1, 8, StoreKind::Exact));
    let random = (0..1000).map(|_| Case::random(&mut rng));
    for case in extremes.into_iter().chain(random) {
        let (budget, total) = (case.budget(), case.options.memory_bytes);
        let reserve = budget.sort_reserve();
        assert_eq!(budget.resident_limit(false, 0), total);
        assert_eq!(budget.resident_limit(true, 0), total - reserve);
        assert_eq!(budget.resident_limit(true, reserve), total);
        // Flushing early is over before memory ends.
        let (begin, end) = budget.flush_range();
        assert!(begin <= end && end <= total - reserve, "{}", case.name());
        assert!(Budget::dictionary_bytes(total) <= total);
    }
}

#[test]
fn what_is_held_is_the_sum_of_all_accounts() {
    let held = Held {
        set: 1,
        logs: 2,
        parents: 4,
        codec: 8,
        window: 16,
        candidates: 32,
        runs: 64,
        gathered: 128,
        disk_buffers: 256,
        graph: 512,
        open_ranks: 1024,
        batches: 2048,
        expanders: 4096,
        closed: 8192,
    };
    assert_eq!(held.total(), 16_383);
}

/// Keys have ample room while they take a small part of the memory, and are short where there is
/// little.
#[test]
fn headroom_of_keys_follows_the_memory() {
    let budget = |memory_bytes| Case::new(memory_bytes, 2, 40, StoreKind::Exact).budget();
    let large = budget(8 << 30);
    assert_eq!(large.key_headroom(0), Headroom::Ample);
    assert_eq!(large.key_headroom(64 << 20), Headroom::Ample);
    assert_eq!(large.key_headroom(256 << 20), Headroom::Roomy);
    let small = budget(128 << 20);
    assert_eq!(small.key_headroom(0), Headroom::Tight);
    assert_eq!(small.ample_bytes(), 0);
}
