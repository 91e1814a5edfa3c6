/*
 * A pedestrian crossing: walkers get green some time after the button was
 * pressed, and both lights are red in between.
 *
 * `order` is a formula of linear temporal logic.  It is safety: walkers have no
 * green before the button was pressed for the first time, both are never green,
 * and cars do not go from green to red at once.
 *
 * `served` says that something happens at some time, which is not checked:
 * --claim served ends with exit code 3.
 *
 * expect: verified
 * states: 23
 * transitions: 39
 * depth: 15
 * exit: 0
 */

mtype = { red, amber, green };

mtype cars = green, walkers = red;
bool pressed;

active proctype walker()
{
	do
	:: !pressed -> pressed = true
	:: walkers == green -> skip
	od
}

active proctype control()
{
	do
	:: pressed ->
		cars = amber;
		cars = red;
		walkers = green;
		pressed = false;
		walkers = red;
		cars = green
	od
}

ltl order {
	((walkers == red) W pressed) &&
	[] !(cars == green && walkers == green) &&
	[] (cars == green -> ((cars != red) W (cars == amber)))
}

ltl served { [] (pressed -> <> (walkers == green)) }
