/*
 * A readers-writer lock.  Entering and leaving are `d_step`s: one indivisible
 * step with a guard, as if a monitor's lock were held.  A waiting writer keeps
 * new readers out, so that readers who come and go cannot starve it.
 *
 * expect: verified
 * states: 672
 * transitions: 2868
 * depth: 11
 * exit: 0
 * scale: READERS=6 WRITERS=4 states 11728 transitions 71634
 */

#ifndef READERS
#define READERS 4
#endif
#ifndef WRITERS
#define WRITERS 3
#endif

byte n_reading;
byte n_writing;
byte n_waiting;            /* writers that wait */

active [READERS] proctype reader()
{
	do
	:: d_step { n_writing == 0 && n_waiting == 0 -> n_reading++ };
		assert(n_writing == 0);
		n_reading--
	od
}

active [WRITERS] proctype writer()
{
	do
	:: n_waiting++;
		d_step {
			n_reading == 0 && n_writing == 0 ->
			n_writing++;
			n_waiting--
		};
		assert(n_reading == 0 && n_writing == 1);
		n_writing--
	od
}
