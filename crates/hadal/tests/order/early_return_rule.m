-- A rule serves the first pending request and returns from within the loop.
--
-- order: dependent
-- off: violated
const N: 3;
type Client: scalarset(N);
var
  pending, vip: array [Client] of boolean;
startstate
  for c: Client do pending[c] := false; vip[c] := false; end;
end;
ruleset c: Client do
  rule "request" !pending[c] ==> pending[c] := true; end;
  rule "upgrade" pending[c] & !exists d: Client do vip[d] end ==> vip[c] := true; end;
end;
rule "serve" exists c: Client do pending[c] end ==>
  for c: Client do
    if pending[c] then
      assert vip[c] | !exists d: Client do pending[d] & vip[d] end "the important one comes first";
      pending[c] := false;
      vip[c] := false;
      return;
    end;
  end;
end;
