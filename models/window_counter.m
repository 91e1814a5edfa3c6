-- A sliding-window sender that forgets to wrap its sequence number.  The window
-- is opened by acknowledgements and the numbers of sent frames are taken modulo
-- NUMBERS in one rule, but not in the rule that sends an urgent frame.  The
-- first urgent frame after the last number stores a value outside the range.
--
-- expect: violated
-- exit: 1
-- violation: range depth 15

const
  NUMBERS: 8;
  WINDOW:  3;

type
  Number: 0..NUMBERS - 1;
  Open:   0..WINDOW;

var
  next:     Number;                      -- number of the next frame
  unacked:  Open;                        -- frames in the window
  urgent:   boolean;                     -- an urgent frame is waiting

rule "send a frame"
  unacked < WINDOW & !urgent
==>
begin
  next := (next + 1) % NUMBERS;
  unacked := unacked + 1;
end;

rule "receive an acknowledgement"
  unacked > 0
==>
begin
  unacked := unacked - 1;
end;

-- Urgent frames are prepared only while the window is fully open.
rule "prepare an urgent frame"
  unacked = 0 & !urgent
==>
begin
  urgent := true;
end;

rule "send the urgent frame"
  urgent
==>
begin
  next := next + 1;                      -- the bug: not taken modulo NUMBERS
  unacked := unacked + 1;
  urgent := false;
end;

startstate "window open"
begin
  next := 0;
  unacked := 0;
  urgent := false;
end;

invariant "an urgent frame finds room"
  urgent -> unacked < WINDOW;
