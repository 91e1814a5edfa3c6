-- A rule removes two messages, adds one, and reads the slot of the first again. The new message is
-- there only if that slot came before the other one, and slots are sorted by sender.
--
-- order: dependent
-- off: violated
const N: 3;
type
  Node: scalarset(N);
  Msg: record src: Node; again: boolean; end;
var
  net: multiset [3] of Msg;
  last: Node;
startstate undefine net; undefine last; end;
ruleset n: Node do
  rule "send" multisetcount(i: net, true) < 2 & multisetcount(i: net, net[i].src = n) = 0 ==>
    var m: Msg;
  begin
    m.src := n; m.again := false;
    multisetadd(m, net);
  end;
end;
choose i: net do
  choose j: net do
    rule "merge" net[i].src != net[j].src & !net[i].again & net[j].again ==>
      var m: Msg;
    begin
      m := net[j];
      multisetremove(i, net);
      multisetremove(j, net);
      multisetadd(m, net);
      assert !isundefined(net[i].src) "the merged message is in the first slot";
      last := net[i].src;
    end;
  end;
  rule "repeat" multisetcount(k: net, net[k].again) = 0 ==> net[i].again := true; end;
  rule "drop" net[i].again & multisetcount(k: net, true) = 1 ==> multisetremove(i, net); end;
end;
