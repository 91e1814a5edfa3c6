-- An index of the requests is used on the replies of the same channel through an alias: the two
-- bags are sorted alike only by accident.
--
-- order: dependent
-- off: violated
const N: 3;
type
  Node: scalarset(N);
  Kind: enum { Request, Reply };
var
  channel: array [Kind] of multiset [2] of Node;
startstate undefine channel; end;
alias requests: channel[Request]; replies: channel[Reply] do
  ruleset n: Node do
    rule "ask"
      multisetcount(i: requests, true) < 2 & multisetcount(i: requests, requests[i] = n) = 0
    ==>
      multisetadd(n, requests);
    end;
    rule "answer"
      multisetcount(i: replies, true) < 1 & multisetcount(i: requests, requests[i] = n) = 1
    ==>
      multisetadd(n, replies);
    end;
  end;
  choose i: requests do
    rule "close"
      multisetcount(k: requests, true) = 2
      & multisetcount(k: replies, replies[k] = requests[i]) = 1
    ==>
      assert "the answer lies beside the request"
        !isundefined(replies[i]) & replies[i] = requests[i];
      undefine requests; undefine replies;
    end;
  end;
end;
