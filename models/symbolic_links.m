-- A file system resolves symbolic links by recursion, without a limit.  Each
-- name is either a file or a link to another name; links may be set in any
-- order, and only a link to itself is refused.  Two links that point to each
-- other make the lookup call itself forever, which the checker ends at its
-- limit on nested calls.
--
-- expect: violated
-- exit: 1
-- violation: call-limit depth 2

const
  NAMES: 4;

type
  Name: scalarset(NAMES);

var
  target: array [Name] of Name;          -- undefined: an ordinary file
  found:  Name;                          -- result of the last lookup

function resolve(n: Name): Name;
begin
  if isundefined(target[n]) then
    return n;
  end;
  return resolve(target[n]);
end;

ruleset n: Name do

  ruleset m: Name do
    rule "make a link"
      m != n & isundefined(target[n])
    ==>
    begin
      target[n] := m;
    end;
  end;

  rule "remove a link"
    !isundefined(target[n])
  ==>
  begin
    undefine target[n];
  end;

  rule "look up a name"
    true
  ==>
  begin
    found := resolve(n);
  end;

end;

ruleset n: Name do
  startstate "only files"
  begin
    undefine target;
    found := n;
  end;
end;

invariant "something has been found"
  !isundefined(found);
