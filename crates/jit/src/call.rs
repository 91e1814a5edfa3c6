//! The boundary between safe and native code: the context native code works on, the helpers it
//! calls back, and the calls themselves. All unsafe code of the crate is in this file.
//!
//! What keeps it sound: a [`Session`] is made from exclusive borrows of everything that native
//! code writes to and shared borrows of what it reads, with lengths checked once.
//! Native code is generated so that every address lies in one of these: fields at constant offsets
//! lie inside the state or frame by construction, and an index that is not a constant or a loop
//! variable is compared with its bounds before use, even where the model's types guarantee that it
//! fits, so that even a malformed state is memory-safe.
//! Reads and writes of fields touch whole words and may reach up to [`PAD_BYTES`] beyond.

use std::marker::PhantomData;
use std::mem::offset_of;
use std::sync::atomic::AtomicBool;

use cranelift_jit::JITModule;
use hadal_ir::{Program, bits};
use hadal_model::{Columns, PAD_BYTES, States};

use crate::selectors;
use crate::unit::Bag;

/// How a call of native code ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// All instances are done; for a property: it is true.
    Done,
    /// There is no room for the successor of the recorded instance.
    NoRoom,
    /// The recorded instance faults; the interpreter must report how.
    Fault,
    /// The stop flag was raised.
    Stopped,
    /// The property is false, or an assumption of a body was.
    False,
    /// The memory for locals is too small for the calls of the recorded instance.
    NoFrames,
}

impl Status {
    pub(crate) const DONE: i64 = 0;
    pub(crate) const NO_ROOM: i64 = 1;
    pub(crate) const FAULT: i64 = 2;
    pub(crate) const STOPPED: i64 = 3;
    pub(crate) const FALSE: i64 = 4;
    pub(crate) const NO_FRAMES: i64 = 5;

    /// A status that is not the usual one.
    #[cold]
    fn of_other(code: i64) -> Self {
        Status::of(code)
    }

    fn of(code: i64) -> Self {
        match code {
            Self::DONE => Status::Done,
            Self::NO_ROOM => Status::NoRoom,
            Self::STOPPED => Status::Stopped,
            Self::FALSE => Status::False,
            Self::NO_FRAMES => Status::NoFrames,
            // Any other value is left to the interpreter.
            _ => Status::Fault,
        }
    }
}

/// What native code reads and writes besides states.
#[repr(C)]
#[derive(Debug)]
struct Context {
    /// The next successor's place.
    slot: *mut u8,
    /// Successors held and the number that fits.
    len: u64,
    capacity: u64,
    sources_of: *mut u32,
    indices: *mut u32,
    rules: *mut u32,
    fired_by_rule: *mut u64,
    /// Hits of cover points, and those of the current firing.
    cover_hits: *mut u64,
    cover_pending: *mut u64,
    /// The current source.
    source: u32,
    /// What is added to the position of a successor in the buffer to get its index.
    index_offset: u32,
    /// Firings at the source whose successors an assumption discarded, and those that were
    /// abandoned. The others are successors.
    discarded: u64,
    abandoned: u64,
    /// Whether some firing led away from the source.
    progress: u64,
    /// Of programs with registers: bytes from a successor to the next one, where the record of the
    /// next one goes and bytes to the one after it, and whether some successor of the source has a
    /// register that is set.
    stride: u64,
    record: *mut u64,
    record_stride: u64,
    transient: u64,
    /// Where an interrupted call continues.
    instance: u64,
    /// Rounds until the stop flag is polled again.
    fuel: i64,
    stop: *const AtomicBool,
    /// Memory for locals.
    frames: *mut u8,
    frames_end: *mut u8,
    /// The stack must not grow below this address.
    stack_limit: u64,
    /// Goal bits of the current state.
    goals: *mut u64,
    /// The number that a measure has assigned to the state, at most `u32::MAX`.
    measured: u64,
    runtime: *const Runtime<'static>,
}

/// Offsets into the context, for the code generator.
pub(crate) mod field {
    use super::{Context, offset_of};

    macro_rules! offsets {
        ($($name:ident = $field:ident;)*) => {
            $(pub(crate) const $name: i32 = offset_of!(Context, $field) as i32;)*
        };
    }

    offsets! {
        SLOT = slot;
        LEN = len;
        CAPACITY = capacity;
        SOURCES_OF = sources_of;
        INDICES = indices;
        RULES = rules;
        FIRED_BY_RULE = fired_by_rule;
        COVER_PENDING = cover_pending;
        SOURCE = source;
        INDEX_OFFSET = index_offset;
        DISCARDED = discarded;
        ABANDONED = abandoned;
        PROGRESS = progress;
        STRIDE = stride;
        RECORD = record;
        RECORD_STRIDE = record_stride;
        TRANSIENT = transient;
        INSTANCE = instance;
        FUEL = fuel;
        STOP = stop;
        FRAMES = frames;
        FRAMES_END = frames_end;
        STACK_LIMIT = stack_limit;
        GOALS = goals;
        MEASURED = measured;
    }
}

/// The mark of a successor that may be equal to any other.
pub(crate) const ANY_MARK: i64 = -1;
/// The mark of one in which no marked field has changed.
pub(crate) const STILL_MARK: i64 = 0;

/// An odd number with its bits spread.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Marks that are compared with each other.
const MAX_MARKS: u64 = 64;

/// Rounds of loops between two polls of the stop flag.
pub(crate) const FUEL: i64 = 4096;

/// What helpers need to know about the program.
#[derive(Debug)]
pub(crate) struct Runtime<'p> {
    pub(crate) program: &'p Program,
    /// The multisets of a state.
    pub(crate) bags: &'p [Bag],
    pub(crate) state_len: usize,
    pub(crate) n_rules: usize,
    pub(crate) n_cover_points: usize,
    /// Words of a record; 0 where the program has no registers.
    pub(crate) record_words: usize,
}

/// What one thread needs to run native code: memory for locals and for pending cover points.
#[derive(Debug)]
pub(crate) struct Scratch {
    frames: Vec<u8>,
    cover_pending: Vec<u64>,
    /// Records of successors, each a mark and registers.
    records: Vec<u64>,
}

/// Records that there is room for.
const N_RECORDS: usize = 4096;

impl Scratch {
    /// Room for `frame_bytes` of locals, and for records of as many words as the program needs.
    pub(crate) fn new(frame_bytes: usize, n_cover_points: usize, record_words: usize) -> Self {
        Scratch {
            frames: vec![0; frame_bytes + 2 * PAD_BYTES],
            cover_pending: vec![0; n_cover_points],
            records: vec![0; record_words * N_RECORDS],
        }
    }

    /// The records of the successors that the last session wrote.
    pub(crate) fn records(&self) -> &[u64] {
        &self.records
    }

    /// Makes room for deeper calls. The old content is dropped: the instance is run again.
    pub(crate) fn grow(&mut self) {
        let n_bytes = self.frames.len() * 2;
        // The old ones go first, so that both are never held at once.
        self.frames = Vec::new();
        self.frames = vec![0; n_bytes];
    }
}

/// What happened at one source since a session turned to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Successors.
    pub(crate) written: u32,
    /// Bodies that ran to their end.
    pub(crate) fired: u64,
    /// True guards.
    pub(crate) enabled: u64,
    /// Whether some firing led away from the source, those before included.
    pub(crate) progress: bool,
}

/// The right to call native code on certain states and buffers.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    context: Context,
    states: *const u8,
    state_len: usize,
    n_states: usize,
    /// Counts that native code adds to in a buffer.
    n_rules: usize,
    n_cover_points: usize,
    /// What is added to the number of a state to get that of the source.
    first_source: u32,
    /// Words of a record, and the number of records that there is room for.
    record_words: usize,
    n_records: usize,
    borrows: PhantomData<&'a mut ()>,
}

/// Bytes of stack that native code keeps clear of, for the helpers it calls.
const STACK_RESERVE: usize = 64 << 10;

impl<'a> Session<'a> {
    /// A session that reads `block` and has nowhere to write.
    pub(crate) fn reading(
        block: States<'a>,
        scratch: &'a mut Scratch,
        runtime: &'a Runtime<'a>,
        stop: &'a AtomicBool,
        stack_bytes: usize,
    ) -> Self {
        assert_eq!(block.state_len(), runtime.state_len, "states fit the model");
        assert!(scratch.cover_pending.len() >= runtime.n_cover_points);
        assert!(scratch.records.len() >= runtime.record_words);
        let n_records = scratch.records.len().checked_div(runtime.record_words);
        let here = 0u8;
        let stack_bytes = stack_bytes.saturating_sub(STACK_RESERVE) as u64;
        let frames_len = scratch.frames.len() - PAD_BYTES;
        let frames = scratch.frames.as_mut_ptr();
        // Native code computes addresses as numbers.
        frames.expose_provenance();
        block.bytes().as_ptr().expose_provenance();
        let context = Context {
            slot: std::ptr::null_mut(),
            len: 0,
            capacity: 0,
            sources_of: std::ptr::null_mut(),
            indices: std::ptr::null_mut(),
            rules: std::ptr::null_mut(),
            fired_by_rule: std::ptr::null_mut(),
            cover_hits: std::ptr::null_mut(),
            cover_pending: scratch.cover_pending.as_mut_ptr(),
            source: 0,
            index_offset: 0,
            discarded: 0,
            abandoned: 0,
            progress: 0,
            stride: runtime.state_len as u64,
            record: scratch.records.as_mut_ptr(),
            record_stride: 0,
            transient: 0,
            instance: 0,
            fuel: FUEL,
            stop,
            frames,
            frames_end: frames.wrapping_add(frames_len),
            stack_limit: (&raw const here as u64).saturating_sub(stack_bytes),
            goals: std::ptr::null_mut(),
            measured: 0,
            runtime: (runtime as *const Runtime<'a>).cast(),
        };
        Session {
            context,
            states: block.bytes().as_ptr(),
            state_len: block.state_len(),
            n_states: block.len(),
            n_rules: runtime.n_rules,
            n_cover_points: runtime.n_cover_points,
            first_source: 0,
            record_words: runtime.record_words,
            n_records: n_records.unwrap_or(0),
            borrows: PhantomData,
        }
    }

    /// Lets the session write successors.
    pub(crate) fn writing(self, columns: Columns<'a>, first_cover_point: usize) -> Self {
        let capacity = columns.sources_of.len();
        let stride = self.state_len;
        self.write_to(columns, first_cover_point, stride, capacity)
    }

    /// Lets the session write successors without their registers, as states of `rest_len` bytes,
    /// and a record beside each. The sources of the block are those from `first_source` on.
    pub(crate) fn writing_at_rest(
        mut self,
        columns: Columns<'a>,
        rest_len: usize,
        first_source: u32,
    ) -> Self {
        assert!(0 < rest_len && rest_len < self.state_len);
        // Registers are written behind a state all the same, where the next one or padding is, and
        // a field of them may take its word up to 8 bytes further.
        let room = columns.sources_of.len() * rest_len + PAD_BYTES - 8;
        let fitting = room.checked_sub(self.state_len);
        let fitting = fitting.map_or(0, |room| room / rest_len + 1);
        let capacity = fitting
            .min(columns.sources_of.len())
            .min(columns.len + self.n_records);
        self.first_source = first_source;
        self.context.record_stride = self.record_words as u64 * 8;
        self.write_to(columns, 0, rest_len, capacity)
    }

    fn write_to(
        mut self,
        columns: Columns<'a>,
        first_cover_point: usize,
        stride: usize,
        capacity: usize,
    ) -> Self {
        assert!(columns.len <= columns.sources_of.len());
        assert!(capacity <= columns.sources_of.len());
        assert!(columns.states.len() >= columns.sources_of.len() * stride + PAD_BYTES);
        assert!(columns.indices.len() >= capacity && columns.rules.len() >= capacity);
        assert!(
            columns.fired_by_rule.len() >= self.n_rules,
            "the buffer has the rules of the model"
        );
        let cover_hits = &mut columns.goal_hits[first_cover_point..];
        assert!(
            cover_hits.len() >= self.n_cover_points,
            "the buffer has the cover points of the model"
        );
        let context = &mut self.context;
        columns.states.as_mut_ptr().expose_provenance();
        context.slot = columns.states[columns.len * stride..].as_mut_ptr();
        context.stride = stride as u64;
        context.len = columns.len as u64;
        context.capacity = capacity as u64;
        context.sources_of = columns.sources_of.as_mut_ptr();
        context.indices = columns.indices.as_mut_ptr();
        context.rules = columns.rules.as_mut_ptr();
        context.fired_by_rule = columns.fired_by_rule.as_mut_ptr();
        context.cover_hits = cover_hits.as_mut_ptr();
        self
    }

    /// The number that the last measure has assigned to its state, where it ran to its end.
    #[inline]
    pub(crate) fn measured(&self) -> u32 {
        // Native code compares it with the greatest one.
        self.context.measured as u32
    }

    /// Number of successors held.
    pub(crate) fn len(&self) -> usize {
        self.context.len as usize
    }

    /// Turns to a source, a state of the block, to fire rules there. It has `written` successors
    /// already.
    #[inline]
    pub(crate) fn at(&mut self, source: u32, written: u32, progress: bool) -> Site<'_, 'a> {
        assert!((source as usize) < self.n_states);
        assert!(!self.context.sources_of.is_null(), "there is a buffer");
        let len = self.context.len;
        self.context.source = self.first_source + source;
        self.context.transient = 0;
        self.context.index_offset = written.wrapping_sub(len as u32);
        self.context.discarded = 0;
        self.context.abandoned = 0;
        self.context.progress = u64::from(progress);
        self.context.goals = std::ptr::null_mut();
        let state = self.states.wrapping_add(source as usize * self.state_len);
        let record = self.context.record;
        Site {
            session: self,
            state,
            first: len,
            record,
        }
    }

    /// Runs a rule, startstate, property or measure on a state of the block, from an instance on.
    /// `goals` are the goal bits of the state, for properties that have any.
    #[inline]
    pub(crate) fn run(
        &mut self,
        code: Entry,
        state: usize,
        instance: u64,
        goals: Option<&mut [u64]>,
    ) -> Status {
        assert!(state < self.n_states);
        if code.writes {
            assert!(!self.context.sources_of.is_null(), "there is a buffer");
        }
        self.context.goals = match goals {
            Some(goals) => {
                assert!(goals.len() >= code.goal_words);
                goals.as_mut_ptr()
            }
            None => {
                assert!(code.goal_words == 0, "goals need their bits");
                std::ptr::null_mut()
            }
        };
        let state = self.states.wrapping_add(state * self.state_len);
        let end = code.n_values;
        // SAFETY: `code` was made by this crate from verified IR and follows this signature (see
        // the head of the file); its memory outlives it by the lifetime of `Code`, which the
        // owner of entries keeps. The context points to live, exclusively borrowed buffers.
        Status::of(unsafe { (code.function)(&mut self.context, state, instance, end) })
    }
}

/// A session at one of its states.
#[derive(Debug)]
pub(crate) struct Site<'s, 'a> {
    session: &'s mut Session<'a>,
    state: *const u8,
    /// Successors that were held before.
    first: u64,
    /// The record of the first successor.
    record: *const u64,
}

impl Site<'_, '_> {
    /// Fires a rule or startstate from an instance on, as long as the position of its first
    /// parameter is below `end`.
    #[inline]
    pub(crate) fn fire(&mut self, code: Entry, first: u64, end: u64) -> Status {
        // Neither an empty range nor a property, which has no values.
        assert!(end.wrapping_sub(1) < code.n_values);
        self.call(code.function, first, end)
    }

    /// Fires `n` trials of one rule from an instance of the first one on.
    #[inline]
    pub(crate) fn fire_trials(&mut self, trials: &[Trial], n: u32, first: u64) -> Status {
        // All of one rule, so that the last one ends within the domain of its first parameter.
        assert!(n.wrapping_sub(1) < trials[0].n_left);
        let end = trials[n as usize - 1].end;
        self.call(trials[0].function, first, end)
    }

    #[inline]
    fn call(&mut self, function: Function, first: u64, end: u64) -> Status {
        // SAFETY: as in `Session::run`. The state is one of the session's, there is a buffer to
        // write to, and rules and startstates have no goals. The first parameter stays in its
        // domain: native code compares `first` with `end`.
        let code = unsafe { function(&mut self.session.context, self.state, first, end) };
        match code {
            Status::DONE => Status::Done,
            _ => Status::of_other(code),
        }
    }

    /// Evaluates a property without goals.
    pub(crate) fn evaluate(&mut self, code: Entry) -> Status {
        assert!(!code.writes && code.goal_words == 0);
        self.call(code.function, 0, code.n_values)
    }

    /// Whether some successor of the source has a register that is set. Known in sessions that
    /// write successors without registers.
    #[inline]
    pub(crate) fn is_transient(&self) -> bool {
        self.session.context.transient != 0
    }

    /// Whether the successors of the source are known to differ by their marks. Only sessions that
    /// write successors without registers know.
    #[inline]
    pub(crate) fn marks_differ(&self) -> bool {
        let context = &self.session.context;
        let (n, words) = (context.len - self.first, context.record_stride / 8);
        if n < 2 {
            return true;
        }
        if n > MAX_MARKS {
            return false;
        }
        // SAFETY: native code has written a record of this length for each of these successors,
        // from here on, into memory that the session has borrowed.
        let records = unsafe { std::slice::from_raw_parts(self.record, (n * words) as usize) };
        // Mostly all marks have bits of their own in a word; else each is compared with each.
        let marks = || records.iter().step_by(words as usize);
        let (mut seen, mut have_own_bits) = (0u64, true);
        for &mark in marks() {
            let bit = 1 << (mark.wrapping_mul(MIX) >> 58);
            have_own_bits &= seen & bit == 0 && mark != ANY_MARK as u64;
            seen |= bit;
        }
        let is_new = |(number, mark): (usize, &u64)| {
            *mark != ANY_MARK as u64 && marks().take(number).all(|other| other != mark)
        };
        have_own_bits || marks().enumerate().all(is_new)
    }

    /// What happened at the source.
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        let context = &self.session.context;
        let written = context.len - self.first;
        let fired = written + context.discarded;
        Counts {
            written: written as u32,
            fired,
            enabled: fired + context.abandoned,
            progress: context.progress != 0,
        }
    }

    /// The instance at which the last call ended early.
    pub(crate) fn instance(&self) -> u64 {
        self.session.context.instance
    }
}

/// Context, state, first instance, and where the first parameter of a rule ends.
type Function = unsafe extern "C" fn(*mut Context, *const u8, u64, u64) -> i64;

/// A compiled rule, startstate, property or measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    function: Function,
    /// Whether it writes successors.
    writes: bool,
    /// Words of goal bits it may set.
    goal_words: usize,
    /// Number of values of the first parameter of a rule or startstate; 1 if there are none. 0 for
    /// properties and measures.
    n_values: u64,
}

/// A rule, or some of its instances, with its code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    function: Function,
    /// The rule's position in the order of firing.
    pub(crate) rule: u32,
    /// Number of trials of the rule from this one on.
    pub(crate) n_left: u32,
    /// The first instance.
    pub(crate) first: u64,
    /// Where the first parameter ends, as a position in its domain.
    end: u64,
}

impl Trial {
    /// The trials with the code of their rules, which is `rules` in the order of firing.
    pub(crate) fn all(trials: &[selectors::Trial], rules: &[Entry]) -> Vec<Self> {
        let all = trials.iter().enumerate().map(|(number, trial)| {
            let rest = &trials[number..];
            let own = &rest[..trial.n_left as usize];
            assert!(own.iter().all(|other| other.rule == trial.rule));
            let code = rules[trial.rule as usize];
            assert!(trial.n_left == 0 || trial.end.wrapping_sub(1) < code.n_values);
            Trial {
                function: code.function,
                rule: trial.rule,
                n_left: trial.n_left,
                first: trial.first,
                end: trial.end,
            }
        });
        all.collect()
    }
}

impl Entry {
    /// Where the first parameter of a rule or startstate ends.
    pub(crate) fn n_values(self) -> u64 {
        self.n_values
    }
}

/// Executable memory. Entries must not be called after it is gone.
pub(crate) struct Code {
    module: Option<JITModule>,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code")
    }
}

// SAFETY: after construction the module is not touched until it is dropped, and the code it owns
// is never written again.
unsafe impl Send for Code {}
// SAFETY: as above; shared access reads nothing of the module.
unsafe impl Sync for Code {}

impl Code {
    pub(crate) fn new(module: JITModule) -> Self {
        Code {
            module: Some(module),
        }
    }

    /// The entry of a property or measure, at an address that the module gave for it.
    pub(crate) fn property(&self, address: *const u8, goal_words: usize) -> Entry {
        self.entry(address, false, goal_words, 0)
    }

    /// The entry of a rule or startstate, whose first parameter has `n_values` values, at an
    /// address that the module gave for it.
    pub(crate) fn command(&self, address: *const u8, n_values: u64) -> Entry {
        self.entry(address, true, 0, n_values.max(1))
    }

    fn entry(&self, address: *const u8, writes: bool, goal_words: usize, n_values: u64) -> Entry {
        assert!(!address.is_null());
        Entry {
            // SAFETY: the compiler declares every rule, startstate, property and measure with exactly
            // this signature in the platform's C calling convention.
            function: unsafe { std::mem::transmute::<*const u8, Function>(address) },
            writes,
            goal_words,
            n_values,
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: entries live beside this in `Native`, and expanders borrow that, so nothing
            // can be inside the code or call it later.
            unsafe { module.free_memory() };
        }
    }
}

/// The addresses of the helpers native code calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Helper {
    /// (bit address, width) → the field.
    GetBits,
    /// (bit address, width, value).
    SetBits,
    /// (from, to, width): like `memmove`, for bits.
    CopyBits,
    /// (a, b, width) → 1 where the bits are equal.
    EqualBits,
    /// (bit address, width).
    ZeroBits,
    /// (context, state, number of the first multiset, number behind the last one).
    Normalise,
    /// (a, count, min, max, wraps) → the value, or the least integer where there is none.
    Shift,
    /// (a, b, min, max, wraps) → the same for products.
    Multiply,
    /// (bit address, number of slots) → the first free one, or -1.
    FirstFree,
    /// (context, state, bit address) → 1 where it is in a free slot of a multiset of the state.
    IsInFreeSlot,
    /// () drops pending hits of cover points.
    ForgetCovers,
    /// () counts pending hits of cover points.
    CountCovers,
}

impl Helper {
    /// Address, number of parameters, and whether there is a result.
    pub(crate) fn signature(self) -> (usize, usize, bool) {
        match self {
            Helper::GetBits => (get_bits as *const () as usize, 2, true),
            Helper::SetBits => (set_bits as *const () as usize, 3, false),
            Helper::CopyBits => (copy_bits as *const () as usize, 3, false),
            Helper::EqualBits => (equal_bits as *const () as usize, 3, true),
            Helper::ZeroBits => (zero_bits as *const () as usize, 2, false),
            Helper::Normalise => (normalise as *const () as usize, 4, false),
            Helper::Shift => (shift as *const () as usize, 5, true),
            Helper::Multiply => (multiply as *const () as usize, 5, true),
            Helper::FirstFree => (first_free as *const () as usize, 2, true),
            Helper::IsInFreeSlot => (is_in_free_slot as *const () as usize, 3, true),
            Helper::ForgetCovers => (forget_covers as *const () as usize, 1, false),
            Helper::CountCovers => (count_covers as *const () as usize, 1, false),
        }
    }
}

/// Splits a bit address into a byte address and a bit of that byte.
fn split(at: u64) -> (*mut u8, u32) {
    (
        std::ptr::with_exposed_provenance_mut((at >> 3) as usize),
        (at & 7) as u32,
    )
}

/// Reads up to 64 bits.
///
/// # Safety
/// The nine bytes from the field's first byte on must be readable.
unsafe extern "C" fn get_bits(at: u64, n_bits: u64) -> u64 {
    if n_bits == 0 {
        return 0;
    }
    let (byte, shift) = split(at);
    let n_bits = n_bits as u32;
    // SAFETY: the caller guarantees nine readable bytes.
    let (word, last) = unsafe { (byte.cast::<u64>().read_unaligned(), *byte.add(8)) };
    let head = u64::from_be(word) << shift;
    let tail = if shift == 0 {
        0
    } else {
        u64::from(last) >> (8 - shift)
    };
    (head | tail) >> (64 - n_bits)
}

/// Writes up to 64 bits.
///
/// # Safety
/// The nine bytes from the field's first byte on must be readable and writable.
unsafe extern "C" fn set_bits(at: u64, n_bits: u64, value: u64) {
    if n_bits == 0 {
        return;
    }
    let (byte, shift) = split(at);
    let n_bits = n_bits as u32;
    let mask = u64::MAX >> (64 - n_bits);
    let value = value & mask;
    let word = byte.cast::<u64>();
    // SAFETY: the caller guarantees nine bytes.
    unsafe {
        let old = u64::from_be(word.read_unaligned());
        if shift + n_bits <= 64 {
            let up = 64 - shift - n_bits;
            word.write_unaligned(((old & !(mask << up)) | (value << up)).to_be());
        } else {
            let down = shift + n_bits - 64;
            word.write_unaligned(((old & !(mask >> down)) | (value >> down)).to_be());
            let last = byte.add(8);
            *last = (*last & (0xff >> down)) | ((value << (8 - down)) as u8);
        }
    }
}

/// Copies bits between ranges that may overlap.
///
/// # Safety
/// Both ranges must be readable and the second writable, with padding behind them.
unsafe extern "C" fn copy_bits(from: u64, to: u64, n_bits: u64) {
    if from == to {
        return;
    }
    let step = 56;
    if to < from {
        let mut done = 0;
        while done < n_bits {
            let n = step.min(n_bits - done);
            // SAFETY: inside the caller's ranges.
            unsafe { set_bits(to + done, n, get_bits(from + done, n)) };
            done += n;
        }
    } else {
        let mut left = n_bits;
        while left > 0 {
            let n = step.min(left);
            left -= n;
            // SAFETY: inside the caller's ranges.
            unsafe { set_bits(to + left, n, get_bits(from + left, n)) };
        }
    }
}

/// Whether two ranges hold the same bits.
///
/// # Safety
/// Both ranges must be readable, with padding behind them.
unsafe extern "C" fn equal_bits(a: u64, b: u64, n_bits: u64) -> u64 {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        // SAFETY: inside the caller's ranges.
        if unsafe { get_bits(a + done, n) != get_bits(b + done, n) } {
            return 0;
        }
        done += n;
    }
    1
}

/// Sets bits to zero.
///
/// # Safety
/// The range must be writable, with padding behind it.
unsafe extern "C" fn zero_bits(at: u64, n_bits: u64) {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        // SAFETY: inside the caller's range.
        unsafe { set_bits(at + done, n, 0) };
        done += n;
    }
}

/// Normalises some of the multisets of a state.
///
/// # Safety
/// `context` must be that of the session and `state` a successor in the making.
unsafe extern "C" fn normalise(context: *mut Context, state: *mut u8, first: u64, end: u64) {
    // SAFETY: the session's runtime outlives it, and the successor buffer, which is exclusively
    // borrowed, has padding behind its last state.
    let (runtime, bytes) = unsafe {
        let runtime = &*(*context).runtime;
        let bytes = std::slice::from_raw_parts_mut(state, runtime.state_len + PAD_BYTES);
        (runtime, bytes)
    };
    for bag in &runtime.bags[first as usize..end as usize] {
        if bag.capacity as usize <= SMALL_BAG && bag.width <= 64 && !bag.is_nested {
            normalise_small(bytes, bag);
        } else {
            let types = &runtime.program.types;
            types.normalise_multisets(bytes, bag.ty, bag.first_bit);
        }
    }
}

/// Whether a bit address lies in a free slot of a multiset of the state.
///
/// # Safety
/// `context` must be that of the session and `state` a state with padding behind it.
unsafe extern "C" fn is_in_free_slot(context: *mut Context, state: *mut u8, at: u64) -> u64 {
    // SAFETY: the session's runtime outlives it, and the caller guarantees the padding.
    let (runtime, bytes) = unsafe {
        let runtime = &*(*context).runtime;
        let bytes = std::slice::from_raw_parts(state, runtime.state_len + PAD_BYTES);
        (runtime, bytes)
    };
    // An address before the state, as one in a frame may be, is beyond all bags.
    let bit = at.wrapping_sub(state.expose_provenance() as u64 * 8) as usize;
    let after = runtime.bags.partition_point(|bag| bag.first_bit <= bit);
    let Some(bag) = after.checked_sub(1).map(|last| &runtime.bags[last]) else {
        return 0;
    };
    let types = &runtime.program.types;
    let is_inside = bit < bag.first_bit + types.bits(bag.ty) as usize;
    u64::from(is_inside && types.is_in_free_slot(bytes, bag.ty, bag.first_bit, bit))
}

/// Slots of a multiset that is normalised without calls and recursion.
const SMALL_BAG: usize = 56;

/// Present elements first, in the order of their bits; free slots zero.
fn normalise_small(bytes: &mut [u8], bag: &Bag) {
    let (slots, width) = (bag.capacity as usize, bag.width);
    let slot_bit = |slot: usize| bag.first_bit + slots + slot * width as usize;
    let presence = bits::get(bytes, bag.first_bit, bag.capacity);
    let mut elements = [0u64; SMALL_BAG];
    let mut n = 0;
    for slot in 0..slots {
        if presence >> (slots - 1 - slot) & 1 == 0 {
            continue;
        }
        let element = bits::get(bytes, slot_bit(slot), width);
        let mut at = n;
        while at > 0 && elements[at - 1] > element {
            elements[at] = elements[at - 1];
            at -= 1;
        }
        elements[at] = element;
        n += 1;
    }
    for (slot, &element) in elements[..slots].iter().enumerate() {
        // Mostly little has changed, and a load is cheaper than a store.
        if bits::get(bytes, slot_bit(slot), width) != element {
            bits::set(bytes, slot_bit(slot), width, element);
        }
    }
    let sorted = ((1u64 << n) - 1) << (slots - n);
    if presence != sorted {
        bits::set(bytes, bag.first_bit, bag.capacity, sorted);
    }
}

extern "C" fn shift(a: i64, count: i64, min: i64, max: i64, wraps: u64) -> i64 {
    let exact = match i128::from(count) {
        count @ 0..=63 => i128::from(a) << count,
        count @ -63..=-1 => i128::from(a >> -count),
        _ => 0,
    };
    fit(exact, min, max, wraps != 0)
}

extern "C" fn multiply(a: i64, b: i64, min: i64, max: i64, wraps: u64) -> i64 {
    fit(i128::from(a) * i128::from(b), min, max, wraps != 0)
}

fn fit(exact: i128, min: i64, max: i64, wraps: bool) -> i64 {
    let (min, max) = (i128::from(min), i128::from(max));
    if (min..=max).contains(&exact) {
        return exact as i64;
    }
    if wraps {
        ((exact - min).rem_euclid(max - min + 1) + min) as i64
    } else {
        i64::MIN
    }
}

/// The first free slot of a multiset, or -1.
///
/// # Safety
/// The presence bits must be readable, with padding behind them.
unsafe extern "C" fn first_free(at: u64, n_slots: u64) -> i64 {
    let free = (0..n_slots).find(|slot| {
        // SAFETY: inside the caller's range.
        unsafe { get_bits(at + slot, 1) == 0 }
    });
    free.map_or(-1, |slot| slot as i64)
}

/// # Safety
/// `context` must be that of the session.
unsafe extern "C" fn forget_covers(context: *mut Context) {
    // SAFETY: the session owns as many pending counts as there are cover points.
    unsafe {
        let n = (*(*context).runtime).n_cover_points;
        std::slice::from_raw_parts_mut((*context).cover_pending, n).fill(0);
    }
}

/// # Safety
/// `context` must be that of the session, which must be able to write.
unsafe extern "C" fn count_covers(context: *mut Context) {
    // SAFETY: the session owns as many pending counts as there are cover points, and the buffer
    // as many hits from the first cover point on.
    unsafe {
        let n = (*(*context).runtime).n_cover_points;
        let pending = std::slice::from_raw_parts_mut((*context).cover_pending, n);
        let hits = std::slice::from_raw_parts_mut((*context).cover_hits, n);
        for (hit, pending) in hits.iter_mut().zip(pending) {
            *hit += *pending;
            *pending = 0;
        }
    }
}
