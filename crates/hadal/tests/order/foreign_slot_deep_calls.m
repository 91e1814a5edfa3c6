-- The index of one bag is used on another one, and the two are handed through 30 functions first. A
-- long boot hides the dependence from a look at the first states.
--
-- order: dependent
-- off: violated
const N: 3; BOOT: 200;
type
  Node: scalarset(N);
  Bag: multiset [2] of Node;
var
  sent, got: Bag;
  lag: 0..2;
  boot: 0..BOOT;
function align0(var a: Bag; var b: Bag): 0..2;
begin
  return multisetcount(i: a, !isundefined(b[i]) & a[i] = b[i]);
end;
function align1(var a: Bag; var b: Bag): 0..2; begin return align0(a, b); end;
function align2(var a: Bag; var b: Bag): 0..2; begin return align1(a, b); end;
function align3(var a: Bag; var b: Bag): 0..2; begin return align2(a, b); end;
function align4(var a: Bag; var b: Bag): 0..2; begin return align3(a, b); end;
function align5(var a: Bag; var b: Bag): 0..2; begin return align4(a, b); end;
function align6(var a: Bag; var b: Bag): 0..2; begin return align5(a, b); end;
function align7(var a: Bag; var b: Bag): 0..2; begin return align6(a, b); end;
function align8(var a: Bag; var b: Bag): 0..2; begin return align7(a, b); end;
function align9(var a: Bag; var b: Bag): 0..2; begin return align8(a, b); end;
function align10(var a: Bag; var b: Bag): 0..2; begin return align9(a, b); end;
function align11(var a: Bag; var b: Bag): 0..2; begin return align10(a, b); end;
function align12(var a: Bag; var b: Bag): 0..2; begin return align11(a, b); end;
function align13(var a: Bag; var b: Bag): 0..2; begin return align12(a, b); end;
function align14(var a: Bag; var b: Bag): 0..2; begin return align13(a, b); end;
function align15(var a: Bag; var b: Bag): 0..2; begin return align14(a, b); end;
function align16(var a: Bag; var b: Bag): 0..2; begin return align15(a, b); end;
function align17(var a: Bag; var b: Bag): 0..2; begin return align16(a, b); end;
function align18(var a: Bag; var b: Bag): 0..2; begin return align17(a, b); end;
function align19(var a: Bag; var b: Bag): 0..2; begin return align18(a, b); end;
function align20(var a: Bag; var b: Bag): 0..2; begin return align19(a, b); end;
function align21(var a: Bag; var b: Bag): 0..2; begin return align20(a, b); end;
function align22(var a: Bag; var b: Bag): 0..2; begin return align21(a, b); end;
function align23(var a: Bag; var b: Bag): 0..2; begin return align22(a, b); end;
function align24(var a: Bag; var b: Bag): 0..2; begin return align23(a, b); end;
function align25(var a: Bag; var b: Bag): 0..2; begin return align24(a, b); end;
function align26(var a: Bag; var b: Bag): 0..2; begin return align25(a, b); end;
function align27(var a: Bag; var b: Bag): 0..2; begin return align26(a, b); end;
function align28(var a: Bag; var b: Bag): 0..2; begin return align27(a, b); end;
function align29(var a: Bag; var b: Bag): 0..2; begin return align28(a, b); end;
function aligned(var a: Bag; var b: Bag): 0..2; begin return align29(a, b); end;
startstate undefine sent; undefine got; lag := 0; boot := 0; end;
rule "boot" boot < BOOT ==> boot := boot + 1; end;
ruleset n: Node do
  rule "send" boot = BOOT & multisetcount(i: sent, true) < 2
      & multisetcount(i: sent, sent[i] = n) = 0 ==>
    multisetadd(n, sent);
  end;
  rule "receive" multisetcount(i: got, true) = 0 & multisetcount(i: sent, sent[i] = n) = 1 ==>
    multisetadd(n, got);
  end;
end;
rule "compare" lag := aligned(sent, got); end;
rule "reset" multisetcount(i: sent, true) = 2 ==> undefine sent; undefine got; lag := 0; end;
invariant "what was received was not sent first"
  multisetcount(i: sent, true) < 2 | multisetcount(i: got, true) = 0 | aligned(sent, got) = 0;
