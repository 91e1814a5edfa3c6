/*
 * A railway crossing with time.  A process that is done for this tick says so,
 * and is `provided` to move only in the next one; the clock ticks when all are
 * done.  The gate needs a tick to notice a train and CLOSING ticks to close, a
 * train needs APPROACH to arrive.  One tick less, -DAPPROACH=3, is an accident.
 *
 * expect: verified
 * states: 1279
 * transitions: 2729
 * depth: 42
 * exit: 0
 */

#ifndef APPROACH
#define APPROACH 4
#endif
#define CLOSING 2
#define TRAINS 2

mtype = { up, lowering, down };

mtype gate = up;
byte clock_of_gate;
byte clock_of_train[TRAINS];
byte n_near;
bool ticked[TRAINS + 1];

#define all_ticked (ticked[0] && ticked[1] && ticked[2])

active [TRAINS] proctype train() provided (!ticked[_pid])
{
	do
	:: ticked[_pid] = true                        /* stays away */
	:: n_near++;
		clock_of_train[_pid] = APPROACH;
		do
		:: clock_of_train[_pid] > 0 -> atomic {
			clock_of_train[_pid]--;
			ticked[_pid] = true
		   }
		:: else -> break
		od;
		assert(gate == down);
		n_near--
	od
}

active proctype barrier() provided (!ticked[TRAINS])
{
	do
	:: atomic { gate == up && n_near > 0 -> gate = lowering; clock_of_gate = CLOSING }
	:: atomic { gate == up && n_near == 0 -> ticked[TRAINS] = true }
	:: atomic { gate == lowering && clock_of_gate > 0 -> clock_of_gate--; ticked[TRAINS] = true }
	:: atomic { gate == lowering && clock_of_gate == 0 -> gate = down }
	:: atomic { gate == down && n_near == 0 -> gate = up }
	:: atomic { gate == down && n_near > 0 -> ticked[TRAINS] = true }
	od
}

active proctype clock()
{
	byte i;

	do
	:: atomic {
		all_ticked ->
		for (i : 0 .. TRAINS) {
			ticked[i] = false
		}
		i = 0
	   }
	od
}
