-- An interrupt controller with three request lines and a processor, written
-- with rule priorities: in each state only the enabled rules with the smallest
-- priority number fire.  That is how hardware behaves here: a bus fault is taken
-- before anything else, then the timer, then the disk, and the program goes on
-- and the outside world acts only when nothing is left to be taken.
--
-- A handler runs to its end unless it is preempted by a more urgent one; the
-- stack of interrupted handlers can therefore never be deeper than the number
-- of lines.  The program counts ticks which the timer handler has booked; none
-- gets lost.
--
-- expect: verified
-- states: 256
-- transitions: 540
-- depth: 18
-- exit: 0

const
  LINES: 3;
  TICKS: 4;                              -- booked ticks are counted modulo

type
  Line:  1..LINES;                       -- 1 is the most urgent
  Level: 1..LINES + 1;                   -- LINES + 1: the program itself
  Depth: 0..LINES;
  Count: 0..TICKS - 1;

const
  FAULT:      1;
  TIMER:      2;
  DISK:       3;
  BACKGROUND: LINES + 1;

var
  raised: array [Line] of boolean;       -- the request lines
  level:  Level;                         -- what the processor is doing
  stack:  array [Line] of Level;         -- what it was doing before
  depth:  Depth;                         -- entries on the stack
  booked: Count;                         -- by the timer handler
  served: Count;                         -- how often the timer line was

function deliverable(l: Line): boolean;
begin
  return raised[l] & l < level;
end;

procedure enter(l: Line);
begin
  assert depth < LINES "stack overflow";
  depth := depth + 1;
  stack[depth] := level;
  level := l;
  raised[l] := false;
end;

----------------------------------------------- the controller, by urgency

rule 1 "take the bus fault"
  deliverable(FAULT)
==>
begin
  enter(FAULT);
end;

rule 2 "take the timer interrupt"
  deliverable(TIMER)
==>
begin
  enter(TIMER);
  served := (served + 1) % TICKS;
end;

rule 3 "take the disk interrupt"
  deliverable(DISK)
==>
begin
  enter(DISK);
end;

----------------------------------------------- the processor and the world

rule 10 "return from the handler"
  level != BACKGROUND
==>
begin
  assert forall l: Line do l < level -> !raised[l] end
    "returning with something more urgent at hand";
  if level = TIMER then
    booked := (booked + 1) % TICKS;
  end;
  level := stack[depth];
  undefine stack[depth];
  depth := depth - 1;
end;

ruleset l: Line do
  rule 10 "a device raises its line"
    !raised[l]
  ==>
  begin
    raised[l] := true;
  end;
end;

-- Never fires: as long as anything is deliverable, priority 1 to 3 comes first.
rule 11 "a request is overlooked"
  exists l: Line do deliverable(l) end
==>
begin
  error "a deliverable request was overlooked";
end;

startstate "program running"
begin
  for l: Line do
    raised[l] := false;
  end;
  undefine stack;
  level := BACKGROUND;
  depth := 0;
  booked := 0;
  served := 0;
end;

invariant "preempted handlers are less urgent"
  forall d: Line do
    d <= depth -> stack[d] > level
  end;

invariant "no tick is lost"
  booked = served
  | (booked + 1) % TICKS = served
    & (level = TIMER
       | exists d: Line do d <= depth & stack[d] = TIMER end);
