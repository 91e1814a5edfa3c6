use super::dictionary::Dictionary;
use super::layout::{Bits, Field, Form, Layout};
use super::versions::{pack, unpack};
use super::{
    Codec, EncodedSources, Headroom, KeyShape, MAX_ENTRIES, Mark, Outgrown, max_key_words,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const LENS: [usize; 12] = [0, 1, 7, 8, 9, 16, 17, 24, 27, 64, 142, 600];

fn padded(states: &[u8]) -> Vec<u8> {
    let mut padded = states.to_vec();
    // What lies behind a state must not matter.
    padded.resize(states.len() + 8, 0xa5);
    padded
}

/// States that walk: each differs in a few bytes from one before.
fn random_states(rng: &mut Pcg64Mcg, len: usize, n_states: usize, values: u8) -> Vec<u8> {
    let mut state = vec![0; len];
    let mut states = Vec::new();
    for _ in 0..n_states {
        for _ in 0..rng.random_range(0..4) {
            if len > 0 {
                state[rng.random_range(0..len)] = rng.random_range(0..values);
            }
        }
        states.extend_from_slice(&state);
    }
    states
}

const HEADROOMS: [Headroom; 4] = [
    Headroom::Ample,
    Headroom::Roomy,
    Headroom::Tight,
    Headroom::Ordered,
];

/// Encodes a block in the newest layout, which grows as needed.
fn encode(codec: &Codec, states: &[u8], n: usize, headroom: Headroom) -> (KeyShape, Vec<u64>) {
    let (mut encoder, mut keys) = (codec.encoder(), Vec::new());
    while encoder.encode(codec, &padded(states), n, &mut keys) == Err(Outgrown) {
        codec.widen(headroom);
    }
    (encoder.shape(), keys)
}

fn decode(codec: &Codec, version: u32, keys: &[u64]) -> Vec<u8> {
    let mut states = Vec::new();
    codec.decode(version, keys, &mut states);
    states
}

/// Blocks of states are encoded while the layout grows; all of them decode, in every version, and
/// in a codec that was read from the log.
#[test]
fn states_are_found_again_from_keys_of_any_version() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for len in LENS {
        for (codec, twin) in [
            (Codec::new(len, 1 << 20), Codec::new(len, 1 << 20)),
            (Codec::collapsed(len, 0), Codec::collapsed(len, 0)),
        ] {
            let (mut blocks, mut mark) = (Vec::new(), Mark::default());
            for values in 1..=20 {
                let states = random_states(&mut rng, len, 100, values);
                let headroom = HEADROOMS[usize::from(values) % 4];
                let (shape, keys) = encode(&codec, &states, 100, headroom);
                assert_eq!(keys.len(), 100 * shape.n_words);
                blocks.push((states, shape.version, keys));
                let mut log = Vec::new();
                codec.write_since(&mut mark, &mut log);
                twin.read_log(&log).expect("the log is whole");
            }
            assert_eq!(codec.newest(), twin.newest());
            let newest = codec.newest();
            assert_eq!(decode(&codec, newest.version, &[]), []);
            for (states, version, keys) in &blocks {
                assert_eq!(&decode(&codec, *version, keys), states);
                assert_eq!(&decode(&twin, *version, keys), states);
                let recoder = codec.recoder(*version, newest.version);
                let back = codec.recoder(newest.version, *version);
                let mut made = vec![1; newest.n_words];
                let mut again = vec![1; recoder.n_words_from()];
                for (key, state) in keys
                    .chunks(recoder.n_words_from())
                    .zip(states.chunks(len.max(1)))
                {
                    assert!(recoder.recode(key, &mut made));
                    assert_eq!(decode(&codec, newest.version, &made), &state[..len]);
                    assert!(back.recode(&made, &mut again));
                    assert_eq!(again, key);
                }
            }
        }
    }
}

/// Keys of successors made from those of their sources are those made from the states alone, also
/// where positions are literal or have both ids and literal words.
#[test]
fn successors_have_the_keys_of_their_states() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for (len, max_bytes) in LENS.iter().flat_map(|&len| [(len, 0), (len, 1 << 20)]) {
        let codec = Codec::collapsed(len, max_bytes);
        for round in 0..40u8 {
            let sources = random_states(&mut rng, len, 30, 2 * round + 1);
            let sources_of: Vec<u32> = (0..200).map(|_| rng.random_range(0..30)).collect();
            let mut states = Vec::new();
            for &source in &sources_of {
                let begin = states.len();
                states.extend_from_slice(&sources[source as usize * len..][..len]);
                for _ in 0..rng.random_range(0..4) {
                    if len > 0 {
                        let byte = begin + rng.random_range(0..len);
                        states[byte] = rng.random_range(0..=2 * round);
                    }
                }
            }
            let headroom = HEADROOMS[usize::from(round) % 8 / 2];
            let mut encoder = codec.encoder();
            let mut keys = Vec::new();
            loop {
                let (_, source_keys) = encode(&codec, &sources, 30, headroom);
                let sources = EncodedSources {
                    states: &padded(&sources),
                    keys: &source_keys,
                    sources_of: &sources_of,
                };
                match encoder.encode_successors(&codec, &padded(&states), &sources, &mut keys) {
                    Ok(()) => break,
                    Err(Outgrown) => codec.widen(headroom),
                };
            }
            let n_entries = codec.n_entries();
            let (shape, expected) = encode(&codec, &states, 200, Headroom::Ordered);
            assert_eq!(
                (shape, &keys),
                (encoder.shape(), &expected),
                "{len} {round}"
            );
            assert_eq!(decode(&codec, shape.version, &keys), states);
            assert_eq!(codec.n_entries(), n_entries);
        }
    }
}

/// Where keys have ample room, few new layouts are needed; it can be taken back.
#[test]
fn ample_room_saves_layouts_and_is_taken_back() {
    let versions = |headroom| {
        let mut rng = Pcg64Mcg::seed_from_u64(6);
        let codec = Codec::collapsed(40, 1 << 20);
        for values in 1..=60 {
            encode(
                &codec,
                &random_states(&mut rng, 40, 50, values),
                50,
                headroom,
            );
        }
        codec
    };
    let (ample, tight) = (versions(Headroom::Ample), versions(Headroom::Tight));
    assert!(2 * ample.newest().version < tight.newest().version);
    assert!(ample.newest().n_bits > tight.newest().n_bits);
    assert!(ample.is_ample());
    let before = ample.newest();
    ample.widen(Headroom::Tight);
    let after = ample.newest();
    assert!(!ample.is_ample());
    assert!(after.n_bits <= tight.newest().n_bits, "{after:?}");
    let states = random_states(&mut Pcg64Mcg::seed_from_u64(7), 40, 50, 60);
    let (shape, keys) = encode(&ample, &states, 50, Headroom::Tight);
    assert_eq!(decode(&ample, shape.version, &keys), states);
    assert!(before.version < shape.version);
}

/// A key that an older layout has no room for is refused, not cut.
#[test]
fn what_does_not_fit_an_older_version_is_refused() {
    let codec = Codec::collapsed(20, 1 << 20);
    let (old, _) = encode(&codec, &[[1; 20], [2; 20]].concat(), 2, Headroom::Ordered);
    let many: Vec<u8> = (0..100u8).flat_map(|value| [value; 20]).collect();
    let (new, keys) = encode(&codec, &many, 100, Headroom::Ordered);
    let recoder = codec.recoder(new.version, old.version);
    let mut made = vec![0; old.n_words];
    let mut n_fit = 0;
    for (value, key) in keys.chunks(new.n_words).enumerate() {
        if recoder.recode(key, &mut made) {
            n_fit += 1;
            assert_eq!(decode(&codec, old.version, &made), [value as u8; 20]);
        }
    }
    assert!((2..100).contains(&n_fit));
}

/// Keys in ascending order are so after recoding, also where a position overflows.
#[test]
fn recoding_keeps_the_order() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let codec = Codec::collapsed(24, 0);
    let mut blocks = Vec::new();
    for bits in 1..=16 {
        let states: Vec<u8> = (0..400)
            .flat_map(|_| {
                let words: [u64; 3] = [
                    rng.random_range(0..1 << bits),
                    rng.random_range(0..bits),
                    rng.random_range(0..1u64 << (bits / 2)) << 20,
                ];
                words.map(u64::to_be_bytes).concat()
            })
            .collect();
        let (shape, keys) = encode(&codec, &states, 400, Headroom::Ordered);
        let mut keys: Vec<Vec<u64>> = keys.chunks(shape.n_words).map(<[u64]>::to_vec).collect();
        keys.sort();
        blocks.push((shape, keys));
    }
    let newest = codec.newest();
    for (shape, keys) in blocks {
        let recoder = codec.recoder(shape.version, newest.version);
        assert!(recoder.keeps_order());
        let made: Vec<Vec<u64>> = keys
            .iter()
            .map(|key| {
                let mut made = vec![0; newest.n_words];
                assert!(recoder.recode(key, &mut made));
                made
            })
            .collect();
        assert!(made.is_sorted());
    }
    // The first position has had more words than a small dictionary takes.
    assert!(codec.n_entries() < 1024 + 16 + 256 + 1);
}

/// Where order need not be kept, a position with many words is held by the bits that vary, and its
/// memory is freed.
#[test]
fn a_position_with_many_words_becomes_literal() {
    let codec = Codec::collapsed(17, 1 << 30);
    let state = |number: u64| {
        let mut state = [7; 17];
        state[3..6].copy_from_slice(&number.to_be_bytes()[5..]);
        state
    };
    let n = MAX_ENTRIES + 1000;
    let states: Vec<u8> = (0..n as u64).flat_map(state).collect();
    let (shape, keys) = encode(&codec, &states, n, Headroom::Tight);
    assert!(shape.n_bits <= 24, "{shape:?}");
    assert_eq!(decode(&codec, shape.version, &keys), states);
    assert!(!codec.recoder(0, shape.version).keeps_order());
    let before = codec.data_bytes();
    assert!(before > 1 << 20);
    codec.forget_older();
    assert!(codec.data_bytes() < 1 << 14);
    assert_eq!(decode(&codec, shape.version, &keys), states);
    // New bits are a surprise only at first.
    let far: Vec<u8> = (0..8).flat_map(|bit| [1 << bit; 17]).collect();
    let (shape, keys) = encode(&codec, &far, 8, Headroom::Tight);
    assert_eq!(decode(&codec, shape.version, &keys), far);
    let (mut mark, mut log) = (Mark::default(), Vec::new());
    codec.write_since(&mut mark, &mut log);
    let twin = Codec::collapsed(17, 1 << 30);
    twin.read_log(&log).expect("the log is whole");
    assert_eq!(decode(&twin, shape.version, &keys), far);
}

/// Several threads encode at once; each decodes its states, and equal states have equal keys.
#[test]
fn threads_agree_on_ids() {
    let codec = Codec::collapsed(50, 1 << 20);
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let states = random_states(&mut rng, 50, 3000, 6);
    let encode_all = || {
        let (mut encoder, mut keys) = (codec.encoder(), Vec::new());
        while encoder
            .encode(&codec, &padded(&states), 3000, &mut keys)
            .is_err()
        {
            codec.widen(Headroom::Ordered);
        }
        (encoder.shape().version, keys)
    };
    let results: Vec<(u32, Vec<u64>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(encode_all)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (version, keys) in &results {
        assert_eq!(decode(&codec, *version, keys), states);
    }
    let (_, keys) = encode_all();
    assert_eq!(encode_all().1, keys);
}

/// States of independent random fields, which nothing makes shorter, become keys however wide they
/// are, and no wider than the bound.
#[test]
fn wide_states_of_random_fields_have_keys() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for (state_len, n) in [(1000, 3000), (4096, 1500), (16 << 10, 400)] {
        for headroom in HEADROOMS {
            let (codec, twin) = (
                Codec::new(state_len, 1 << 18),
                Codec::new(state_len, 1 << 18),
            );
            let mut states = vec![0; n * state_len];
            rng.fill(&mut states[..]);
            let (mut blocks, mut mark) = (Vec::new(), Mark::default());
            for states in states.chunks(100 * state_len) {
                let (shape, keys) = encode(&codec, states, 100, headroom);
                assert!(shape.n_words <= max_key_words(state_len));
                blocks.push((states, shape.version, keys));
                let mut log = Vec::new();
                codec.write_since(&mut mark, &mut log);
                twin.read_log(&log).expect("the log is whole");
            }
            assert!(codec.newest().n_words >= state_len / 8);
            let newest = codec.newest();
            for (states, version, keys) in &blocks {
                assert_eq!(decode(&twin, *version, keys), *states);
                let recoder = codec.recoder(*version, newest.version);
                let mut made = vec![0; newest.n_words];
                for (key, state) in keys
                    .chunks(recoder.n_words_from())
                    .zip(states.chunks(state_len))
                {
                    assert!(recoder.recode(key, &mut made));
                    assert_eq!(decode(&codec, newest.version, &made), state);
                }
            }
            // Twice the budget, 16 words for each position, the newest layout, and older ones packed.
            let n_positions = state_len as u64 / 8;
            let layout = size_of::<Field>() as u64 * n_positions;
            let packed = u64::from(newest.version) * 20 * n_positions;
            let least = (72 * 16 + size_of::<Dictionary>() as u64) * n_positions;
            let most = (2 << 18) + least + layout + packed;
            assert!(
                codec.data_bytes() <= most,
                "{} of {most}",
                codec.data_bytes()
            );
            // One in use is there as a whole.
            let before = codec.data_bytes();
            let recoder = codec.recoder(1, newest.version);
            assert_eq!(codec.data_bytes(), before + layout);
            drop(recoder);
            assert_eq!(codec.data_bytes(), before);
        }
    }
}

/// A field of any form.
fn random_field(rng: &mut Pcg64Mcg) -> Field {
    let id_bits = rng.random_range(0..=MAX_ENTRIES.ilog2() + 1);
    let form = [Form::Ids, Form::Literal, Form::Escaped][rng.random_range(0..3)];
    if form == Form::Ids {
        return Field::ids(id_bits);
    }
    let varying = match rng.random_range(0..4) {
        0 => 0,
        1 => u64::MAX,
        _ => rng.random::<u64>() & rng.random::<u64>(),
    };
    let mut field = Field::literal(rng.random(), varying);
    field.n_surprises = rng.random_range(0..=3);
    if form == Form::Escaped {
        field.form = form;
        field.id = Bits::new(id_bits);
    }
    field
}

#[test]
fn layouts_of_all_forms_are_packed_and_unpacked() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    for _ in 0..500 {
        let mut fields = Vec::new();
        for _ in 0..rng.random_range(0..20) {
            let n_alike = [1, 2, 300][rng.random_range(0..3)];
            fields.extend(std::iter::repeat_n(random_field(&mut rng), n_alike));
        }
        let layout = Layout::of(fields);
        let bytes = pack(layout.fields());
        assert!(bytes.len() <= 20 * layout.fields().len());
        assert_eq!(Layout::of(unpack(&bytes)), layout);
    }
}

/// What packing would drop is no field that a codec wrote.
#[test]
fn a_log_with_literal_bits_of_a_field_of_ids_is_refused() {
    let codec = Codec::collapsed(20, 1 << 20);
    encode(&codec, &[[1; 20], [2; 20]].concat(), 2, Headroom::Ordered);
    let (mut mark, mut log) = (Mark::default(), Vec::new());
    codec.write_since(&mut mark, &mut log);
    // The layout comes last: fields of 19 bytes, whose first is the form.
    let twin = || Codec::collapsed(20, 1 << 20);
    twin().read_log(&log).expect("the log is whole");
    let last = log.len() - 19;
    assert_eq!(log[last], 0, "it has ids");
    for (at, value) in [(last + 2, 1), (last + 3, 1), (last + 18, 0x80)] {
        let mut wrong = log.clone();
        wrong[at] = value;
        assert!(twin().read_log(&wrong).is_err(), "byte {}", at - last);
    }
    // Nor have literal fields ids.
    let mut wrong = log.clone();
    (wrong[last], wrong[last + 1]) = (1, 3);
    assert!(twin().read_log(&wrong).is_err());
}

#[test]
fn a_damaged_log_is_refused() {
    let codec = Codec::collapsed(30, 1 << 20);
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    encode(
        &codec,
        &random_states(&mut rng, 30, 100, 9),
        100,
        Headroom::Ordered,
    );
    let (mut mark, mut log) = (Mark::default(), Vec::new());
    codec.write_since(&mut mark, &mut log);
    for at in 0..log.len() {
        let mut cut = Codec::collapsed(30, 1 << 20);
        // Whether a cut is noticed depends on where records end; it must not panic.
        let _ = cut.read_log(&log[..at]);
        cut = Codec::collapsed(30, 1 << 20);
        let mut wrong = log.clone();
        wrong[at] ^= 0x55;
        let _ = cut.read_log(&wrong);
    }
    let other = Codec::collapsed(99, 1 << 20);
    assert!(other.read_log(&log).is_err());
    assert!(
        Codec::collapsed(30, 0)
            .read_log(&log[..log.len() - 1])
            .is_err()
    );
}
