-- The sliding puzzle Sam Loyd offered a thousand dollars for: all tiles in
-- order except the last two, which are swapped.  Only even permutations can be
-- reached by sliding, so the search ends without a solution, after visiting
-- exactly half of all (ROWS * COLS)! positions.
--
-- A workload of a size known beforehand, without symmetry, and with a long
-- tail of breadth-first layers.
--
-- expect: verified
-- states: 181440
-- transitions: 483840
-- depth: 31
-- exit: 0
-- scale: ROWS=2 COLS=5 states 1814400 transitions 4717440
-- scale: ROWS=3 COLS=4 states 239500800 transitions 678585600

const
  ROWS: 3;
  COLS: 3;

type
  Square: 0..ROWS * COLS - 1;
  Tile:   0..ROWS * COLS - 1;            -- 0 is the empty square
  Move:   enum { North, East, South, West };

var
  board: array [Square] of Tile;
  empty: Square;

procedure swapWith(s: Square);
begin
  board[empty] := board[s];
  board[s] := 0;
  empty := s;
end;

ruleset m: Move do
  rule "move the empty square"
    (m = North & empty >= COLS)
    | (m = South & empty + COLS < ROWS * COLS)
    | (m = West & empty % COLS > 0)
    | (m = East & empty % COLS < COLS - 1)
  ==>
  begin
    switch m
      case North: swapWith(empty - COLS);
      case South: swapWith(empty + COLS);
      case West:  swapWith(empty - 1);
      case East:  swapWith(empty + 1);
    end;
  end;
end;

startstate "the last two tiles are swapped"
begin
  for s: Square do
    board[s] := (s + 1) % (ROWS * COLS);
  end;
  board[ROWS * COLS - 3] := ROWS * COLS - 1;
  board[ROWS * COLS - 2] := ROWS * COLS - 2;
  empty := ROWS * COLS - 1;
end;

invariant "the puzzle cannot be solved"
  exists s: Square do
    board[s] != (s + 1) % (ROWS * COLS)
  end;

invariant "the empty square is where it is believed to be"
  board[empty] = 0;
