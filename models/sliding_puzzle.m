-- The 8-puzzle as a model checking problem: the invariant claims that the
-- puzzle cannot be solved, and the run that refutes it is the solution.  The
-- opening position is one of the two hardest there are, so breadth-first
-- search shows that no solution is shorter than 31 moves.
--
-- expect: violated
-- exit: 1
-- violation: invariant "the puzzle cannot be solved" depth 31

const
  ROWS: 3;
  COLS: 3;

type
  Row:       0..ROWS - 1;
  Column:    0..COLS - 1;
  Tile:      0..ROWS * COLS - 1;         -- 0 is the empty square
  Direction: enum { Up, Down, Left, Right };

var
  board:       array [Row] of array [Column] of Tile;
  emptyRow:    Row;
  emptyColumn: Column;

procedure slideFrom(r: Row; c: Column);
begin
  board[emptyRow][emptyColumn] := board[r][c];
  board[r][c] := 0;
  emptyRow := r;
  emptyColumn := c;
end;

procedure layRow(r: Row; a, b, c: Tile);
begin
  board[r][0] := a;
  board[r][1] := b;
  board[r][2] := c;
end;

function possible(d: Direction): boolean;
begin
  switch d
    case Up:    return emptyRow < ROWS - 1;
    case Down:  return emptyRow > 0;
    case Left:  return emptyColumn < COLS - 1;
    case Right: return emptyColumn > 0;
  end;
  return false;
end;

ruleset d: Direction do
  rule "slide a tile"
    possible(d)
  ==>
  begin
    switch d
      case Up:    slideFrom(emptyRow + 1, emptyColumn);
      case Down:  slideFrom(emptyRow - 1, emptyColumn);
      case Left:  slideFrom(emptyRow, emptyColumn + 1);
      case Right: slideFrom(emptyRow, emptyColumn - 1);
    end;
  end;
end;

startstate "a hardest position"
begin
  layRow(0, 8, 6, 7);
  layRow(1, 2, 5, 4);
  layRow(2, 3, 0, 1);
  emptyRow := 2;
  emptyColumn := 1;
end;

invariant "the puzzle cannot be solved"
  !(forall r: Row do
      forall c: Column do
        board[r][c] = (r * COLS + c + 1) % (ROWS * COLS)
      end
    end);
