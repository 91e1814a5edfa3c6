-- Every iteration fills a local array element by element before it reads it.
--
-- order: rejected
-- off: verified
-- orbits: 752
type Proc: scalarset(3);
var
  edge: array [Proc] of array [Proc] of boolean;
  full: array [Proc] of boolean;
startstate for p: Proc do full[p] := false; for q: Proc do edge[p][q] := false; end; end; end;
ruleset p: Proc; q: Proc do rule "flip" edge[p][q] := !edge[p][q]; end; end;
rule "fill"
  var row: array [Proc] of boolean;
begin
  for p: Proc do
    for q: Proc do row[q] := edge[p][q]; end;
    full[p] := forall q: Proc do row[q] end;
  end;
end;
