-- A bounded priority queue as a binary heap, under all sequences of insertions
-- and extractions.  Sift-up is a loop, sift-down is recursive.  Every extracted
-- task is the most urgent one, and a rebuilt copy of the heap compares equal,
-- field by field, to the one built by insertion when a task goes in and comes
-- out again.
--
-- The model doubles as a tour of the language: functions, procedures with
-- reference parameters, recursion, aliases, while, for with a step, switch,
-- conditional expressions, and comparison of whole records.
--
-- expect: verified
-- states: 1415
-- transitions: 4050
-- depth: 7
-- exit: 0
-- scale: CAPACITY=7 states 9025 transitions 25412
-- scale: CAPACITY=9 states 50645 transitions 150024
-- scale: CAPACITY=8 LEVELS=8 states 3101139 transitions 10513050
-- scale: CAPACITY=9 LEVELS=10

const
  CAPACITY: 5;
  LEVELS:   4;                           -- urgency 0 is the most urgent

type
  Urgency:  0..LEVELS - 1;
  Position: 1..CAPACITY;
  Size:     0..CAPACITY;
  Index:    0..2 * CAPACITY + 1;         -- also positions past the end
  Class:    enum { Interactive, Batch };

  Task: record
    urgency: Urgency;
    class:   Class;
  end;
  Heap: record
    size: Size;
    task: array [Position] of Task;      -- the first `size` are defined
  end;

var
  heap: Heap;
  last: Task;                            -- extracted last, or undefined

function classOf(u: Urgency): Class;
begin
  switch u
    case 0, 1: return Interactive;
    else       return Batch;
  end;
end;

procedure swap(var a: Task; var b: Task);
var
  old: Task;
begin
  old := a;
  a := b;
  b := old;
end;

procedure siftDown(var h: Heap; at: Position);
var
  least: Index;
begin
  least := at;
  for child := 2 * at to 2 * at + 1 do
    if child <= h.size then
      if h.task[child].urgency < h.task[least].urgency then
        least := child;
      end;
    end;
  end;
  if least != at then
    swap(h.task[at], h.task[least]);
    siftDown(h, least);
  end;
end;

procedure insert(var h: Heap; u: Urgency);
var
  at: Index;
begin
  h.size := h.size + 1;
  alias fresh: h.task[h.size] do
    fresh.urgency := u;
    fresh.class := classOf(u);
  end;
  at := h.size;
  while at > 1 & h.task[(at > 1 ? at / 2 : 1)].urgency > h.task[at].urgency do
    swap(h.task[at], h.task[at / 2]);
    at := at / 2;
  end;
end;

procedure extract(var h: Heap; var t: Task);
begin
  t := h.task[1];
  h.task[1] := h.task[h.size];
  undefine h.task[h.size];
  h.size := h.size - 1;
  if h.size > 0 then
    siftDown(h, 1);
  end;
end;

function mostUrgent(): Urgency;
var
  best: Urgency;
begin
  best := LEVELS - 1;
  for p := CAPACITY to 1 by -1 do
    if p <= heap.size then
      if heap.task[p].urgency < best then
        best := heap.task[p].urgency;
      end;
    end;
  end;
  return best;
end;

ruleset u: Urgency do
  rule "insert a task"
    heap.size < CAPACITY
  ==>
  begin
    insert(heap, u);
  end;
end;

rule "extract the most urgent task"
  heap.size > 0
==>
var
  expected: Urgency;
begin
  expected := mostUrgent();
  extract(heap, last);
  assert last.urgency = expected "not the most urgent task";
  assert last.class = classOf(expected) "class does not fit the urgency";
end;

-- Nothing is more urgent than urgency 0, so such a task comes straight out
-- again, and the heap is as it was unless its first task was equal to it.
rule "rehearse with a copy"
  heap.size < CAPACITY & !isundefined(last.urgency)
==>
var
  copy: Heap;
  out:  Task;
begin
  copy := heap;
  insert(copy, 0);
  extract(copy, out);
  assert out.urgency = 0 "something overtook urgency 0";
  assert copy.size = heap.size "size has changed";
  if heap.size <= 1 then
    assert copy = heap "a small heap must not change at all";
  end;
  undefine last;
end;

startstate "empty"
begin
  heap.size := 0;
  undefine heap.task;
  undefine last;
end;

invariant "heap order"
  forall p: Position do
    p >= 2 & p <= heap.size
      -> heap.task[(p >= 2 ? p / 2 : 1)].urgency <= heap.task[p].urgency
  end;

invariant "class follows urgency"
  forall p: Position do
    p <= heap.size -> heap.task[p].class = classOf(heap.task[p].urgency)
  end;
