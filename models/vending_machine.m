-- A vending machine whose specification asks for the impossible.  Change is
-- given as soon as more than the price has been paid, so the machine never has
-- an overpaid drink in its tray; the cover property that wants to see one is
-- never hit.  A cover that stays empty is a failure: it tells of a dead part of
-- the design, or of a model that is too narrow.
--
-- expect: violated
-- exit: 1
-- violation: cover "an overpaid drink is in the tray"

const
  PRICE: 3;
  COINS: 2;                              -- the largest coin

type
  Money: 0..PRICE + COINS;
  Tray:  enum { Empty, Drink };

var
  paid:   Money;
  change: Money;
  tray:   Tray;

ruleset coin: 1..COINS do
  rule "insert a coin"
    paid < PRICE & tray = Empty
  ==>
  begin
    paid := paid + coin;
  end;
end;

rule "give change"
  paid > PRICE
==>
begin
  change := change + 1;
  paid := paid - 1;
end;

rule "sell a drink"
  paid = PRICE
==>
begin
  paid := 0;
  tray := Drink;
end;

rule "return the money"
  paid > 0 & paid < PRICE
==>
begin
  change := paid;
  paid := 0;
end;

rule "empty the tray"
  tray = Drink | change > 0
==>
begin
  tray := Empty;
  change := 0;
end;

startstate "ready"
begin
  paid := 0;
  change := 0;
  tray := Empty;
end;

invariant "no drink before it is paid"
  tray = Drink -> paid = 0;

cover "a drink comes with change"
  tray = Drink & change > 0;

cover "an overpaid drink is in the tray"
  tray = Drink & paid > 0;
